import { parseOid } from '../../ids.ts';
import { readIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';
import type { GitEngine, ObjectFormat } from '../engine.ts';
import type { Repository } from '../repository.ts';
import { gitFailed } from '../run-git.ts';
import { askOnIndex, runOnIndex } from './index-commands.ts';
import { type LeftOut, leaveOut } from './work-tree-changes.ts';

/* Reads git's index file, as far as a snapshot needs it. Paths are bytes (latin1). */

export type IndexEntry = { readonly mode: string; readonly oid: Oid };

export type IndexEntries = {
  /** The entries at the requested paths; paths without one are not in the index. */
  readonly found: ReadonlyMap<string, IndexEntry>;
  /** Whether all entries can be in a tree: none is a conflict, a whole folder or only intended to be added. */
  readonly isPlain: boolean;
};

const folderKind = 0o04;
const submoduleKind = 0o16;

/** Tells whether `findInIndex` can read an index; version 4 compresses its paths. */
export function isReadableIndex(bytes: Buffer): boolean {
  return (
    bytes.length >= 12 && bytes.toString('latin1', 0, 4) === 'DIRC' && [2, 3].includes(bytes.readUInt32BE(4))
  );
}

/** Finds paths in an index; null if it is damaged or of an unsupported version. */
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

/** Lists the submodules in an index; null if it is damaged or of an unsupported version. */
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
  /** The offsets of the entry, and of the start and end of its path. */
  readonly at: number;
  readonly name: number;
  readonly end: number;
  readonly mode: number;
  readonly flags: number;
  readonly isIntended: boolean;
};

/** Visits all entries; false if the index is damaged or of an unsupported version. */
function eachEntry(bytes: Buffer, format: ObjectFormat, visit: (entry: RawEntry) => void): boolean {
  if (!isReadableIndex(bytes)) return false;
  const width = widthOf(format);
  let at = 12;
  for (let left = bytes.readUInt32BE(8); left > 0; left--) {
    if (at + 42 + width > bytes.length) return false;
    const flags = bytes.readUInt16BE(at + 40 + width);
    const isExtended = (flags & 0x4000) !== 0;
    const name = at + 42 + width + (isExtended ? 2 : 0);
    // The length of a long path does not fit into the flags.
    const end = (flags & 0xfff) < 0xfff ? name + (flags & 0xfff) : bytes.indexOf(0, name);
    if (end < name || end >= bytes.length) return false;
    const isIntended = isExtended && (bytes.readUInt16BE(name - 2) & 0x2000) !== 0;
    visit({ at, name, end, mode: bytes.readUInt32BE(at + 24), flags, isIntended });
    // Padded with at least one zero to a multiple of eight.
    at += ((end - at) & ~7) + 8;
  }
  return true;
}

/** Lists the submodules in an index. A snapshot keeps only the commit that the index names for each. */
export async function findSubmodules(
  { repository, git }: { readonly repository: Repository; readonly git: GitEngine },
  index: string,
): Promise<readonly string[]> {
  const bytes = readIfThere(index);
  if (bytes === null) return []; // nothing was ever staged
  const found = listSubmodules(bytes, git.format);
  if (found !== null) return found;
  const environment = { GIT_INDEX_FILE: index };
  const result = await runOnIndex(repository, ['ls-files', '-z', '--stage'], environment);
  return [...result.stdout.matchAll(/160000 [0-9a-f]+ \d\t([^\0]+)\0/g)].map(([, path = '']) => path);
}

/** Lists the submodules that contain more than the commit that the user's index names. */
export async function listDirtySubmodules(
  repository: Repository,
  paths: readonly string[],
): Promise<LeftOut[]> {
  if (paths.length === 0) return [];
  const status = ['status', '--porcelain=v2', '-z', '--no-renames', '--ignore-submodules=none'];
  const args = ['--literal-pathspecs', ...status, '--', ...paths];
  const result = await askOnIndex(repository, args, {});
  if (result.status !== 0) throw gitFailed(status, result);
  // One letter each for new commits, changed files and new files, or a dot.
  const entries = result.stdout.matchAll(/(?:^|\0)1 .. S([C.])[M.][U.] (?:\S+ ){5}([^\0]+)/g);
  return [...entries].flatMap(([entry, commits, path = '']) => {
    if (entry.includes(' S... ')) return [];
    return [leaveOut(path, commits === 'C' ? 'submodule with new commits' : 'submodule with changes inside')];
  });
}
