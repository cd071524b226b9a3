import { OrchError } from '../errors.ts';
import { parseOid } from '../ids.ts';
import { realRandom } from '../system/clock.ts';
import { run } from '../system/run.ts';
import type { Environment } from '../system/spawn.ts';
import type { Millis, Oid } from '../types.ts';
import { isSshAddress, readSshCommand, remoteEnvironment } from './remote-environment.ts';
import { explainFailure, type Operation, remoteNotFound, tookTooLong } from './remote-error.ts';
import { type PushedRef, parsePushed } from './remote-push.ts';
import type { Repository } from './repository.ts';
import { finished, gitNotStarted, gitSettings, startGit, workFolder } from './spawn.ts';
import { listRemotes } from './surroundings.ts';

export type { PushedRef };

export type RemoteOptions = {
  /** How long each exchange may take. */
  readonly timeout: Millis;
  readonly signal?: AbortSignal;
  /** Told how far it is, where somebody looks. */
  readonly onProgress?: (text: string) => void;
};

/** Another repository, as git is told of it. */
export type Remote = RemoteOptions & {
  readonly repository: Repository;
  /** A remote's name, a URL or a path. */
  readonly name: string;
  /** Where pushes go; several, where the user set several. */
  readonly urls: readonly string[];
  /** Has it a name in the user's config? */
  readonly isNamed: boolean;
  readonly environment: Environment;
};

/** Finds a remote by its name or address. Nothing is asked of it yet. */
export async function openRemote(
  repository: Repository,
  name: string,
  options: RemoteOptions,
): Promise<Remote> {
  const environment = remoteEnvironment(null);
  const child = startGit(repository, ['remote', 'get-url', '--push', '--all', '--', name], environment);
  child.stdin.end();
  const { status, stdout } = await finished(child);
  const isNamed = status === 0;
  // A plain word that is no remote's name is a slip; git would look for a folder of that name.
  if (!isNamed && (name.startsWith('-') || !/[/\\:]/.test(name)))
    throw remoteNotFound(name, await listRemotes(repository));
  const urls = isNamed ? stdout.split('\n').filter((url) => url !== '') : [name];
  const ssh = urls.some(isSshAddress) ? await readSshCommand(repository) : null;
  return { ...options, repository, name, urls, isNamed, environment: remoteEnvironment(ssh) };
}

/** What git itself asks of a repository it borrows objects from; a program that the config names is not run for it. */
const askAlternate = 'f() { git --git-dir="$1" for-each-ref --format="%(objectname)"; }; f';

/** Every git that talks to a remote: it packs nothing here, and pushes and fetches just what it is told. */
const quietly = [
  'gc.auto=0',
  'maintenance.auto=false',
  'fetch.writeCommitGraph=false',
  'push.pushOption=',
  `core.alternateRefsCommand=${askAlternate}`,
];

type Answer = { readonly status: number; readonly stdout: string; readonly stderr: string };

async function ask(remote: Remote, operation: Operation, args: readonly string[]): Promise<Answer> {
  const { repository, environment, name, timeout, signal, onProgress } = remote;
  const settings = [...quietly, ...(remote.isNamed ? [`remote.${name}.mirror=false`] : [])];
  const out = { stdout: '', stderr: '' };
  const end = await run({
    command: ['git', ...gitSettings, ...settings.flatMap((setting) => ['-c', setting]), ...args],
    cwd: workFolder(repository),
    env: environment,
    marker: `ORCH_REMOTE=${realRandom.id(16)}`,
    timeout,
    ...(signal && { signal }),
    onOutput: (text, stream) => {
      out[stream] += text;
      if (stream === 'stderr') tellProgress(text, onProgress);
    },
  });
  switch (end.how) {
    case 'exited':
      return { status: end.status, ...out };
    case 'timed_out':
      throw tookTooLong(name, timeout);
    case 'aborted':
      throw new OrchError('REMOTE_UNREACHABLE', 'interrupted', { hint: 'Nothing is lost. Run it again.' });
    case 'signalled':
      throw explainFailure(
        operation,
        name,
        `the connection was closed: git died of ${end.signal}\n${out.stderr}`,
      );
    case 'not_started':
      throw gitNotStarted(Object.assign(new Error(end.reason), { code: 'ENOENT' }));
  }
}

