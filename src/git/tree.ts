import { OrchError } from '../errors.ts';
import { parseOid } from '../ids.ts';
import type { Oid } from '../types.ts';
import type { GitObject, ObjectFormat } from './engine.ts';

export type TreeEntry = { readonly mode: string; readonly name: string; readonly oid: Oid };

export const folderMode = '40000';
export const fileMode = '100644';
export const linkMode = '120000';
/** A submodule: a commit of another repository. */
export const submoduleMode = '160000';

/** How names, which are bytes, are read: as text, or one byte to a character where they need not be text. */
export type NameEncoding = 'utf8' | 'latin1';

/** The entries of a tree object. */
export function parseTree(bytes: Buffer, format: ObjectFormat, encoding: NameEncoding = 'utf8'): TreeEntry[] {
  const width = format === 'sha1' ? 20 : 32;
  const entries: TreeEntry[] = [];
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const end = bytes.indexOf(0, space);
    if (space < 0 || end < 0 || end + 1 + width > bytes.length)
      throw new OrchError('INTEGRITY', 'a tree is torn');
    entries.push({
      mode: bytes.toString('latin1', at, space),
      name: bytes.toString(encoding, space + 1, end),
      oid: parseOid(bytes.toString('hex', end + 1, end + 1 + width)),
    });
    at = end + 1 + width;
  }
  return entries;
}

/** A tree object, its entries in git's order: a folder sorts as if its name ended with a slash. */
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
