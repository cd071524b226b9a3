import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCode, writeFailed } from '../errors.ts';
import {
  type Disk,
  inFolder,
  readIfThere,
  removeIfThere,
  statIfThere,
  syncFolder,
  writeAll,
} from '../system/files.ts';
import type { Oid } from '../types.ts';
import { type RefUpdate, refConflict, refLocked } from './engine.ts';
import { isBrokenRef, lockPathOf, readFileRef } from './refs.ts';

/**
 * Moves refs by git's own protocol, without git: take `<ref>.lock` (it must not exist), read the ref again under
 * the lock, write the new value there, wait for the disk, rename it into place. git and this exclude each other.
 */
export async function moveFileRefs(
  disk: Disk,
  commonDir: string,
  updates: readonly RefUpdate[],
): Promise<void> {
  const held = new Set<string>();
  try {
    // In a fixed order, so that two of these never wait for each other.
    const ordered = [...updates].sort((a, b) => (a.ref < b.ref ? -1 : 1));
    const made = ordered.filter(({ to }) => to !== null);
    const removed = ordered.filter(({ to }) => to === null);
    for (const { ref, to } of ordered) {
      held.add(await takeLock(disk, commonDir, ref, () => (to === null ? '' : `${to}\n`)));
    }
    for (const update of ordered) {
      const actual = readFileRef(commonDir, update.ref);
      if (actual !== update.from) throw refConflict(update, actual);
    }
    // What is made is made before anything is taken away: a crash in between leaves both, never neither.
    for (const { ref } of made) {
      putInPlace(disk, commonDir, ref);
      held.delete(lockPathOf(commonDir, ref)); // it became the ref; a lock of that name is somebody else's now
    }
    await syncFolders(disk, commonDir, made);
    if (removed.length > 0) await removeRefs(disk, commonDir, removed);
    await syncFolders(disk, commonDir, removed);
  } catch (error) {
    throw writeFailed('the ref could not be moved', error);
  } finally {
    for (const lock of held) removeIfThere(disk, lock);
  }
}

/** Sets a ref whose file holds no commit id. It is replaced in one step: a crash leaves the broken one or the right one. */
export async function replaceBrokenRef(disk: Disk, commonDir: string, ref: string, to: Oid): Promise<void> {
  const lock = await takeLock(disk, commonDir, ref, () => `${to}\n`);
  try {
    const update = { ref, from: null, to };
    if (!isBrokenRef(commonDir, ref)) throw refConflict(update, readFileRef(commonDir, ref));
    putInPlace(disk, commonDir, ref);
    await syncFolders(disk, commonDir, [update]);
  } catch (error) {
    removeIfThere(disk, lock);
    throw writeFailed('the ref could not be set', error);
  }
}

/** An empty folder may be left where the ref goes, of refs that once were below it. */
function putInPlace(disk: Disk, commonDir: string, ref: string): void {
  const path = join(commonDir, ref);
  if (statIfThere(path)?.isDirectory()) disk.rmdir(path);
  disk.rename(lockPathOf(commonDir, ref), path);
}

async function syncFolders(disk: Disk, commonDir: string, updates: readonly RefUpdate[]): Promise<void> {
  const folders = new Set(updates.map(({ ref }) => dirname(join(commonDir, ref))));
  await Promise.all([...folders].map((folder) => syncFolder(disk, folder)));
}

/** Makes the lock file; what goes into it is asked for once it is held. */
async function takeLock(disk: Disk, commonDir: string, ref: string, content: () => string): Promise<string> {
  const lock = lockPathOf(commonDir, ref);
  let fd: number;
  try {
    fd = await inFolder(disk, dirname(lock), () => disk.open(lock, 'wx', 0o644));
  } catch (error) {
    throw systemCode(error) === 'EEXIST' ? refLocked(ref, lock, error) : error;
  }
  try {
    writeAll(disk, fd, Buffer.from(content(), 'latin1'));
    await disk.sync(fd);
  } catch (error) {
    removeIfThere(disk, lock);
    throw error;
  } finally {
    disk.close(fd);
  }
  return lock;
}

/** Out of packed-refs first, or the old packed value would come back to life. */
async function removeRefs(disk: Disk, commonDir: string, updates: readonly RefUpdate[]): Promise<void> {
  const refs = updates.map(({ ref }) => ref);
  const packed = join(commonDir, 'packed-refs');
  const text = readIfThere(packed)?.toString('latin1') ?? '';
  if (withoutRefs(text, refs) !== text) {
    const rewrite = () => withoutRefs(readFileSync(packed, 'latin1'), refs);
    disk.rename(await takeLock(disk, commonDir, 'packed-refs', rewrite), packed);
    await syncFolder(disk, commonDir);
  }
  for (const ref of refs) removeIfThere(disk, join(commonDir, ref));
}

function withoutRefs(text: string, refs: readonly string[]): string {
  const lines: string[] = [];
  let dropping = false;
  for (const line of text.split('\n')) {
    // `^<oid>` says what the tag on the line before it points to.
    dropping = line.startsWith('^') ? dropping : refs.includes(line.slice(line.indexOf(' ') + 1));
    if (!dropping) lines.push(line);
  }
  return lines.join('\n');
}
