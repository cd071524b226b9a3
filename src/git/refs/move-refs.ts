import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemCode, writeFailed } from '../../errors.ts';
import {
  type Disk,
  readIfThere,
  removeIfThere,
  statIfThere,
  syncFolder,
  withFolder,
  writeAll,
} from '../../system/disk.ts';
import { syncFolders } from '../../system/files-in-bulk.ts';
import type { Oid } from '../../types.ts';
import { type RefUpdate, refConflict, refLocked } from '../engine.ts';
import { isBrokenRef, lockPathOf, readFileRef } from './file-refs.ts';

/**
 * Moves refs with git's own protocol: create `<ref>.lock` (it must not exist), read the ref again under the lock, write
 * the new value into the lock, sync it, and rename it into place. This and git exclude each other.
 */
export async function moveFileRefs(
  disk: Disk,
  commonDir: string,
  updates: readonly RefUpdate[],
): Promise<void> {
  const held = new Set<string>();
  try {
    // In a fixed order, so that two processes never wait for each other.
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
    // Create before removing: a crash in between leaves both refs, never neither.
    for (const { ref } of made) {
      putInPlace(disk, commonDir, ref);
      held.delete(lockPathOf(commonDir, ref)); // it became the ref; a new lock belongs to another process
    }
    await syncRefFolders(disk, commonDir, made);
    if (removed.length > 0) await removeRefs(disk, commonDir, removed);
    await syncRefFolders(disk, commonDir, removed);
  } catch (error) {
    throw writeFailed('the ref could not be moved', error);
  } finally {
    for (const lock of held) removeIfThere(disk, lock);
  }
}

/** Sets a ref whose file holds no commit id, in one step: a crash leaves the broken ref or the new one. */
export async function replaceBrokenRef(disk: Disk, commonDir: string, ref: string, to: Oid): Promise<void> {
  const lock = await takeLock(disk, commonDir, ref, () => `${to}\n`);
  try {
    const update = { ref, from: null, to };
    if (!isBrokenRef(commonDir, ref)) throw refConflict(update, readFileRef(commonDir, ref));
    putInPlace(disk, commonDir, ref);
    await syncRefFolders(disk, commonDir, [update]);
  } catch (error) {
    removeIfThere(disk, lock);
    throw writeFailed('the ref could not be set', error);
  }
}

/** Refs that once were below this name may have left an empty folder. */
function putInPlace(disk: Disk, commonDir: string, ref: string): void {
  const path = join(commonDir, ref);
  if (statIfThere(path)?.isDirectory()) disk.rmdir(path);
  disk.rename(lockPathOf(commonDir, ref), path);
}

function syncRefFolders(disk: Disk, commonDir: string, updates: readonly RefUpdate[]): Promise<void> {
  return syncFolders(disk, new Set(updates.map(({ ref }) => dirname(join(commonDir, ref)))));
}

/** Creates the lock file; calls `content` only once the lock is held. */
async function takeLock(disk: Disk, commonDir: string, ref: string, content: () => string): Promise<string> {
  const lock = lockPathOf(commonDir, ref);
  let fd: number;
  try {
    fd = await withFolder(disk, dirname(lock), () => disk.open(lock, 'wx', 0o644));
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

/** Removes from packed-refs first, or the old packed value would reappear. */
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
    // A `^<oid>` line belongs to the tag on the line before it.
    dropping = line.startsWith('^') ? dropping : refs.includes(line.slice(line.indexOf(' ') + 1));
    if (!dropping) lines.push(line);
  }
  return lines.join('\n');
}
