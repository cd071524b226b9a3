import { systemCode } from '../errors.ts';
import { type Disk, makeIfMissing, statIfThere, syncFolder } from './files.ts';

/* What is done to many files, a part of them at a time: however many there are, few are open at once. */

/** So many at the most: some systems allow a process 256. */
const openAtOnce = 64;

/** A list in parts of as many as may be open at once. */
export function* inParts<T>(items: Iterable<T>): Generator<T[]> {
  const all = [...items];
  for (let at = 0; at < all.length; at += openAtOnce) yield all.slice(at, at + openAtOnce);
}

/** Waits until the entries of folders are on disk. */
export async function syncFolders(disk: Disk, paths: Iterable<string>): Promise<void> {
  for (const part of inParts(paths)) await Promise.all(part.map((path) => syncFolder(disk, path)));
}

/** Waits for the disk for files that others wrote; one that is gone by now needs no waiting. */
export async function syncFiles(disk: Disk, paths: Iterable<string>): Promise<void> {
  for (const part of inParts(paths)) await Promise.all(part.map((path) => syncIfThere(disk, path)));
}

async function syncIfThere(disk: Disk, path: string): Promise<void> {
  let fd: number;
  try {
    fd = disk.open(path, 'r');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    throw error;
  }
  try {
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}

/** Makes those of several folders that are missing; were there any? */
export function makeMissing(disk: Disk, paths: Iterable<string>): boolean {
  const missing = [...paths].filter((path) => statIfThere(path) === null);
  for (const path of missing) makeIfMissing(disk, path);
  return missing.length > 0;
}
