import { join } from 'node:path';
import { type Clock, sleep } from '../system/clock.ts';
import { type Disk, removeIfThere, statIfThere } from '../system/files.ts';
import { listFilesBelow } from '../system/folders.ts';
import type { Millis } from '../types.ts';

type Ports = { readonly disk: Disk; readonly clock: Clock; readonly report: (what: string) => void };

/** A lock on one of our refs that does not move for this long belongs to nobody. */
const staleLockAge: Millis = 10_000;
/** One that is taken again and again is waited for this long. */
const maxLockWait: Millis = 30_000;

/**
 * Waits for a ref's lock to go, and says whether to try again. One below our own refs that stays the same for ten
 * seconds was left by a process that died: it is removed. A lock of anything else is not ours to touch.
 */
export async function waitForRefLock({ disk, clock, report }: Ports, lock: string): Promise<boolean> {
  const began = clock.elapsed();
  let unchangedSince = began;
  for (let before = describeLock(lock); ; await sleep(20)) {
    const now = clock.elapsed();
    const after = describeLock(lock);
    if (after === null) return true;
    if (after !== before) unchangedSince = now;
    before = after;
    if (now - began > maxLockWait) return false;
    if (now - unchangedSince < staleLockAge) continue;
    if (!lock.replaceAll('\\', '/').includes('/refs/orchestration')) return false;
    removeIfThere(disk, lock);
    report(
      `removed ${lock}: nobody had touched it for ${Math.round((now - unchangedSince) / 1_000)} seconds`,
    );
    return true;
  }
}

/** A lock below our own refs that nobody has touched for ten seconds, and what tells it from the next. */
export type StaleRefLock = { readonly path: string; readonly mark: string; readonly age: Millis };

/** The locks that processes left below our refs when they died. */
export function listStaleRefLocks(commonDir: string, now: Millis): StaleRefLock[] {
  const below = ['orchestration', 'orchestration-local'].map((name) => join(commonDir, 'refs', name));
  return below
    .flatMap((folder) => listFilesBelow(folder))
    .filter((path) => path.endsWith('.lock'))
    .flatMap((path) => {
      const stat = statIfThere(path);
      const mark = describeLock(path);
      const age = stat ? now - stat.mtimeMs : 0;
      return mark && age > staleLockAge ? [{ path, mark, age }] : [];
    });
}

/** Removes such a lock, if it is still the same. */
export function removeStaleRefLock(disk: Disk, { path, mark }: StaleRefLock): void {
  if (describeLock(path) === mark) removeIfThere(disk, path);
}

/** Tells one lock from the next of the same name. */
function describeLock(lock: string): string | null {
  const stat = statIfThere(lock);
  return stat && `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}
