import { futimesSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Millis } from '../types.ts';
import { type Disk, inFolder, removeIfThere, writeAll } from './files.ts';

/**
 * Writes a file whose time of change is so far in the future: a shell that compares it with a file it writes itself knows
 * whether that time has come, without starting anything. Nobody waits for the disk.
 */
export async function writeTimed(
  disk: Disk,
  path: string,
  text: string,
  lasts: Millis,
  random: string,
): Promise<void> {
  const temporary = `${path}.${random}`;
  const fd = await inFolder(disk, dirname(path), () => disk.open(temporary, 'wx', 0o644));
  try {
    try {
      writeAll(disk, fd, Buffer.from(text));
      const until = (Date.now() + lasts) / 1_000;
      futimesSync(fd, until, until);
    } finally {
      disk.close(fd);
    }
    disk.rename(temporary, path);
  } catch (error) {
    removeIfThere(disk, temporary);
    throw error;
  }
}
