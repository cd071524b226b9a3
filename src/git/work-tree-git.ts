import { hasCode, type OrchError } from '../errors.ts';
import { parseOid } from '../ids.ts';
import type { Environment } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import type { Repository } from './repository.ts';
import { type Finished, finished, gitFailed, startGit } from './spawn.ts';
import { type LeftOut, type Listing, parseListing } from './work-tree-changes.ts';

/*
 * The gits a snapshot starts. Each gets an index of ours, so that the user's is only ever read.
 */

const settings = [
  'core.untrackedCache=false',
  'core.splitIndex=false', // or git would put a shared part beside the user's index
  'core.safecrlf=false', // a file that would not come back the same is still worth keeping
  'core.bigFileThreshold=2g', // no packs, but where they are asked for
  'core.fsync=none', // this process waits for the disk, for all of them at once
].flatMap((setting) => ['-c', setting]);

/** Runs a git on an index of ours; what it reads and prints is bytes, one to a character. */
export async function runOnIndex(
  repository: Repository,
  args: readonly string[],
  environment: Environment,
  input = '',
): Promise<Finished> {
  const child = startGit(repository, [...settings, ...args], environment);
  const end = finished(child, 'latin1'); // names of files are bytes, and need not be text
  child.stdin.end(Buffer.from(input, 'latin1'));
  const { stderr, ...rest } = await end;
  // A user knows of one index; where our copy of it is says nothing to them.
  return { ...rest, stderr: stderr.replaceAll(environment.GIT_INDEX_FILE ?? '\0', 'the index') };
}

/** What differs from an index on disk, and which folders could not be looked into. */
export async function listChanges(
  repository: Repository,
  what: readonly ('changed' | 'untracked')[],
  environment: Environment,
): Promise<{ listing: Listing; unreadable: LeftOut[] }> {
  const wanted = {
    changed: what.includes('changed') ? ['--modified'] : [],
    untracked: what.includes('untracked') ? ['--others', '--exclude-standard'] : [],
  };
  const args = ['ls-files', '-z', '-v', ...wanted.changed, ...wanted.untracked];
  const result = await runOnIndex(repository, args, environment);
  if (result.status !== 0) throw gitFailed(args, result);
  const closed = result.stderr.matchAll(/^warning: could not open directory '(.*)': /gm);
  return {
    listing: parseListing(result.stdout),
    unreadable: [...closed].map(([, path = '']) => ({ path, reason: 'unreadable', bytes: null })),
  };
}

/** Paths as git reads them with `-z`. */
export function joinPaths(paths: readonly string[]): string {
  return paths.map((path) => `${path}\0`).join('');
}

/** Removes paths from an index, whatever is on disk. */
export async function removeFromIndex(
  repository: Repository,
  paths: readonly string[],
  environment: Environment,
): Promise<void> {
  const args = ['update-index', '-z', '--force-remove', '--stdin'];
  const result = await runOnIndex(repository, args, environment, joinPaths(paths));
  if (result.status !== 0) throw gitFailed(args, result);
}

/** A file in the index that the user's last commit has not, or has otherwise. */
export type Staged = {
  readonly path: string;
  readonly oid: Oid;
  /** As the commit has it; null where it is new. */
  readonly before: { readonly mode: string; readonly oid: string } | null;
};

/** The files an index has otherwise than a commit; where there is no commit yet, all of them. */
export async function listStaged(
  repository: Repository,
  commit: Oid | null,
  environment: Environment,
): Promise<Staged[]> {
  const args = ['diff-index', '-z', '--raw', '--cached', '--no-renames', '--diff-filter=AMT', '--no-abbrev'];
  const all = ['ls-files', '-z', '--stage'];
  const result = await runOnIndex(repository, commit === null ? all : [...args, commit], environment);
  if (result.status !== 0) throw gitFailed(args, result);
  const entries =
    commit === null
      ? result.stdout.matchAll(/(?<mode>100\d+) (?<oid>[0-9a-f]+) 0\t(?<path>[^\0]+)\0/g)
      : result.stdout.matchAll(
          /:(?<oldMode>\d+) (?<mode>100\d+) (?<oldOid>[0-9a-f]+) (?<oid>[0-9a-f]+) [AMT]\0(?<path>[^\0]+)\0/g,
        );
  return [...entries].map(({ groups = {} }) => {
    const { path = '', oid = '', oldMode = '0', oldOid = '' } = groups;
    const before = Number(oldMode) === 0 ? null : { mode: oldMode, oid: oldOid };
    return { path, oid: parseOid(oid), before };
  });
}

/** Makes files in an index what they were before they were staged. */
export async function unstage(
  repository: Repository,
  staged: readonly Staged[],
  environment: Environment,
): Promise<void> {
  const lines = staged.map(({ path, oid, before }) =>
    before === null ? `0 ${oid}\t${path}\0` : `${before.mode} ${before.oid}\t${path}\0`,
  );
  await putIntoIndex(repository, lines, environment);
}

async function putIntoIndex(
  repository: Repository,
  lines: readonly string[],
  environment: Environment,
): Promise<void> {
  const args = ['update-index', '-z', '--index-info'];
  const result = await runOnIndex(repository, args, environment, lines.join(''));
  if (result.status !== 0) throw gitFailed(args, result);
}

/** The tree of an index; null where paths of it are in conflict. */
export async function writeTree(repository: Repository, environment: Environment): Promise<Oid | null> {
  const result = await runOnIndex(repository, ['write-tree'], environment);
  if (result.status === 0) return parseOid(result.stdout.trim());
  if (/: unmerged \(/.test(result.stderr)) return null;
  throw gitFailed(['write-tree'], result);
}

/** Does the repository have an object, packed or borrowed from another? */
export async function isStored(repository: Repository, oid: Oid): Promise<boolean> {
  return (await runOnIndex(repository, ['cat-file', '-e', oid], {})).status === 0;
}

/** Takes, for each path in conflict, one side as if it were the result: ours, else theirs, else what both began with. */
export async function settleConflicts(repository: Repository, environment: Environment): Promise<void> {
  const listed = await runOnIndex(repository, ['ls-files', '-z', '--unmerged'], environment);
  if (listed.status !== 0) throw gitFailed(['ls-files'], listed);
  const chosen = new Map<string, { mode: string; oid: string; rank: number }>();
  for (const line of listed.stdout.split('\0')) {
    const [, mode, oid, stage, path] = /^(\d+) ([0-9a-f]+) ([123])\t(.*)$/s.exec(line) ?? [];
    if (mode === undefined || oid === undefined || path === undefined) continue;
    const rank = ['2', '3', '1'].indexOf(stage ?? '');
    if (rank < (chosen.get(path)?.rank ?? 3)) chosen.set(path, { mode, oid, rank });
  }
  const lines = [...chosen].map(([path, { mode, oid }]) => `${mode} ${oid} 0\t${path}\0`);
  await putIntoIndex(repository, lines, environment);
}

/** Did git itself fail, so that another index might help? */
export function isGitFailure(error: unknown): error is OrchError {
  return hasCode(error, 'GIT_FAILED', 'INTEGRITY');
}
