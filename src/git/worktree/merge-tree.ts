import { isOid, parseOid } from '../../ids.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { askGit, gitFailed, runGit } from '../run-git.ts';

/* `git merge-tree`: merging commits without touching any files. Attributes are read from the folder it runs in. */

export type MergedTree =
  /** `combined`: the files that both sides changed, for which a merge driver may be in use. */
  | { readonly kind: 'merged'; readonly tree: Oid; readonly combined: readonly string[] }
  | { readonly kind: 'conflict'; readonly files: readonly string[]; readonly messages: string };

/** Merges are alike everywhere, whatever the user's config says. A `merge.default` of `union` drops conflicts. */
export const pinned = [
  'merge.renames=true',
  'merge.directoryRenames=conflict',
  'merge.renameLimit=7000',
  'merge.renormalize=false',
  'merge.default=text',
  'merge.verbosity=2',
].flatMap((each) => ['-c', each]);

const printed = ['-z', '--name-only', '--messages'];

/** Merges two commits. Nothing is resolved by choosing a side. */
export async function mergeCommits(
  worktree: Repository,
  ours: Oid,
  theirs: Oid,
  environment: Environment = {},
): Promise<MergedTree> {
  const args = [...pinned, 'merge-tree', '--write-tree', ...printed, ours, theirs];
  const result = await askGit(worktree, args, { environment });
  const isKnown = result.status === 0 || result.status === 1;
  const read = isKnown ? readMerge(result.stdout.split('\0'), 0, result.status === 0, [ours, theirs]) : null;
  if (read === null) throw gitFailed(['merge-tree'], result);
  return read.merge;
}

/** What is thrown away need not be on disk. */
const unsynced = ['-c', 'core.fsync=none'];

export type Pair = readonly [ours: Oid, theirs: Oid];

/**
 * Merges many pairs of commits on trial, with one process; null where it could not be done. Git before 2.39 takes only one
 * pair, and a commit that is gone ends the process: then each pair gets a process of its own.
 */
export async function mergePairs(
  worktree: Repository,
  pairs: readonly Pair[],
  environment: Environment,
): Promise<(MergedTree | null)[]> {
  if (pairs.length === 0) return [];
  const args = [...pinned, ...unsynced, 'merge-tree', '--stdin', ...printed];
  const input = pairs.map(([ours, theirs]) => `${ours} ${theirs}\n`).join('');
  const result = await askGit(worktree, args, { input, environment });
  const all = result.status === 0 ? readMerges(result.stdout, pairs) : null;
  if (all !== null) return all;
  const merges: (MergedTree | null)[] = [];
  for (const [ours, theirs] of pairs)
    merges.push(await mergeCommits(worktree, ours, theirs, environment).catch(() => null));
  return merges;
}

/** Reads the merges of several pairs, each after its status: `1` is clean. Null if it is something else. */
function readMerges(output: string, pairs: readonly Pair[]): MergedTree[] | null {
  const fields = output.split('\0');
  const merges: MergedTree[] = [];
  let at = 0;
  for (const pair of pairs) {
    const status = fields[at];
    const read = status === '0' || status === '1' ? readMerge(fields, at + 1, status === '1', pair) : null;
    if (read === null) return null;
    merges.push(read.merge);
    at = read.end + 1;
  }
  return merges;
}

/**
 * Reads one merge: the tree, the files in conflict, an empty field, messages (how many paths, the paths, what kind, the
 * text), and a last field, which is empty or advice about submodules.
 */
function readMerge(
  fields: readonly string[],
  at: number,
  isClean: boolean,
  sides: Pair,
): { readonly merge: MergedTree; readonly end: number } | null {
  const tree = fields[at]?.trim() ?? '';
  const separator = fields.indexOf('', at + 1);
  if (!isOid(tree) || separator < 0) return null;
  const listed = fields.slice(at + 1, separator);
  const messages: Message[] = [];
  let end = separator + 1;
  for (let count = fields[end]; count !== undefined && /^\d+$/.test(count); count = fields[end]) {
    const last = end + 1 + Number(count);
    messages.push({
      paths: fields.slice(end + 1, last),
      kind: fields[last] ?? '',
      text: fields[last + 1] ?? '',
    });
    end = last + 2;
  }
  if (end >= fields.length) return null;
  if (isClean) {
    const combined = messages.filter(({ kind }) => kind === 'Auto-merging').flatMap(({ paths }) => paths);
    return { merge: { kind: 'merged', tree: parseOid(tree), combined: sorted(combined) }, end };
  }
  const conflicts = messages.filter(({ kind }) => kind.startsWith('CONFLICT'));
  // Some conflicts, as in directories that were renamed, are in no file.
  const files = listed.length > 0 ? listed : conflicts.flatMap(({ paths }) => paths);
  return {
    merge: {
      kind: 'conflict',
      files: sorted(files.map((path) => withoutSide(path, sides))),
      messages: conflicts
        .map(({ text }) => text)
        .join('')
        .trim(),
    },
    end,
  };
}

type Message = { readonly paths: readonly string[]; readonly kind: string; readonly text: string };

const sorted = (paths: readonly string[]) => [...new Set(paths)].sort();

/** Where a file and a folder have the same name, git calls the file `name~COMMIT`. */
function withoutSide(path: string, sides: Pair): string {
  return sides.reduce((name, side) => name.split(`~${side}`).join(''), path);
}

/** The paths for which a merge driver is configured: a driver may drop a side without a word. */
export async function findMergeDrivers(worktree: Repository, paths: readonly string[]): Promise<string[]> {
  if (paths.length === 0) return [];
  const output = await runGit(worktree, ['check-attr', '-z', '--stdin', 'merge'], `${paths.join('\0')}\0`);
  const fields = output.split('\0');
  const driven: string[] = [];
  for (let index = 0; index + 2 < fields.length; index += 3) {
    const [path = '', , value = ''] = fields.slice(index, index + 3);
    if (!['unspecified', 'set', 'text', 'binary', 'unset'].includes(value)) driven.push(path);
  }
  return driven;
}

/** Does the file system take `A` and `a` for the same name, as git found when it made the repository? */
export async function ignoresCase(repository: Repository): Promise<boolean> {
  return (await askGit(repository, ['config', '--type=bool', 'core.ignorecase'])).stdout.trim() === 'true';
}

/** The paths of a tree that differ from another one only in upper and lower case, unless both were there before. */
export async function findCaseClashes(worktree: Repository, tree: Oid, before: Oid): Promise<string[]> {
  const clashes = await listCaseClashes(worktree, tree);
  if (clashes.length === 0) return [];
  const known = new Set(await listCaseClashes(worktree, before));
  return clashes.filter((path) => !known.has(path));
}

async function listCaseClashes(worktree: Repository, tree: Oid): Promise<string[]> {
  const paths = (await runGit(worktree, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', tree])).split(
    '\0',
  );
  const alike = new Map<string, string[]>();
  for (const path of paths.filter(Boolean)) {
    const key = path.toLowerCase();
    alike.set(key, [...(alike.get(key) ?? []), path]);
  }
  return [...alike.values()].filter((group) => group.length > 1).flat();
}
