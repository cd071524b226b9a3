import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, open, readlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Millis } from '../types.ts';
import { inBatches } from './files-in-bulk.ts';
import { run } from './process/capture.ts';
import { inheritedEnvironment } from './process/spawn.ts';

/** How whole folders are copied so that it costs next to nothing. */
export type SharedCopies = {
  /** Can a folder share the contents of the files below another? */
  areSupported(from: string, to: string): Promise<boolean>;
  /** Copies a file or folder with everything in it; false if that did not work, and something may be left at `to`. */
  copy(from: string, to: string, signal: AbortSignal): Promise<boolean>;
};

const longestCopy: Millis = 600_000;

/** Copies by reflinks: two files have the same contents on disk until one is written to (btrfs, xfs, APFS). */
export const reflinks: SharedCopies = {
  areSupported: async (from, to) => {
    const [sample, trial] = [join(from, '.orch-reflink'), join(to, '.orch-reflink')];
    try {
      const handle = await open(sample, 'w');
      await handle.writeFile('x'.repeat(8_192));
      await handle.close();
      await copyFile(sample, trial, constants.COPYFILE_FICLONE_FORCE);
      return true;
    } catch {
      return false; // whatever the reason, an ordinary copy may be slower than an install
    } finally {
      for (const path of [sample, trial]) await unlink(path).catch(() => null);
    }
  },
  copy: async (from, to, signal) => {
    await mkdir(dirname(to), { recursive: true });
    // Thousands of files: `cp` takes a tenth of the time of one call for each.
    const how = process.platform === 'darwin' ? ['-cRp'] : ['-a', '--reflink=always'];
    const end = await run({
      command: ['cp', ...how, from, to],
      cwd: dirname(to),
      env: inheritedEnvironment(),
      marker: `ORCH_COPY=${process.pid}`,
      timeout: longestCopy,
      signal,
      isGuarded: true,
      onOutput: () => {},
    });
    return end.how === 'exited' && end.status === 0;
  },
};

/** The largest file that is searched for a path: programs and scripts that have one are small. */
const mostSearched = 256 * 1024;

/** Does a file or link below a folder name this path? What does works only where it was made, as a Python environment. */
export async function mentionsPath(
  folder: string,
  paths: Iterable<string>,
  sought: string,
): Promise<boolean> {
  const needle = Buffer.from(sought);
  for (const batch of inBatches(paths)) {
    const found = await Promise.all(
      batch.map(async (path) => {
        const whole = join(folder, path);
        const what = await lstat(whole);
        if (what.isSymbolicLink()) return (await readlink(whole)).startsWith(sought);
        if (!what.isFile() || what.size > mostSearched) return false;
        const handle = await open(whole);
        try {
          return (await handle.readFile()).includes(needle);
        } finally {
          await handle.close();
        }
      }),
    );
    if (found.includes(true)) return true;
  }
  return false;
}
