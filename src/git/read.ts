import type { Oid } from '../types.ts';
import { parseCommit } from './commit.ts';
import { type Commit, damaged, type GitEngine } from './engine.ts';
import { folderMode, type NameEncoding, parseTree, type TreeEntry } from './tree.ts';

const maxCommitBytes = 1024 * 1024;
const maxTreeBytes = 16 * 1024 * 1024;

export async function readCommit(git: GitEngine, oid: Oid): Promise<Commit> {
  return parseCommit(oid, await git.readObject(oid, maxCommitBytes));
}

export async function readTree(git: GitEngine, oid: Oid, encoding?: NameEncoding): Promise<TreeEntry[]> {
  const { kind, bytes } = await git.readObject(oid, maxTreeBytes);
  if (kind !== 'tree') throw damaged(oid, `not a tree but a ${kind}`);
  return parseTree(bytes, git.format, encoding);
}

/** The entries of a folder in a tree; null where there is no such folder. */
export async function listPath(
  git: GitEngine,
  tree: Oid,
  path: readonly string[],
): Promise<TreeEntry[] | null> {
  let entries = await readTree(git, tree);
  for (const name of path) {
    const next = entries.find((entry) => entry.name === name && entry.mode === folderMode);
    if (next === undefined) return null;
    entries = await readTree(git, next.oid);
  }
  return entries;
}

/** What a file in a tree holds; null where there is no such file. */
export async function readPath(git: GitEngine, tree: Oid, path: readonly string[]): Promise<Buffer | null> {
  const entries = await listPath(git, tree, path.slice(0, -1));
  const found = entries?.find((entry) => entry.name === path.at(-1) && entry.mode !== folderMode);
  return found === undefined ? null : (await git.readObject(found.oid)).bytes;
}

/** What is at a path of a tree, folders too; the path in bytes, one to a character. Null where nothing is. */
export async function findEntry(git: GitEngine, tree: Oid, path: string): Promise<TreeEntry | null> {
  let entries = await readTree(git, tree, 'latin1');
  const names = path.split('/');
  for (const [index, name] of names.entries()) {
    const found = entries.find((entry) => entry.name === name);
    if (found === undefined || index === names.length - 1) return found ?? null;
    if (found.mode !== folderMode) return null;
    entries = await readTree(git, found.oid, 'latin1');
  }
  return null;
}
