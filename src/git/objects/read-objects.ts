import type { Oid } from '../../types.ts';
import { type Commit, damaged, type GitEngine, type GitObject, maxObjectBytes, tooLarge } from '../engine.ts';
import { parseCommit } from './commit-object.ts';
import { folderMode, type NameEncoding, parseTree, type TreeEntry } from './tree-object.ts';

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

/** Lists the entries of a folder in a tree; null if there is no such folder. */
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

/** Reads a file in a tree; null if there is no such file. */
export async function readPath(git: GitEngine, tree: Oid, path: readonly string[]): Promise<Buffer | null> {
  const entries = await listPath(git, tree, path.slice(0, -1));
  const found = entries?.find((entry) => entry.name === path.at(-1) && entry.mode !== folderMode);
  return found === undefined ? null : (await git.readObject(found.oid)).bytes;
}

/** Finds a file or folder in a tree by its path in bytes (latin1); null if there is none. */
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

export type ObjectMemory = {
  get(oid: Oid, most?: number): Promise<GitObject>;
  add(oid: Oid, object: GitObject): void;
};

/** Caches the last objects: each checkpoint reads the same few again and again, mostly those just written. */
export function rememberObjects(read: (oid: Oid, most: number) => Promise<GitObject>): ObjectMemory {
  const known = new Map<Oid, GitObject>();
  const add = (oid: Oid, object: GitObject) => {
    if (object.bytes.length <= 65_536) known.set(oid, object);
    const [oldest] = known.size > 64 ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
  };
  return {
    get: async (oid, most = maxObjectBytes) => {
      const found = known.get(oid);
      if (found) return found;
      const object = await read(oid, most);
      if (object.bytes.length > most) throw tooLarge(oid, most);
      add(oid, object);
      return object;
    },
    add,
  };
}
