import { accessSync, constants, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { systemCode } from '../errors.ts';
import {
  type Disk,
  makeIfMissing,
  readFolder,
  removeFolderIfThere,
  removeIfThere,
  statIfThere,
  syncFolder,
} from './disk.ts';

/* Work on many files, of which only a few are open at once. */

/** Some systems allow a process only 256 open files. */
const openAtOnce = 64;

/** Splits a list into batches, by default of as many files as may be open at once. */
export function* inBatches<T>(items: Iterable<T>, size = openAtOnce): Generator<T[]> {
  const all = [...items];
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}

/** Waits until the entries of these folders are on disk. */
export async function syncFolders(disk: Disk, paths: Iterable<string>): Promise<void> {
  for (const part of inBatches(paths)) await Promise.all(part.map((path) => syncFolder(disk, path)));
}

/** Syncs files that other processes wrote; skips those that are gone. */
export async function syncFiles(disk: Disk, paths: Iterable<string>): Promise<void> {
  for (const part of inBatches(paths)) await Promise.all(part.map((path) => syncIfThere(disk, path)));
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

/** Makes the folders that are missing, and tells whether there were any. */
export function makeMissingFolders(disk: Disk, paths: Iterable<string>): boolean {
  const missing = [...paths].filter((path) => statIfThere(path) === null);
  for (const path of missing) makeIfMissing(disk, path);
  return missing.length > 0;
}

/** Lists the paths of all files below a folder, sorted; none if there is no folder. */
export function listFilesBelow(folder: string): string[] {
  return walkFolder(folder).sort();
}

/** Folder by folder, so that one that disappears does not hide the others. */
function walkFolder(folder: string): string[] {
  return readFolder(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? walkFolder(path) : [path];
  });
}

/** Removes a folder with everything in it. Links are removed, never followed. */
export function removeTree(disk: Disk, path: string): void {
  for (const entry of readFolder(path)) {
    if (entry.isDirectory()) removeTree(disk, join(path, entry.name));
    else removeIfThere(disk, join(path, entry.name));
  }
  removeFolderIfThere(disk, path);
}

/** Reads how many bytes are free on the disk that holds a path. */
export function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** Tells whether this process may write to a folder. */
export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // for whatever reason
  }
}
