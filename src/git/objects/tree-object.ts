import { OrchError } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import type { Oid } from '../../types.ts';
import type { GitEngine, GitObject, ObjectFormat } from '../engine.ts';
import { hashObject } from './loose-objects.ts';
import { readTree } from './read-objects.ts';

export type TreeEntry = { readonly mode: string; readonly name: string; readonly oid: Oid };

export const folderMode = '40000';
export const fileMode = '100644';
export const linkMode = '120000';
/** A submodule: a commit of another repository. */
export const submoduleMode = '160000';

/** Names in git are bytes. They are read as text, or as latin1 (one byte per character) if they need not be text. */
export type NameEncoding = 'utf8' | 'latin1';

/** Turns a path in bytes (latin1) into text for people. */
export function formatPath(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

export function parseTree(bytes: Buffer, format: ObjectFormat, encoding: NameEncoding = 'utf8'): TreeEntry[] {
  const width = format === 'sha1' ? 20 : 32;
  const entries: TreeEntry[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const end = bytes.indexOf(0, space);
    if (space < 0 || end < 0 || end + 1 + width > bytes.length)
      throw new OrchError('INTEGRITY', 'a tree object is damaged');
    entries.push({
      mode: bytes.toString('latin1', at, space),
      name: bytes.toString(encoding, space + 1, end),
      oid: parseOid(bytes.toString('hex', end + 1, end + 1 + width)),
    });
    at = end + 1 + width;
  }
  return entries;
}

/** Formats a tree object with its entries in git's order: a folder sorts as if its name ended with a slash. */
export function formatTree(entries: readonly TreeEntry[], encoding: NameEncoding = 'utf8'): GitObject {
  const key = ({ mode, name }: TreeEntry) => Buffer.from(mode === folderMode ? `${name}/` : name, encoding);
  const sorted = entries
    .map((entry) => ({ entry, key: key(entry) }))
    .sort((a, b) => Buffer.compare(a.key, b.key));
  const parts = sorted.flatMap(({ entry }) => [
    Buffer.from(`${entry.mode} ${entry.name}\0`, encoding),
    Buffer.from(entry.oid, 'hex'),
  ]);
  return { kind: 'tree', bytes: Buffer.concat(parts) };
}

/** The new entry at a path, a file or a whole folder; null removes a file, an empty folder disappears. */
export type TreeEdit = Pick<TreeEntry, 'mode' | 'oid'> | null;

/** The edit that removes a folder. */
export function noFolder(format: ObjectFormat): TreeEdit {
  return { mode: folderMode, oid: hashObject(formatTree([]), format) };
}

type FolderEdits = { readonly files: Map<string, TreeEdit>; readonly folders: Map<string, FolderEdits> };

/**
 * Edits files in a tree, and returns the new tree with all new tree objects, which are not written yet.
 * Paths are bytes (latin1). A file replaces a folder of the same name and vice versa; empty folders disappear.
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
  const nothing = noFolder(git.format);
  const editFolder = async (before: Oid | null, { files, folders }: FolderEdits): Promise<TreeEntry[]> => {
    const known = before === null ? [] : await readTree(git, before, 'latin1');
    const entries = new Map(known.map((entry) => [entry.name, entry]));
    for (const [name, edit] of files) {
      if (edit?.mode === folderMode && edit.oid === nothing?.oid) entries.delete(name);
      else if (edit !== null) entries.set(name, { ...edit, name });
      else if (entries.get(name)?.mode !== folderMode) entries.delete(name);
    }
    for (const [name, below] of folders) {
      if (files.get(name)) continue; // a file replaces this folder, or it is replaced as a whole
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
