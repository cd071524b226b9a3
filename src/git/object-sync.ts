import { dirname, join } from 'node:path';
import { systemCode, writeFailed } from '../errors.ts';
import { type Disk, syncFolder } from '../system/files.ts';
import type { Oid } from '../types.ts';

/** So many files are open at once. */
const atOnce = 100;

/**
 * Waits for the disk for objects a git has just written without waiting: for each file, for the folder it is in, and
 * for the folder above, since git makes the lower ones. One that is packed was waited for when it was.
 */
export async function syncLooseObjects(disk: Disk, objects: string, oids: Iterable<Oid>): Promise<void> {
  const paths = [...new Set(oids)].map((oid) => join(objects, oid.slice(0, 2), oid.slice(2)));
  try {
    for (let at = 0; at < paths.length; at += atOnce) {
      await Promise.all(paths.slice(at, at + atOnce).map((path) => syncIfThere(disk, path)));
    }
    const folders = new Set([objects, ...paths.map((path) => dirname(path))]);
    await Promise.all([...folders].map((folder) => syncFolder(disk, folder)));
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  }
}

async function syncIfThere(disk: Disk, path: string): Promise<void> {
  let fd: number;
  try {
    fd = disk.open(path, 'r');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return; // packed
    throw error;
  }
  try {
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}
