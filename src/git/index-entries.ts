import { parseOid } from '../ids.ts';
import type { Oid } from '../types.ts';
import type { ObjectFormat } from './engine.ts';

/*
 * git's index as a file, read as far as a snapshot needs it: what it holds at a few paths. Pure.
 * Paths are bytes, one to a character (latin1).
 */

export type IndexEntry = { readonly mode: string; readonly oid: Oid };

export type IndexEntries = {
  /** What is at the paths that were asked for; the others of them are not in the index. */
  readonly found: ReadonlyMap<string, IndexEntry>;
  /** Are all entries what a tree is made of? Not so with conflicts, whole folders, and files only intended. */
  readonly isPlain: boolean;
};

const folderKind = 0o04;

/** Can `findInIndex` read it? Version 4 shortens its paths. */
export function isReadableIndex(bytes: Buffer): boolean {
  return (
    bytes.length >= 12 && bytes.toString('latin1', 0, 4) === 'DIRC' && [2, 3].includes(bytes.readUInt32BE(4))
  );
}

/** Finds paths in an index; null where it is torn or of a version that is not read here. */
export function findInIndex(
  bytes: Buffer,
  paths: Iterable<string>,
  format: ObjectFormat,
): IndexEntries | null {
  if (!isReadableIndex(bytes)) return null;
  const wanted = new Set(paths);
  const lengths = new Set([...wanted].map((path) => path.length));
  const width = format === 'sha1' ? 20 : 32;
  const found = new Map<string, IndexEntry>();
  let isPlain = true;
  let at = 12;
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    if (at + 42 + width > bytes.length) return null;
    const flags = bytes.readUInt16BE(at + 40 + width);
    const isExtended = (flags & 0x4000) !== 0;
    const name = at + 42 + width + (isExtended ? 2 : 0);
    // A long path's length does not fit where it is kept.
    const end = (flags & 0xfff) < 0xfff ? name + (flags & 0xfff) : bytes.indexOf(0, name);
    if (end < name || end >= bytes.length) return null;
    const mode = bytes.readUInt32BE(at + 24);
    const isIntended = isExtended && (bytes.readUInt16BE(name - 2) & 0x2000) !== 0;
    if ((flags & 0x3000) !== 0 || mode >>> 12 === folderKind || isIntended) isPlain = false;
    if (lengths.has(end - name)) {
      const path = bytes.toString('latin1', name, end);
      const oid = () => parseOid(bytes.toString('hex', at + 40, at + 40 + width));
      if (wanted.has(path)) found.set(path, { mode: mode.toString(8), oid: oid() });
    }
    // Padded with at least one zero, to a multiple of eight.
    at += ((end - at) & ~7) + 8;
  }
  return { found, isPlain };
}
