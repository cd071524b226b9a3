import { closeSync, fstatSync, futimesSync, openSync, readFileSync, statSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { type Disk, writeAll } from './files.ts';

/** Tells one content of a file from the next, without reading it: a file that is replaced gets another. */
export type FileMark = string;

/** What the mark of a file that is not there is. */
export const noFile: FileMark = 'none';

type Marked = { ino: bigint; size: bigint; mtimeNs: bigint };

/** A file that is renamed keeps it. */
function markOf({ ino, size, mtimeNs }: Marked): FileMark {
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
 * Copies a file to a new one and returns the mark of what was copied; nothing is made where there is none.
 * The copy keeps the time of the original, or a little before it: git trusts what it knows of a file only if the file
 * is older than the index that says so.
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
      // Whole microseconds are what a number of seconds can hold.
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
