import { accessSync, constants, existsSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { type Disk, removeIfThere } from './files.ts';

/** The paths of all files below a folder, sorted; none where there is no folder. */
export function listFilesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** Removes a folder with all that is in it. A link is removed, and never followed. */
export function removeTree(disk: Disk, path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(disk, join(path, entry.name));
    else removeIfThere(disk, join(path, entry.name));
  }
  disk.rmdir(path);
}

/** How much more the disk that holds a file or folder takes, in bytes. */
export function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

/** May this process write into a folder? */
export function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false; // whatever keeps it from it
  }
}
