import { fchmodSync, fchownSync, fstatSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Millis } from '../types.ts';
import {
  type Disk,
  listFolder,
  readIfThere,
  removeIfThere,
  statIfThere,
  syncFolder,
  writeAll,
} from './files.ts';

/** What a write may take at the very most; what is older was left behind by a process that died. */
const longestWrite: Millis = 60_000;

/**
 * Puts new bytes in the place of a file of the user's, in one step, with its mode and owner;
 * only if it still holds what is expected, or, where null is, is not there. Says whether it did.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  { expected, bytes }: { readonly expected: Uint8Array | null; readonly bytes: Uint8Array },
  random: string,
): Promise<boolean> {
  const before = statIfThere(path);
  if ((before === null) !== (expected === null)) return false;
  const temporary = `${temporaryPrefix(path)}${random}`;
  let isReplaced = false;
  try {
    await writeLike(disk, temporary, bytes, before);
    // Nothing is waited for in between: whoever writes the file now has the shortest time to be overwritten.
    if (expected === null ? statIfThere(path) === null : readIfThere(path)?.equals(expected)) {
      disk.rename(temporary, path);
      isReplaced = true;
    }
  } finally {
    if (!isReplaced) removeIfThere(disk, temporary);
  }
  if (isReplaced) await syncFolder(disk, dirname(path));
  return isReplaced;
}

/** Removes what dead processes left beside a file they were replacing. */
export function removeLeftovers(disk: Disk, path: string, now: Millis): void {
  const folder = dirname(path);
  const prefix = basename(temporaryPrefix(path));
  for (const name of listFolder(folder).filter((one) => one.startsWith(prefix))) {
    const age = now - (statIfThere(join(folder, name))?.mtimeMs ?? now);
    if (age > longestWrite) removeIfThere(disk, join(folder, name));
  }
}

function temporaryPrefix(path: string): string {
  return join(dirname(path), `.${basename(path)}.orch-`);
}

async function writeLike(disk: Disk, path: string, bytes: Uint8Array, model: Stats | null): Promise<void> {
  const fd = disk.open(path, 'wx', model ? 0o600 : 0o666);
  try {
    if (model) {
      const { uid, gid } = fstatSync(fd);
      // The owner first: changing it takes bits off the mode.
      if (uid !== model.uid || gid !== model.gid) fchownSync(fd, model.uid, model.gid);
      fchmodSync(fd, model.mode & 0o7777);
    }
    writeAll(disk, fd, bytes);
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}
