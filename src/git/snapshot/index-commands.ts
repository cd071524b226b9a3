import { hasCode, type OrchError } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { askGit, type GitResult, gitFailed } from '../run-git.ts';
import { type LeftOut, type Listing, parseListing } from './work-tree-changes.ts';

/* The git commands of a snapshot. Each works on an index of ours, so that the user's is only read. */

const settings = [
  'core.untrackedCache=false',
  'core.splitIndex=false', // or git would put a shared part next to the user's index
  'core.safecrlf=false', // a file with lossy line ends is still worth keeping
  'core.bigFileThreshold=2g', // no packs unless requested
  'core.fsync=none', // this process syncs all files at once
].flatMap((setting) => ['-c', setting]);

/** Runs git on an index of ours, whatever its status. Input and output are bytes (latin1): file names need not be text. */
export async function askOnIndex(
  repository: Repository,
  args: readonly string[],
  environment: Environment,
  input = '',
): Promise<GitResult> {
  const options = { input, environment, encoding: 'latin1' } as const;
  const { stderr, ...rest } = await askGit(repository, [...settings, ...args], options);
  // Users know only one index, so the path of our copy would mean nothing to them.
  return { ...rest, stderr: stderr.replaceAll(environment.GIT_INDEX_FILE ?? '\0', 'the index') };
}

/** Runs git on an index of ours; fails unless its status is 0. */
export async function runOnIndex(
  repository: Repository,
  args: readonly string[],
  environment: Environment,
  input = '',
): Promise<GitResult> {
  const result = await askOnIndex(repository, args, environment, input);
  if (result.status !== 0) throw gitFailed(args, result);
  return result;
}

/** Lists what differs on disk from an index, and the folders that could not be read. */
export async function listChanges(
  repository: Repository,
  what: readonly ('changed' | 'untracked')[],
  environment: Environment,
): Promise<{ listing: Listing; unreadable: LeftOut[] }> {
  const changed = what.includes('changed') ? ['--modified'] : [];
  const untracked = what.includes('untracked') ? ['--others', '--exclude-standard'] : [];
  const args = ['ls-files', '-z', '-v', ...changed, ...untracked];
  const result = await runOnIndex(repository, args, environment);
  const closed = result.stderr.matchAll(/^warning: could not open directory '(.*)': /gm);
  return {
    listing: parseListing(result.stdout),
    unreadable: [...closed].map(([, path = '']) => ({ path, reason: 'unreadable', bytes: null })),
  };
}

/** Formats paths as git reads them with `-z`. */
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
  await runOnIndex(repository, args, environment, joinPaths(paths));
}

/** A file in the index that the user's last commit lacks or has differently. */
export type Staged = {
  readonly path: string;
  readonly oid: Oid;
  /** The commit's version; null if the file is new. */
  readonly before: { readonly mode: string; readonly oid: string } | null;
};

/** Lists the files that an index has differently from a commit; all files if there is no commit yet. */
export async function listStaged(
  repository: Repository,
  commit: Oid | null,
  environment: Environment,
): Promise<Staged[]> {
  const args = ['diff-index', '-z', '--raw', '--cached', '--no-renames', '--diff-filter=AMT', '--no-abbrev'];
  const all = ['ls-files', '-z', '--stage'];
  const result = await runOnIndex(repository, commit === null ? all : [...args, commit], environment);
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

/** Resets files in an index to the version before they were staged. */
export async function unstage(
  repository: Repository,
  staged: readonly Staged[],
  environment: Environment,
): Promise<void> {
  const lines = staged.map(({ path, oid, before }) =>
    before === null ? `0 ${oid}\t${path}\0` : `${before.mode} ${before.oid}\t${path}\0`,
  );
  await runOnIndex(repository, setEntries, environment, lines.join(''));
}

const setEntries = ['update-index', '-z', '--index-info'];

/** Writes the tree of an index; null if it has conflicts. */
export async function writeTree(repository: Repository, environment: Environment): Promise<Oid | null> {
  const result = await askOnIndex(repository, ['write-tree'], environment);
  if (result.status === 0) return parseOid(result.stdout.trim());
  if (/: unmerged \(/.test(result.stderr)) return null;
  throw gitFailed(['write-tree'], result);
}

/** Tells whether the repository has an object, also packed or in an alternate. */
export async function isStored(repository: Repository, oid: Oid): Promise<boolean> {
  return (await askOnIndex(repository, ['cat-file', '-e', oid], {})).status === 0;
}

/** Resolves each conflict in an index to one side: ours, else theirs, else the common ancestor. */
export async function resolveConflicts(repository: Repository, environment: Environment): Promise<void> {
  const listed = await runOnIndex(repository, ['ls-files', '-z', '--unmerged'], environment);
  const chosen = new Map<string, { mode: string; oid: string; rank: number }>();
  for (const line of listed.stdout.split('\0')) {
    const [, mode, oid, stage, path] = /^(\d+) ([0-9a-f]+) ([123])\t(.*)$/s.exec(line) ?? [];
    if (mode === undefined || oid === undefined || path === undefined) continue;
    const rank = ['2', '3', '1'].indexOf(stage ?? '');
    if (rank < (chosen.get(path)?.rank ?? 3)) chosen.set(path, { mode, oid, rank });
  }
  const lines = [...chosen].map(([path, { mode, oid }]) => `${mode} ${oid} 0\t${path}\0`);
  await runOnIndex(repository, setEntries, environment, lines.join(''));
}

/** Tells whether git itself failed, so that another index might help. */
export function isGitFailure(error: unknown): error is OrchError {
  return hasCode(error, 'GIT_FAILED', 'INTEGRITY');
}
