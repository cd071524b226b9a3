import { dirname } from 'node:path';
import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';
import { type Clock, type Random, sleep } from './clock.ts';
import { type Disk, makeFolder, readTextIfThere, removeIfThere, writeAll } from './files.ts';
import { checkProcess, identifyThisProcess, type ProcessIdentity } from './process.ts';

export type LockPorts = { readonly disk: Disk; readonly clock: Clock; readonly random: Random };

/** How long a writer queues before it goes on without the lock. */
const patience: Millis = 10_000;
/** A holder that cannot be checked (another container) is believed this long. */
const trustElsewhere: Millis = 5_000;

/**
 * Queues for a lock file, runs `work`, and lets go.
 * It is for speed only: what must never go wrong is guarded by the compare-and-swap on the ref,
 * so a holder that is dead, or silent for too long, is passed over rather than waited for.
 */
export async function withLock<T>(ports: LockPorts, path: string, work: () => Promise<T>): Promise<T> {
  const release = await acquire(ports, path);
  try {
    return await work();
  } finally {
    release();
  }
}

async function acquire(ports: LockPorts, path: string): Promise<() => void> {
  const { disk, clock } = ports;
  const mine = `${JSON.stringify(identifyThisProcess())}\n${ports.random.id(8)}`;
  const began = clock.elapsed();
  let made = false;
  for (let attempt = 0; ; attempt++) {
    try {
      take(disk, path, mine);
      return () => {
        if (readTextIfThere(path) === mine) removeIfThere(disk, path);
      };
    } catch (error) {
      if (systemCode(error) === 'ENOENT' && !made) {
        await makeFolder(disk, dirname(path));
        made = true;
        continue;
      }
      if (systemCode(error) !== 'EEXIST') throw error;
    }
    const waited = clock.elapsed() - began;
    if (waited > patience) return () => {};
    const holder = readTextIfThere(path);
    if (holder !== null && isAbandoned(holder, waited)) await clear(ports, path, holder);
    else await sleep(Math.min(1 + attempt / 4, 8));
  }
}

function take(disk: Disk, path: string, mine: string): void {
  const fd = disk.open(path, 'wx', 0o644);
  try {
    writeAll(disk, fd, Buffer.from(mine));
  } finally {
    disk.close(fd);
  }
}

function isAbandoned(holder: string, waited: Millis): boolean {
  const identity = parseHolder(holder);
  // It is empty for the instant between making and writing it; empty for long, its maker died there.
  if (identity === null) return waited > 1_000;
  const fate = checkProcess(identity);
  return fate === 'dead' || (fate === 'elsewhere' && waited > trustElsewhere);
}

function parseHolder(text: string): ProcessIdentity | null {
  try {
    // Written by `acquire` above; a torn one does not parse.
    return JSON.parse(text.split('\n')[0] ?? '') as ProcessIdentity;
  } catch {
    return null; // torn or empty: nobody to ask
  }
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
