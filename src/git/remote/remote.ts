import { OrchError } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import { realRandom } from '../../system/clock.ts';
import { inBatches } from '../../system/files-in-bulk.ts';
import { run } from '../../system/process/capture.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { cleanLine } from '../../text.ts';
import type { Millis, Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { listRemotes } from '../repository-facts.ts';
import { askGit, gitNotStarted, gitSettings, workFolder } from '../run-git.ts';
import { isSshAddress, readSshCommand, remoteEnvironment } from './remote-environment.ts';
import {
  explainFailure,
  findServerMessage,
  type Operation,
  remoteNotFound,
  remoteTimedOut,
} from './remote-errors.ts';

export type RemoteOptions = {
  /** The limit for each call to git. */
  readonly timeout: Millis;
  readonly signal?: AbortSignal;
  readonly onProgress?: (text: string) => void;
};

export type Remote = RemoteOptions & {
  readonly repository: Repository;
  /** A remote's name, a URL or a path. */
  readonly name: string;
  /** Where pushes go; the user may configure several. */
  readonly urls: readonly string[];
  /** Whether the user's config has a remote with this name. */
  readonly isNamed: boolean;
  readonly environment: Environment;
};

/** Finds a remote by its name or address, without contacting it. */
export async function openRemote(
  repository: Repository,
  name: string,
  options: RemoteOptions,
): Promise<Remote> {
  const environment = remoteEnvironment(null);
  const args = ['remote', 'get-url', '--push', '--all', '--', name];
  const { status, stdout } = await askGit(repository, args, { environment });
  const isNamed = status === 0;
  // A plain word that is not a remote's name is a typo, but git would look for a folder with that name.
  if (!isNamed && (name.startsWith('-') || !/[/\\:]/.test(name)))
    throw remoteNotFound(name, await listRemotes(repository));
  const urls = isNamed ? stdout.split('\n').filter((url) => url !== '') : [name];
  const ssh = urls.some(isSshAddress) ? await readSshCommand(repository) : null;
  return { ...options, repository, name, urls, isNamed, environment: remoteEnvironment(ssh) };
}

/** The same as git's default; set so that no program from the config runs. */
const alternateRefs = 'f() { git --git-dir="$1" for-each-ref --format="%(objectname)"; }; f';

/** Settings for every git that talks to a remote: pack nothing, and push and fetch only what orch names. */
const remoteSettings = [
  'gc.auto=0',
  'maintenance.auto=false',
  'fetch.writeCommitGraph=false',
  'push.pushOption=',
  `core.alternateRefsCommand=${alternateRefs}`,
];

type Answer = { readonly status: number; readonly stdout: string; readonly stderr: string };

async function askRemote(remote: Remote, operation: Operation, args: readonly string[]): Promise<Answer> {
  const { repository, environment, name, timeout, signal, onProgress } = remote;
  const settings = [...remoteSettings, ...(remote.isNamed ? [`remote.${name}.mirror=false`] : [])];
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
      if (stream === 'stderr') reportProgress(text, onProgress);
    },
  });
  switch (end.how) {
    case 'exited':
      return { status: end.status, ...out };
    case 'timed_out':
      throw remoteTimedOut(name, timeout);
    case 'aborted':
      throw new OrchError('REMOTE_UNREACHABLE', 'interrupted', { hint: 'Nothing is lost. Run it again.' });
    case 'signalled':
      throw explainFailure(
        operation,
        name,
        `the connection was closed: git was ended by ${end.signal}\n${out.stderr}`,
      );
    case 'not_started':
      throw gitNotStarted(Object.assign(new Error(end.reason), { code: 'ENOENT' }));
  }
}

function reportProgress(text: string, onProgress: RemoteOptions['onProgress']): void {
  const [last] = text
    .split(/[\r\n]+/)
    .filter((line) => /\d+% |Enumerating/.test(line))
    .slice(-1);
  if (last !== undefined) onProgress?.(last.replace(/^remote: /, '').trim());
}

/** Lists the refs of a remote, all or those that match one of git's patterns. */
export async function listRemoteRefs(
  remote: Remote,
  ...patterns: readonly string[]
): Promise<ReadonlyMap<string, Oid>> {
  const answer = await askRemote(remote, 'ask', ['ls-remote', '--quiet', '--', remote.name, ...patterns]);
  if (answer.status !== 0) throw explainFailure('ask', remote.name, answer.stderr);
  const lines = answer.stdout.split('\n').flatMap((line) => {
    const [, oid, ref] = /^([0-9a-f]{40}|[0-9a-f]{64})\t(\S+)$/.exec(line) ?? [];
    return oid !== undefined && ref !== undefined ? [[ref, parseOid(oid)] as const] : [];
  });
  return new Map(lines);
}

