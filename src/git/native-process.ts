import { OrchError, writeFailed } from '../errors.ts';
import { parseOid } from '../ids.ts';
import { startDetached } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import { CatFile } from './cat-file.ts';
import { toInstant } from './commit.ts';
import { type Commit, damaged, type Head, type RefUpdate, refConflict, refLocked } from './engine.ts';
import type { Repository } from './repository.ts';
import {
  finished,
  gitEnvironment,
  gitFailed,
  gitNotStarted,
  gitSettings,
  runGit,
  startGit,
  workFolder,
} from './spawn.ts';

/*
 * What is asked of the git binary. A bundle of its own: most commands never start a git, and then need not even load
 * what it takes to start one.
 */

export { runGit };

export function openCatFile(repository: Repository): CatFile {
  return new CatFile(() => startGit(repository, ['cat-file', '--batch']));
}

/** The refs that match a pattern of `git for-each-ref`. */
export async function askRefs(repository: Repository, pattern: string): Promise<Map<string, Oid>> {
  const text = await runGit(repository, ['for-each-ref', '--format=%(objectname) %(refname)', pattern]);
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line) => [line.slice(line.indexOf(' ') + 1), parseOid(line.slice(0, line.indexOf(' ')))]),
  );
}

export async function isAncestor(repository: Repository, ancestor: Oid, descendant: Oid): Promise<boolean> {
  const asked = startGit(repository, ['merge-base', '--is-ancestor', ancestor, descendant]);
  asked.stdin.end();
  const { status, stderr } = await finished(asked);
  if (status !== 0 && status !== 1) throw brokenHistory(descendant, status, stderr);
  return status === 0;
}

export async function askHead(
  repository: Repository,
  readRef: (ref: string) => Promise<Oid | null>,
): Promise<Head> {
  const child = startGit(repository, ['symbolic-ref', '--quiet', 'HEAD']);
  child.stdin.end();
  const target = (await finished(child)).stdout.trim();
  if (target.startsWith('refs/heads/')) {
    return { commit: await readRef(target), branch: target.slice('refs/heads/'.length) };
  }
  return {
    commit: parseOid((await runGit(repository, ['rev-parse', '--verify', 'HEAD'])).trim()),
    branch: null,
  };
}

/**
 * Packs loose objects, then removes those that are in a pack: the task itself does that only when it runs next. It takes
 * git's own lock, so two never run at once. A user who switched `gc.auto` off does not want this either.
 */
const packLoose = [
  'test "$(git config --type=int --default=1 gc.auto)" = 0 ||',
  '{ git maintenance run --quiet --task=loose-objects; git prune-packed --quiet; }',
].join(' ');

/** Leaves the packing to git, in a process of its own that nothing waits for. */
export function tidy(repository: Repository): void {
  // An alias is run by the shell that git has with it on every system.
  const args = [...gitSettings, '-c', `alias.orch-pack=!${packLoose}`, 'orch-pack'];
  startDetached('git', args, workFolder(repository), gitEnvironment());
}

/** One transaction of `git update-ref`: all refs move, each from its expected value, or none does. */
export async function updateRefs(
  repository: Repository,
  updates: readonly RefUpdate[],
  readRef: (ref: string) => Promise<Oid | null>,
): Promise<void> {
  // no-deref: a symbolic ref in our namespace must never move the branch it points to.
  const zero = '0'.repeat(repository.format === 'sha1' ? 40 : 64);
  const commands = updates.map(({ ref, from, to }) =>
    to === null
      ? `option no-deref\0delete ${ref}\0${from ?? zero}\0`
      : `option no-deref\0update ${ref}\0${to}\0${from ?? zero}\0`,
  );
  const child = startGit(repository, ['update-ref', '--stdin', '-z']);
  child.stdin.end(commands.join(''));
  const result = await finished(child);
  if (result.status === 0) return;
  for (const update of updates) {
    const actual = await readRef(update.ref);
    if (actual !== update.from) throw refConflict(update, actual);
  }
  const lock = /Unable to create '(.*\.lock)': File exists/.exec(result.stderr)?.[1];
  if (lock) throw refLocked(updates[0]?.ref ?? '', lock);
  const reason = /(No space left on device|Read-only file system|Permission denied)/.exec(result.stderr)?.[1];
  const codes: Record<string, string> = { N: 'ENOSPC', R: 'EROFS', P: 'EACCES' };
  if (reason)
    throw writeFailed(
      'the ref could not be moved',
      Object.assign(new Error(reason), { code: codes[reason[0] ?? ''] }),
    );
  throw gitFailed(['update-ref'], result);
}

/** A message of orch's has a few kilobytes. */
const longestRecord = 8 * 1024 * 1024;
const logFormat = '%H%n%T%n%P%n%at%n%ct%n%B';

/** Streams `git log`; a caller that stops early ends it. */
export async function* walkLog(repository: Repository, from: Oid, most?: number): AsyncGenerator<Commit> {
  const args = [
    'log',
    '-z',
    '--no-patch',
    '--no-notes',
    '--no-color',
    '--encoding=UTF-8',
    `--format=${logFormat}`,
  ];
  const limit = most === undefined || most === Number.POSITIVE_INFINITY ? [] : [`--max-count=${most}`];
  const child = startGit(repository, [...args, ...limit, from, '--']);
  child.stdin.on('error', () => {}); // it reads nothing; that it is gone is told by its status
  child.stdin.end();
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-4_000);
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', (error) => reject(gitNotStarted(error)));
    child.on('close', resolve);
  });
  ended.catch(() => {}); // awaited below, unless the caller stops first
  let finishedReading = false;
  try {
    let rest = '';
    child.stdout.setEncoding('utf8');
    for await (const chunk of child.stdout) {
      const records = (rest + chunk).split('\0');
      rest = records.pop() ?? '';
      if (rest.length > longestRecord) throw damaged(from, 'followed by a commit too large to read');
      for (const record of records) yield parseRecord(record);
    }
    finishedReading = true;
    const status = await ended;
    if (rest !== '' && status === 0) yield parseRecord(rest);
    if (status !== 0) throw brokenHistory(from, status, stderr);
  } finally {
    if (!finishedReading) child.kill('SIGKILL');
  }
}

function parseRecord(record: string): Commit {
  const lines = record.split('\n', 5);
  const [oid = '', tree = '', parents = '', authored, committed] = lines;
  const message = record.slice(lines.join('\n').length + 1);
  return {
    oid: parseOid(oid),
    tree: parseOid(tree),
    parents: parents === '' ? [] : parents.split(' ').map(parseOid),
    authoredAt: toInstant(authored),
    committedAt: toInstant(committed),
    message,
  };
}

function brokenHistory(from: Oid, status: number | null, stderr: string): OrchError {
  const object = /\b([0-9a-f]{40}|[0-9a-f]{64})\b/.exec(stderr)?.[1] ?? null;
  if (object === null) return gitFailed(['log'], { status, stderr });
  return new OrchError('INTEGRITY', `the history of ${from} cannot be read past ${object}`, {
    hint: 'See what is affected with: orch checkpoint verify',
    data: { object },
    cause: new Error(stderr.trim()),
  });
}
