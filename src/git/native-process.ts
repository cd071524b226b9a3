import { OrchError, writeFailed } from '../errors.ts';
import { parseOid } from '../ids.ts';
import { startDetached } from '../system/process/spawn.ts';
import type { Oid } from '../types.ts';
import { type Commit, damaged, type Head, type RefUpdate, refConflict, refLocked } from './engine.ts';
import { CatFile } from './objects/cat-file.ts';
import { parseGitTime } from './objects/commit-object.ts';
import type { Repository } from './repository.ts';
import {
  askGit,
  gitEnvironment,
  gitFailed,
  gitNotStarted,
  gitSettings,
  runGit,
  startGit,
  workFolder,
} from './run-git.ts';

/* Calls to the git program. Bundled separately, because most commands never start git and need not load this. */

export { runGit };

export function openCatFile(repository: Repository): CatFile {
  return new CatFile(() => startGit(repository, ['cat-file', '--batch']));
}

/** Lists the refs that match a pattern of `git for-each-ref`. */
export async function askRefs(repository: Repository, pattern: string): Promise<Map<string, Oid>> {
  const text = await runGit(repository, ['for-each-ref', '--format=%(objectname) %(refname)', pattern]);
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line) => [line.slice(line.indexOf(' ') + 1), parseOid(line.slice(0, line.indexOf(' ')))]),
  );
}

export async function isAncestor(repository: Repository, ancestor: Oid, descendant: Oid): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', ancestor, descendant];
  const { status, stderr } = await askGit(repository, args);
  if (status !== 0 && status !== 1) throw brokenHistory(descendant, status, stderr);
  return status === 0;
}

export async function askHead(
  repository: Repository,
  readRef: (ref: string) => Promise<Oid | null>,
): Promise<Head> {
  const target = (await askGit(repository, ['symbolic-ref', '--quiet', 'HEAD'])).stdout.trim();
  if (target.startsWith('refs/heads/'))
    return { commit: await readRef(target), branch: target.slice('refs/heads/'.length) };
  const commit = (await runGit(repository, ['rev-parse', '--verify', 'HEAD'])).trim();
  return { commit: parseOid(commit), branch: null };
}

/**
 * Packs loose objects, then removes the packed ones, which the task itself does only on its next run. It takes git's
 * own lock, so two never run at once. Users who turned off `gc.auto` do not want this either.
 */
const packLoose = [
  'test "$(git config --type=int --default=1 gc.auto)" = 0 ||',
  '{ git maintenance run --quiet --task=loose-objects; git prune-packed --quiet; }',
].join(' ');

/** Starts git in the background to pack loose objects. */
export function packLooseObjects(repository: Repository): void {
  // Git runs an alias with its own shell, which it has on every system.
  const args = [...gitSettings, '-c', `alias.orch-pack=!${packLoose}`, 'orch-pack'];
  startDetached('git', args, workFolder(repository), gitEnvironment());
}

/** Moves refs in one `git update-ref` transaction: all of them, each from its expected value, or none. */
export async function updateRefs(
  repository: Repository,
  updates: readonly RefUpdate[],
  readRef: (ref: string) => Promise<Oid | null>,
): Promise<void> {
  // no-deref: moving a symbolic ref in our namespace must not move the branch it points to.
  const zero = '0'.repeat(repository.format === 'sha1' ? 40 : 64);
  const commands = updates.map(({ ref, from, to }) =>
    to === null
      ? `option no-deref\0delete ${ref}\0${from ?? zero}\0`
      : `option no-deref\0update ${ref}\0${to}\0${from ?? zero}\0`,
  );
  const result = await askGit(repository, ['update-ref', '--stdin', '-z'], { input: commands.join('') });
  if (result.status === 0) return;
  for (const update of updates) {
    const actual = await readRef(update.ref);
    if (actual !== update.from) throw refConflict(update, actual);
  }
  const lock = /Unable to create '(.*\.lock)': File exists/.exec(result.stderr)?.[1];
  if (lock) throw refLocked(updates[0]?.ref ?? '', lock);
  if (result.stderr.includes('Permission denied'))
    throw writeFailed(
      'the ref could not be moved',
      Object.assign(new Error('Permission denied'), { code: 'EACCES' }),
    );
  throw gitFailed(['update-ref'], result);
}

/** Messages of orch's own commits have a few kilobytes. */
const longestRecord = 8 * 1024 * 1024;
const logFormat = '%H%n%T%n%P%n%at%n%ct%n%B';

/** Streams `git log`, and ends it when the caller stops reading. */
export async function* walkLog(repository: Repository, from: Oid, most?: number): AsyncGenerator<Commit> {
  const options = ['-z', '--no-patch', '--no-notes', '--no-color', '--encoding=UTF-8'];
  const limit = most === undefined || most === Number.POSITIVE_INFINITY ? [] : [`--max-count=${most}`];
  const child = startGit(repository, ['log', ...options, `--format=${logFormat}`, ...limit, from, '--']);
  child.stdin.on('error', () => {}); // it reads no input; if it ended, its status tells why
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
    authoredAt: parseGitTime(authored),
    committedAt: parseGitTime(committed),
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
