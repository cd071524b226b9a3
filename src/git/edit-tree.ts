import type { Oid } from '../types.ts';
import type { GitEngine, GitObject } from './engine.ts';
import { hashObject } from './objects.ts';
import { readTree } from './read.ts';
import { folderMode, formatTree, type TreeEntry } from './tree.ts';

/** What is at a path from now on; null: nothing. */
export type TreeEdit = Pick<TreeEntry, 'mode' | 'oid'> | null;

/** The edits of one folder: its own files, and those of the folders below. */
type FolderEdits = { readonly files: Map<string, TreeEdit>; readonly folders: Map<string, FolderEdits> };

/**
 * The tree that a tree becomes when files in it change, and the tree objects that are new; none is written yet.
 * Paths are bytes, one to a character (latin1). A file takes the place of a folder of its name, and the reverse;
 * a folder without files is no more.
 */
export async function editTree(
  git: GitEngine,
  base: Oid | null,
  edits: ReadonlyMap<string, TreeEdit>,
): Promise<{ tree: Oid; objects: GitObject[] }> {
  const objects: GitObject[] = [];
  const add = (entries: readonly TreeEntry[]): Oid => {
    const object = formatTree(entries, 'latin1');
    objects.push(object);
    return hashObject(object, git.format);
  };
  const editFolder = async (before: Oid | null, { files, folders }: FolderEdits): Promise<TreeEntry[]> => {
    const known = before === null ? [] : await readTree(git, before, 'latin1');
    const entries = new Map(known.map((entry) => [entry.name, entry]));
    for (const [name, edit] of files) {
      if (edit !== null) entries.set(name, { ...edit, name });
      else if (entries.get(name)?.mode !== folderMode) entries.delete(name);
    }
    for (const [name, below] of folders) {
      if (files.get(name)) continue; // a file is there now: what was below it is gone
      const folder = entries.get(name);
      const inside = await editFolder(folder?.mode === folderMode ? folder.oid : null, below);
      if (inside.length > 0) entries.set(name, { mode: folderMode, name, oid: add(inside) });
      else if (folder?.mode === folderMode) entries.delete(name);
    }
    return [...entries.values()];
  };
  return { tree: add(await editFolder(base, groupByFolder(edits))), objects };
}

function groupByFolder(edits: ReadonlyMap<string, TreeEdit>): FolderEdits {
  const root: FolderEdits = { files: new Map(), folders: new Map() };
  for (const [path, edit] of edits) {
    const parts = path.split('/');
    let folder = root;
    for (const name of parts.slice(0, -1)) {
      const next = folder.folders.get(name) ?? { files: new Map(), folders: new Map() };
      folder.folders.set(name, next);
      folder = next;
    }
    folder.files.set(parts.at(-1) ?? '', edit);
  }
  return root;
}
