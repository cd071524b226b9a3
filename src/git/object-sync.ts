import { dirname, join } from 'node:path';
import { writeFailed } from '../errors.ts';
import type { Disk } from '../system/files.ts';
import { syncFiles, syncFolders } from '../system/many-files.ts';
import type { Oid } from '../types.ts';

/**
 * Waits for the disk for objects a git has just written without waiting: for each file, for the folder it is in, and
 * for the folder above, since git makes the lower ones. One that is packed was waited for when it was.
 */
export async function syncLooseObjects(disk: Disk, objects: string, oids: Iterable<Oid>): Promise<void> {
  const paths = [...new Set(oids)].map((oid) => join(objects, oid.slice(0, 2), oid.slice(2)));
  try {
    await syncFiles(disk, paths);
    await syncFolders(disk, new Set([objects, ...paths.map((path) => dirname(path))]));
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  }
}