function tellProgress(text: string, tell: RemoteOptions['onProgress']): void {
  const [last] = text
    .split(/[\r\n]+/)
    .filter((line) => /\d+% |Enumerating/.test(line))
    .slice(-1);
  if (last !== undefined) tell?.(last.replace(/^remote: /, '').trim());
}

/** The refs a remote has that match one of git's patterns; all of them without one. */
export async function listRemoteRefs(
  remote: Remote,
  ...patterns: readonly string[]
): Promise<ReadonlyMap<string, Oid>> {
  const answer = await ask(remote, 'ask', ['ls-remote', '--quiet', '--', remote.name, ...patterns]);
  if (answer.status !== 0) throw explainFailure('ask', remote.name, answer.stderr);
  const lines = answer.stdout.split('\n').flatMap((line) => {
    const [, oid, ref] = /^([0-9a-f]{40}|[0-9a-f]{64})\t(\S+)$/.exec(line) ?? [];
    return oid !== undefined && ref !== undefined ? [[ref, parseOid(oid)] as const] : [];
  });
  return new Map(lines);
}

/** Past this many a command line grows too long for some systems. */
const mostAtOnce = 500;

function* inParts<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += mostAtOnce) yield all.slice(from, from + mostAtOnce);
}

/** Brings refs of a remote here, each under a name of ours, which follows wherever the remote's goes. */
export async function fetchRefs(
  remote: Remote,
  refs: readonly { readonly from: string; readonly to: string }[],
): Promise<void> {
  // --no-filter: a partial clone would get checkpoints without what is in them.
  const options = [
    '--no-tags',
    '--no-write-fetch-head',
    '--no-recurse-submodules',
    '--no-prune',
    '--refmap=',
  ];
  for (const part of inParts(refs)) {
    const specs = part.map(({ from, to }) => `+${from}:${to}`);
    const args = ['fetch', ...options, '--no-filter', ...progress(remote), '--', remote.name, ...specs];
    const { status, stderr } = await ask(remote, 'fetch', args);
    if (status !== 0) throw explainFetch(remote, stderr);
  }
}

/** A ref that another process just moves, or that was taken away there a moment ago, is no fault of the remote. */
function explainFetch({ name }: Remote, stderr: string): OrchError {
  const lock = /Unable to create '(.*\.lock)': File exists/.exec(stderr)?.[1];
  if (lock === undefined && !/cannot lock ref|couldn't find remote ref/.test(stderr))
    return explainFailure('fetch', name, stderr);
  return new OrchError('REF_CONFLICT', 'the ref to fetch is being moved by another process', {
    hint: 'Nothing was changed. Run the same command again in a moment.',
    data: { lock },
  });
}

function progress({ onProgress }: Remote): string[] {
  return onProgress ? ['--progress'] : ['--no-progress'];
}

/**
 * Sends commits to refs of a remote, as far as each only goes on there: nothing is ever forced. Says what came of each.
 */
export async function pushRefs(
  remote: Remote,
  refs: readonly { readonly commit: Oid; readonly to: string }[],
): Promise<PushedRef[]> {
  const options = [
    '--porcelain',
    '--no-verify',
    '--no-follow-tags',
    '--no-signed',
    '--recurse-submodules=no',
  ];
  const pushed: PushedRef[] = [];
  for (const part of inParts(refs)) {
    const specs = part.map(({ commit, to }) => `${commit}:${to}`);
    const args = ['push', ...options, ...progress(remote), '--', remote.name, ...specs];
    const { stdout, stderr } = await ask(remote, 'push', args);
    const results = parsePushed(stdout, stderr);
    // Where git says nothing of a ref, the exchange broke off.
    if (part.some(({ to }) => !results.has(to))) throw explainFailure('push', remote.name, stderr);
    pushed.push(...results.values());
  }
  return pushed;
}
