import type { GitEngine } from '../../src/git/engine.ts';
import { type Disk, realDisk } from '../../src/system/disk.ts';

/** What the operation at which a process dies throws, and every one after it: dead processes write nothing. */
export class Died extends Error {
  override readonly name = 'Died';
}

export type CrashPlan = {
  /** The operation to die at, counted from 1. */
  readonly at: number;
  /** Only writes count, and the one it dies at leaves half of its bytes behind. */
  readonly torn: boolean;
};

export type Crashing = {
  readonly disk: Disk;
  /** Dies also before and after git itself moves a ref. */
  wrapEngine(git: GitEngine): GitEngine;
  hasDied(): boolean;
};

/** A disk under a process that dies at its n-th operation. */
export function makeCrashingDisk(plan: CrashPlan, under: Disk = realDisk): Crashing {
  let count = 0;
  let died = false;
  const step = (atDeath?: () => void) => {
    if (died) throw new Died();
    if (plan.torn && !atDeath) return;
    count += 1;
    if (count < plan.at) return;
    died = true;
    if (plan.torn) atDeath?.();
    throw new Died();
  };
  const disk: Disk = {
    open: (path, flags, mode) => {
      step();
      return under.open(path, flags, mode);
    },
    write: (fd, bytes) => {
      step(() => under.write(fd, bytes.subarray(0, Math.floor(bytes.length / 2))));
      return under.write(fd, bytes);
    },
    sync: async (fd) => {
      step();
      await under.sync(fd);
    },
    close: (fd) => {
      under.close(fd); // the system closes what a dead process held open
      step();
    },
    rename: (from, to) => {
      step();
      under.rename(from, to);
    },
    link: (from, to) => {
      step();
      under.link(from, to);
    },
    unlink: (path) => {
      step();
      under.unlink(path);
    },
    rmdir: (path) => {
      step();
      under.rmdir(path);
    },
    mkdir: (path) => {
      step();
      under.mkdir(path);
    },
  };
  return {
    disk,
    hasDied: () => died,
    wrapEngine: (git) => ({
      ...git,
      moveRefs: async (updates) => {
        step();
        await git.moveRefs(updates);
        step();
      },
    }),
  };
}
