import { constants } from 'node:fs';
import { dirname } from 'node:path';
import {
  type Disk,
  makeFolder,
  readTextIfThere,
  syncFolder,
  type WritePorts,
  writeAll,
  writeAtomically,
} from './disk.ts';

/** Reads the lines of a file; none if there is no file. A crash may have cut one short, so callers check each. */
export function readLines(path: string): string[] {
  return readTextIfThere(path)?.split('\n') ?? [];
}

/** Replaces a file's lines in one step, and syncs. */
export function writeLines(ports: WritePorts, path: string, lines: Iterable<string>): Promise<void> {
  return writeAtomically(ports, path, `${[...lines].join('\n')}\n`);
}

/** Appends lines to a file, and syncs. */
export async function appendLines(disk: Disk, path: string, lines: readonly string[]): Promise<void> {
  await makeFolder(disk, dirname(path));
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const fd = disk.open(path, O_APPEND | O_CREAT | O_WRONLY, 0o644);
  try {
    // A crash may have cut the last line short, so each line starts with its own line break.
    writeAll(disk, fd, Buffer.from(lines.map((line) => `\n${line}\n`).join('')));
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  await syncFolder(disk, dirname(path));
}