/** With more refs, a command line grows too long for some systems. */
const maxRefsPerCall = 500;

/** Fetches refs of a remote to local names, which always follow the remote's refs. */
export async function fetchRefs(
  remote: Remote,
  refs: readonly { readonly from: string; readonly to: string }[],
): Promise<void> {
  // --no-filter: a partial clone would fetch checkpoints without their content.
  const quiet = ['--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--no-prune'];
  for (const batch of inBatches(refs, maxRefsPerCall)) {
    const specs = batch.map(({ from, to }) => `+${from}:${to}`);
    const options = [...quiet, '--refmap=', '--no-filter', ...progressOption(remote)];
    const args = ['fetch', ...options, '--', remote.name, ...specs];
    const { status, stderr } = await askRemote(remote, 'fetch', args);
    if (status !== 0) throw explainFetch(remote, stderr);
  }
}

/** A ref that another process is moving, or that was just deleted on the remote, is a conflict and no failure. */
function explainFetch({ name }: Remote, stderr: string): OrchError {
  const lock = /Unable to create '(.*\.lock)': File exists/.exec(stderr)?.[1];
  if (lock === undefined && !/cannot lock ref|couldn't find remote ref/.test(stderr))
    return explainFailure('fetch', name, stderr);
  return new OrchError('REF_CONFLICT', 'another process is moving the ref to fetch', {
    hint: 'Nothing was changed. Run the same command again in a moment.',
    data: { lock },
  });
}

function progressOption({ onProgress }: Remote): string[] {
  return onProgress ? ['--progress'] : ['--no-progress'];
}

/** Pushes commits to refs of a remote, fast-forward only, and returns a result for each ref. */
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
  for (const batch of inBatches(refs, maxRefsPerCall)) {
    const specs = batch.map(({ commit, to }) => `${commit}:${to}`);
    const args = ['push', ...options, ...progressOption(remote), '--', remote.name, ...specs];
    const { stdout, stderr } = await askRemote(remote, 'push', args);
    const results = parsePushed(stdout, stderr);
    // If git does not mention a ref, the connection was lost.
    if (batch.some(({ to }) => !results.has(to))) throw explainFailure('push', remote.name, stderr);
    pushed.push(...results.values());
  }
  return pushed;
}

/** The result of pushing to one ref. */
export type PushedRef = {
  readonly ref: string;
  /**
   * `moved`: the remote has commits that are missing here. `refused`: the server rejected it. `damaged`: the local
   * commit could not be read.
   */
  readonly how: 'done' | 'moved' | 'refused' | 'damaged';
  /** Why not, in the words of git and the server. */
  readonly reason: string | null;
};

/** The remote's ref has moved, or another process is moving it. */
const moved =
  /fetch first|non-fast-forward|needs force|stale info|cannot lock ref|failed to (lock|update)|incorrect old value|already exists/;

/** Parses the output of `git push --porcelain`. With several addresses, the worst result counts. */
export function parsePushed(stdout: string, stderr: string): ReadonlyMap<string, PushedRef> {
  const found = new Map<string, PushedRef>();
  for (const line of stdout.split('\n')) {
    const [flag, spec, summary = ''] = line.split('\t');
    const ref = spec?.slice(spec.indexOf(':') + 1);
    if (flag?.length !== 1 || ref === undefined) continue;
    const result = readResult(flag, ref, summary, stderr);
    if ((found.get(ref)?.how ?? 'done') === 'done') found.set(ref, result);
  }
  return found;
}

function readResult(flag: string, ref: string, summary: string, stderr: string): PushedRef {
  if (flag !== '!') return { ref, how: 'done', reason: null };
  const text = summary.trimEnd();
  const why = text.endsWith(')') && text.includes('(') ? text.slice(text.indexOf('(') + 1, -1) : summary;
  if (moved.test(why)) return { ref, how: 'moved', reason: cleanLine(why, 500) };
  const words = findServerMessage(stderr);
  return { ref, how: 'refused', reason: cleanLine(words === null ? why : `${why}: ${words}`, 800) };
}
