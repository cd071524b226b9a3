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
const submoduleKind = 0o16;

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
  const wanted = new Set(paths);
  const lengths = new Set([...wanted].map((path) => path.length));
  const width = widthOf(format);
  const found = new Map<string, IndexEntry>();
  let isPlain = true;
  const isWhole = eachEntry(bytes, format, ({ at, name, end, mode, flags, isIntended }) => {
    if ((flags & 0x3000) !== 0 || mode >>> 12 === folderKind || isIntended) isPlain = false;
    if (!lengths.has(end - name)) return;
    const path = bytes.toString('latin1', name, end);
    const oid = () => parseOid(bytes.toString('hex', at + 40, at + 40 + width));
    if (wanted.has(path)) found.set(path, { mode: mode.toString(8), oid: oid() });
  });
  return isWhole ? { found, isPlain } : null;
}

/** The paths at which an index has a submodule; null where it cannot be read here. */
export function listSubmodules(bytes: Buffer, format: ObjectFormat): string[] | null {
  const found: string[] = [];
  const isWhole = eachEntry(bytes, format, ({ name, end, mode }) => {
    if (mode >>> 12 === submoduleKind) found.push(bytes.toString('latin1', name, end));
  });
  return isWhole ? found : null;
}

function widthOf(format: ObjectFormat): number {
  return format === 'sha1' ? 20 : 32;
}

type RawEntry = {
  /** Where it begins, and where its path begins and ends. */
  readonly at: number;
  readonly name: number;
  readonly end: number;
  readonly mode: number;
  readonly flags: number;
  readonly isIntended: boolean;
};

/** Goes through all entries; false where the index is torn or of a version that is not read here. */
function eachEntry(bytes: Buffer, format: ObjectFormat, visit: (entry: RawEntry) => void): boolean {
  if (!isReadableIndex(bytes)) return false;
  const width = widthOf(format);
  let at = 12;
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    if (at + 42 + width > bytes.length) return false;
    const flags = bytes.readUInt16BE(at + 40 + width);
    const isExtended = (flags & 0x4000) !== 0;
    const name = at + 42 + width + (isExtended ? 2 : 0);
    // A long path's length does not fit where it is kept.
    const end = (flags & 0xfff) < 0xfff ? name + (flags & 0xfff) : bytes.indexOf(0, name);
    if (end < name || end >= bytes.length) return false;
    const isIntended = isExtended && (bytes.readUInt16BE(name - 2) & 0x2000) !== 0;
    visit({ at, name, end, mode: bytes.readUInt32BE(at + 24), flags, isIntended });
    // Padded with at least one zero, to a multiple of eight.
    at += ((end - at) & ~7) + 8;
  }
  return true;
}
