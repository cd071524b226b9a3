import { parseOid } from '../../ids.ts';
import type { Oid } from '../../types.ts';
import type { ObjectFormat } from '../engine.ts';
import { hashObject } from '../objects/loose-objects.ts';
import { formatTree, type TreeEdit } from '../objects/tree-object.ts';
import type { Repository } from '../repository.ts';
import { runGit } from '../run-git.ts';

/** The entries of two trees at a path in bytes (latin1). */
export type TreeChange = { readonly path: string; readonly from: TreeEdit; readonly to: TreeEdit };

/** The id of the empty tree, which git knows without storing it. */
export function emptyTree(format: ObjectFormat): Oid {
  return hashObject(formatTree([]), format);
}

/** Lists every path that differs between two trees. */
export async function diffTrees(repository: Repository, from: Oid, to: Oid): Promise<TreeChange[]> {
  if (from === to) return [];
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to];
  return parseRawDiff(await runGit(repository, args, '', 'latin1'));
}

/** Parses `:100644 100755 <old> <new> M\0path\0` …; a mode of zeros means that nothing is there. */
export function parseRawDiff(text: string): TreeChange[] {
  const parts = text.split('\0');
  const changes: TreeChange[] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [fromMode = '', toMode = '', from = '', to = ''] = (parts[index] ?? '').slice(1).split(' ');
    changes.push({ path: parts[index + 1] ?? '', from: entryOf(fromMode, from), to: entryOf(toMode, to) });
  }
  return changes;
}

function entryOf(mode: string, oid: string): TreeEdit {
  return /^0+$/.test(mode) ? null : { mode, oid: parseOid(oid) };
}

/** Finds the trees of commits in one go; those that are not in this clone are missing. */
export async function readTreesOf(
  repository: Repository,
  commits: readonly Oid[],
): Promise<ReadonlyMap<Oid, Oid>> {
  if (commits.length === 0) return new Map();
  const input = commits.map((commit) => `${commit}^{tree}\n`).join('');
  const text = await runGit(repository, ['cat-file', '--batch-check=%(objectname) %(objecttype)'], input);
  const lines = text.split('\n');
  return new Map(
    commits.flatMap((commit, index): [Oid, Oid][] => {
      const [tree = '', kind] = (lines[index] ?? '').split(' ');
      return kind === 'tree' ? [[commit, tree as Oid]] : []; // git's own id
    }),
  );
}
