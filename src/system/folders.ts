import { accessSync, constants, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { type Disk, readFolder, removeFolderIfThere, removeIfThere } from './files.ts';

/** The paths of all files below a folder, sorted; none where there is no folder. */
export function listFilesBelow(folder: string): string[] {
  return walkFolder(folder).sort();
}

/** Folder by folder: one that disappears meanwhile hides none of the others. */
function walkFolder(folder: string): string[] {
  return readFolder(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? walkFolder(path) : [path];
  });
}

/** Removes a folder with all that is in it, as far as it is still there. A link is removed, and never followed. */
export function removeTree(disk: Disk, path: string): void {
  for (const entry of readFolder(path)) {
    if (entry.isDirectory()) removeTree(disk, join(path, entry.name));
    else removeIfThere(disk, join(path, entry.name));
  }
  removeFolderIfThere(disk, path);
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
