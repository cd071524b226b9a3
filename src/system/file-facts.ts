import {
  type BigIntStats,
  closeSync,
  fstatSync,
  futimesSync,
  openSync,
  readFileSync,
  statSync,
  watch,
} from 'node:fs';
import { systemCode } from '../errors.ts';
import { type Disk, readFrom, writeAll } from './disk.ts';

/** Identifies a file's content without reading it: a replaced file has another mark, a renamed one keeps it. */
export type FileMark = string;

/** The mark of a missing file. */
export const noFile: FileMark = 'none';

function markOf({ ino, size, mtimeNs }: BigIntStats): FileMark {
  return [ino, size, mtimeNs].join(' ');
}

export function markFile(path: string): FileMark {
  try {
    return markOf(statSync(path, { bigint: true }));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return noFile;
    throw error;
  }
}

/**
 * Copies a file and returns the mark of the original; does nothing if there is none.
 * The copy gets the original's time, or a little less: git trusts an index entry only if the file is older than the
 * index.
 */
export function copyWithTime(disk: Disk, from: string, to: string): FileMark {
  let source: number;
  try {
    source = openSync(from, 'r');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return noFile;
    throw error;
  }
  try {
    const stat = fstatSync(source, { bigint: true });
    const copy = disk.open(to, 'wx', 0o644);
    try {
      writeAll(disk, copy, readFileSync(source));
      // A number of seconds is exact to the microsecond.
      const seconds = Number(stat.mtimeNs / 1_000n - 1n) / 1_000_000;
      futimesSync(copy, seconds, seconds);
    } finally {
      disk.close(copy);
    }
    return markOf(stat);
  } finally {
    closeSync(source);
  }
}

export type FileHash = { readonly sha256: string; readonly bytes: number };

const chunkBytes = 1024 * 1024;

/** Hashes a file of any size; null if there is none. */
export function hashFile(path: string): FileHash | null {
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256');
  for (let bytes = 0; ; ) {
    const chunk = readFrom(path, bytes, chunkBytes);
    if (chunk === null) return null;
    if (chunk.bytes.length === 0) return { sha256: hash.digest('hex'), bytes };
    hash.update(chunk.bytes);
    bytes += chunk.bytes.length;
  }
}

/** Calls back when something in these folders changes. Some systems cannot tell, so callers poll as well. */
export function watchFolders(folders: readonly string[], onChange: () => void): () => void {
  const watchers = folders.flatMap((folder) => {
    try {
      const watcher = watch(folder, { persistent: false }, onChange);
      watcher.on('error', () => watcher.close()); // the folder is gone, or the system ran out of watches
      return [watcher];
    } catch {
      return []; // it cannot be watched here
    }
  });
  return () => {
    for (const watcher of watchers) watcher.close();
  };
}
