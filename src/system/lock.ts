import { dirname } from 'node:path';
import { readChecked } from '../checks.ts';
import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';
import { type Clock, type Random, sleep } from './clock.ts';
import { type Disk, inFolder, readTextIfThere, removeIfThere, statIfThere, writeAll } from './files.ts';
import { checkProcess, identifyThisProcess, isProcessIdentity, type ProcessIdentity } from './process.ts';

export type LockPorts = { readonly disk: Disk; readonly clock: Clock; readonly random: Random };

/** How long a writer waits for one holder before it goes on without the lock. */
const patience: Millis = 10_000;
/** How long it queues at all, however fast the lock changes hands. */
const longestQueue: Millis = 60_000;
/** A holder that cannot be checked (another container) is believed this long. */
const trustElsewhere: Millis = 5_000;

/**
 * Queues for a lock file, runs `work`, and lets go.
 * It is for speed only: what must never go wrong is guarded by the compare-and-swap on the ref,
 * so a holder that is dead, or silent for too long, is passed over rather than waited for.
 */
export async function withLock<T>(ports: LockPorts, path: string, work: () => Promise<T>): Promise<T> {
  const endTurn = await awaitTurn(path);
  try {
    const letGo = await acquire(ports, path);
    try {
      return await work();
    } finally {
      letGoQuietly(letGo);
    }
  } finally {
    endTurn();
  }
}

/** What the work came to stands: an error here would be taken for its failure. Once this process is gone, so is the lock. */
function letGoQuietly(letGo: () => void): void {
  try {
    letGo();
  } catch (error) {
    if (systemCode(error) === null) throw error;
  }
}

/** The last in each queue of this process, by the lock's path. */
const turns = new Map<string, Promise<void>>();

/**
 * Waits for the others of this process: hundreds that all looked for the same file would only be in one another's way.
 * Who takes too long is passed over here as well. Returns what ends the turn.
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
  const timer = setTimeout(end, patience);
  timer.unref();
  return () => {
    clearTimeout(timer);
    end();
    if (turns.get(path) === last) turns.delete(path);
  };
}

/** A holder that cannot be checked, and whose work may take long, is believed this long. */
const trustLongWork: Millis = 3_600_000;

/** Runs `work` where nobody else holds the lock, and answers whether it did. Nobody waits here. */
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

/** How often a waiting writer looks whether the holder still lives; whether the lock is free it looks all the time. */
const holderCheckInterval: Millis = 50;

async function acquire(ports: LockPorts, path: string): Promise<() => void> {
  const { disk, clock } = ports;
  const mine = nameHolder(ports);
  const began = clock.elapsed();
  let checkedAt = Number.NEGATIVE_INFINITY;
  // Patience is with one holder: a lock that changes hands is in use, however long the queue.
  let seen: { holder: string | null; since: Millis } = { holder: null, since: 0 };
  for (;;) {
    if (statIfThere(path) === null && (await take(disk, path, mine))) return () => release(disk, path, mine);
    const waited = clock.elapsed() - began;
    if (waited - seen.since > patience || waited > longestQueue) return () => {};
    if (waited - checkedAt > holderCheckInterval) {
      checkedAt = waited;
      const holder = readTextIfThere(path);
      if (holder !== null && holder !== seen.holder) seen = { holder, since: waited };
      if (holder !== null && isAbandoned(holder, waited - seen.since)) await clear(ports, path, holder);
    }
    await sleep(4);
  }
}

/** Makes the lock file; false where somebody else was faster. */
async function take(disk: Disk, path: string, mine: string): Promise<boolean> {
  let fd: number;
  try {
    fd = await inFolder(disk, dirname(path), () => disk.open(path, 'wx', 0o644));
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

/** Is nobody there any more? `unchanged` is how long this very text was seen in the lock. */
function isAbandoned(holder: string, unchanged: Millis, trust = trustElsewhere): boolean {
  const identity = parseHolder(holder);
  // It is empty for the instant between making and writing it; empty for long, its maker died there.
  if (identity === null) return unchanged > 1_000;
  const fate = checkProcess(identity);
  return fate === 'dead' || (fate === 'elsewhere' && unchanged > trust);
}

/** Whoever held this lock is gone; null where it is free, or held. One held in another container is believed a minute. */
export function findDeadHolder(path: string, now: Millis): { readonly pid: number | null } | null {
  const stat = statIfThere(path);
  const holder = stat && readTextIfThere(path);
  if (!stat || holder === null) return null;
  const age = now - stat.mtimeMs;
  const identity = parseHolder(holder);
  if (identity === null) return age > 10_000 ? { pid: null } : null;
  const fate = checkProcess(identity);
  return fate === 'dead' || (fate === 'elsewhere' && age > 60_000) ? { pid: identity.pid } : null;
}

/** Takes such a lock away. */
export async function clearDeadHolder(ports: LockPorts, path: string): Promise<void> {
  const holder = readTextIfThere(path);
  if (holder !== null && findDeadHolder(path, ports.clock.now())) await clear(ports, path, holder);
}

/** Null where it is torn or empty: nobody to ask. */
function parseHolder(text: string): ProcessIdentity | null {
  return readChecked(text.split('\n')[0] ?? '', isProcessIdentity);
}

/** Takes an abandoned lock away, and puts it back if somebody alive got hold of it meanwhile. */
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
