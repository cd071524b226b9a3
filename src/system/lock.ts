import { dirname } from 'node:path';
import { readChecked } from '../checks.ts';
import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';
import { type Clock, type Random, sleep } from './clock.ts';
import { type Disk, readTextIfThere, removeIfThere, statIfThere, withFolder, writeAll } from './disk.ts';
import {
  checkProcess,
  identifyThisProcess,
  isProcessIdentity,
  type ProcessIdentity,
} from './process/identity.ts';

type LockPorts = { readonly disk: Disk; readonly clock: Clock; readonly random: Random };

/** How long to wait for one holder before working without the lock. */
const maxWaitPerHolder: Millis = 10_000;
/** How long to wait in total, however often the lock changes hands. */
const maxWait: Millis = 60_000;
/** How long to trust a holder in another container, which cannot be checked. */
const trustElsewhere: Millis = 5_000;

/**
 * Waits for a lock file, runs `work`, and releases the lock.
 * The lock only saves work: the compare-and-swap on the ref guarantees correctness. So a holder that is dead, or takes
 * too long, is ignored.
 */
export async function withLock<T>(ports: LockPorts, path: string, work: () => Promise<T>): Promise<T> {
  const endTurn = await awaitTurn(path);
  try {
    const releaseLock = await acquire(ports, path);
    try {
      return await work();
    } finally {
      releaseQuietly(releaseLock);
    }
  } finally {
    endTurn();
  }
}

/** A failed release must not look like failed work. The lock becomes stale when this process ends. */
function releaseQuietly(releaseLock: () => void): void {
  try {
    releaseLock();
  } catch (error) {
    if (systemCode(error) === null) throw error;
  }
}

/** The end of each queue in this process, by lock path. */
const turns = new Map<string, Promise<void>>();

/**
 * Waits for the other callers in this process, so that hundreds of them do not poll for the same file. A turn that
 * takes too long is skipped here as well. Returns a function that ends the turn.
 */
async function awaitTurn(path: string): Promise<() => void> {
  const before = turns.get(path);
  let end = () => {};
  const mine = new Promise<void>((resolve) => {
    end = resolve;
  });
  const last = before ? before.then(() => mine) : mine;
  turns.set(path, last);
  await before;
  const timer = setTimeout(end, maxWaitPerHolder);
  timer.unref();
  return () => {
    clearTimeout(timer);
    end();
    if (turns.get(path) === last) turns.delete(path);
  };
}

/** How long to trust a holder that cannot be checked and may work for long. */
const trustLongWork: Millis = 3_600_000;

/** Runs `work` if the lock is free, and returns whether it did. Never waits. */
export async function tryLock(ports: LockPorts, path: string, work: () => Promise<void>): Promise<boolean> {
  const { disk, clock } = ports;
  const mine = nameHolder(ports);
  if (!(await take(disk, path, mine))) {
    const holder = readTextIfThere(path);
    const unchanged = clock.now() - (statIfThere(path)?.mtimeMs ?? 0);
    if (holder !== null && !isAbandoned(holder, unchanged, trustLongWork)) return false;
    if (holder !== null) await clear(ports, path, holder);
    if (!(await take(disk, path, mine))) return false;
  }
  try {
    await work();
  } finally {
    release(disk, path, mine);
  }
  return true;
}

function nameHolder({ random }: LockPorts): string {
  return `${JSON.stringify(identifyThisProcess())}\n${random.id(8)}`;
}

function release(disk: Disk, path: string, mine: string): void {
  if (readTextIfThere(path) === mine) removeIfThere(disk, path);
}

/** How often to check whether the holder is alive; whether the lock is free is checked every time. */
const holderCheckInterval: Millis = 50;

async function acquire(ports: LockPorts, path: string): Promise<() => void> {
  const { disk, clock } = ports;
  const mine = nameHolder(ports);
  const began = clock.elapsed();
  let checkedAt = Number.NEGATIVE_INFINITY;
  // Waiting is limited per holder: a lock that changes hands is in use, however long the queue.
  let seen: { holder: string | null; since: Millis } = { holder: null, since: 0 };
  for (;;) {
    if (statIfThere(path) === null && (await take(disk, path, mine))) return () => release(disk, path, mine);
    const waited = clock.elapsed() - began;
    if (waited - seen.since > maxWaitPerHolder || waited > maxWait) return () => {};
    if (waited - checkedAt > holderCheckInterval) {
      checkedAt = waited;
      const holder = readTextIfThere(path);
      if (holder !== null && holder !== seen.holder) seen = { holder, since: waited };
      if (holder !== null && isAbandoned(holder, waited - seen.since)) await clear(ports, path, holder);
    }
    await sleep(4);
  }
}

/** Makes the lock file; false if another process was faster. */
async function take(disk: Disk, path: string, mine: string): Promise<boolean> {
  let fd: number;
  try {
    fd = await withFolder(disk, dirname(path), () => disk.open(path, 'wx', 0o644));
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    writeAll(disk, fd, Buffer.from(mine));
  } finally {
    disk.close(fd);
  }
  return true;
}

/** `unchanged` is how long the lock has held this very text. */
function isAbandoned(holder: string, unchanged: Millis, trust = trustElsewhere): boolean {
  const identity = parseHolder(holder);
  // A lock is empty for an instant, until its text is written. If it stays empty, its maker died.
  if (identity === null) return unchanged > 1_000;
  const status = checkProcess(identity);
  return status === 'dead' || (status === 'elsewhere' && unchanged > trust);
}

/** Finds the dead holder of a lock; null if the lock is free or in use. Trusts another container for a minute. */
export function findDeadHolder(path: string, now: Millis): { readonly pid: number | null } | null {
  const stat = statIfThere(path);
  const holder = stat && readTextIfThere(path);
  if (!stat || holder === null) return null;
  const age = now - stat.mtimeMs;
  const identity = parseHolder(holder);
  if (identity === null) return age > 10_000 ? { pid: null } : null;
  const status = checkProcess(identity);
  return status === 'dead' || (status === 'elsewhere' && age > 60_000) ? { pid: identity.pid } : null;
}

/** Removes a lock whose holder is dead. */
export async function clearDeadHolder(ports: LockPorts, path: string): Promise<void> {
  const holder = readTextIfThere(path);
  if (holder !== null && findDeadHolder(path, ports.clock.now())) await clear(ports, path, holder);
}

/** Null if the text is incomplete or empty. */
function parseHolder(text: string): ProcessIdentity | null {
  return readChecked(text.split('\n')[0] ?? '', isProcessIdentity);
}

/** Removes an abandoned lock, and puts it back if a live process has taken it in the meantime. */
async function clear({ disk, random }: LockPorts, path: string, holder: string): Promise<void> {
  const aside = `${path}.${random.id(8)}`;
  try {
    disk.rename(path, aside);
    if (readTextIfThere(aside) !== holder) disk.link(aside, path);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(systemCode(error) ?? '')) throw error;
  } finally {
    removeIfThere(disk, aside);
  }
}
