import { parseOid } from '../ids.ts';
import type { Oid } from '../types.ts';
import type { TreeEdit } from './edit-tree.ts';
import type { ObjectFormat } from './engine.ts';
import { hashObject } from './objects.ts';
import type { Repository } from './repository.ts';
import { finished, gitFailed, startGit } from './spawn.ts';
import { formatTree } from './tree.ts';

/** What is at a path in one tree and in another; its name in bytes, one to a character (latin1). */
export type TreeChange = { readonly path: string; readonly from: TreeEdit; readonly to: TreeEdit };

/** The tree without files, which git knows though nobody stored it. */
export function emptyTree(format: ObjectFormat): Oid {
  return hashObject(formatTree([]), format);
}

/** Every path that differs between two trees. */
export async function diffTrees(repository: Repository, from: Oid, to: Oid): Promise<TreeChange[]> {
  if (from === to) return [];
  const args = ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to];
  const child = startGit(repository, args);
  child.stdin.end();
  const result = await finished(child, 'latin1');
  if (result.status !== 0) throw gitFailed(args, result);
  return parseRawDiff(result.stdout);
}

/** Reads `:100644 100755 <old> <new> M\0path\0` …; a mode of zeros: nothing is there. */
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
