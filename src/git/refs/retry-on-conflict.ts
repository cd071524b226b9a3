import { join } from 'node:path';
import { hasCode } from '../../errors.ts';
import { type Clock, sleep } from '../../system/clock.ts';
import { type Disk, removeIfThere, statIfThere } from '../../system/disk.ts';
import { listFilesBelow } from '../../system/files-in-bulk.ts';
import type { Millis } from '../../types.ts';

export type RefWaitPorts = {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly report: (what: string) => void;
};

const usualConflicts = 40;
/** A lock on one of our refs that stays the same this long was left by a process that died. */
const staleLockAge: Millis = 10_000;
/** How long to wait for a lock that is taken again and again. */
const maxLockWait: Millis = 30_000;

/**
 * Runs an attempt, and repeats it while other processes move its ref first. Each attempt reads the ref itself, so that
 * it builds on what the other process wrote. Waits for a locked ref.
 */
export async function retryOnConflict<T>(
  ports: RefWaitPorts,
  attempt: () => Promise<T>,
  maxConflicts = usualConflicts,
): Promise<T> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || conflicts >= maxConflicts) throw error;
      const { lock } = error.data;
      if (typeof lock === 'string' && !(await waitForRefLock(ports, lock))) throw error;
    }
  }
}

/**
 * Waits until a ref's lock is gone, and returns whether to try again. Removes a stale lock on one of our own refs;
 * other locks are not ours to touch.
 */
export async function waitForRefLock({ disk, clock, report }: RefWaitPorts, lock: string): Promise<boolean> {
  const began = clock.elapsed();
  let unchangedSince = began;
  for (let before = markLock(lock); ; await sleep(20)) {
    const now = clock.elapsed();
    const after = markLock(lock);
    if (after === null) return true;
    if (after !== before) unchangedSince = now;
    before = after;
    if (now - began > maxLockWait) return false;
    if (now - unchangedSince < staleLockAge) continue;
    if (!lock.replaceAll('\\', '/').includes('/refs/orchestration')) return false;
    removeIfThere(disk, lock);
    const seconds = Math.round((now - unchangedSince) / 1_000);
    report(`removed the stale lock ${lock}: it had not changed for ${seconds} seconds`);
    return true;
  }
}

/** A stale lock on one of our refs; the mark tells it from a later lock with the same name. */
export type StaleRefLock = { readonly path: string; readonly mark: string; readonly age: Millis };

/** Lists the locks on our refs that dead processes left behind. */
export function listStaleRefLocks(commonDir: string, now: Millis): StaleRefLock[] {
  return ['orchestration', 'orchestration-local']
    .flatMap((name) => listFilesBelow(join(commonDir, 'refs', name)))
    .filter((path) => path.endsWith('.lock'))
    .flatMap((path) => {
      const stat = statIfThere(path);
      const mark = markLock(path);
      const age = stat ? now - stat.mtimeMs : 0;
      return mark && age > staleLockAge ? [{ path, mark, age }] : [];
    });
}

/** Removes a stale lock, if it has not changed since it was listed. */
export function removeStaleRefLock(disk: Disk, { path, mark }: StaleRefLock): void {
  if (markLock(path) === mark) removeIfThere(disk, path);
}

function markLock(lock: string): string | null {
  const stat = statIfThere(lock);
  return stat && `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}
