import { constants } from 'node:fs';
import { join } from 'node:path';
import { type Disk, makeFolder, readTextIfThere, syncFolder, writeAll } from '../system/files.ts';
import type { Oid } from '../types.ts';

/*
 * Snapshot refs that were set aside because a part of what they led to is missing: one JSON line each, only ever added.
 */

export type Lost = {
  readonly at: string;
  readonly ref: string;
  readonly oid: string;
  readonly problem: string;
  /** The older snapshot that the ref leads to since; null where none was whole, and the ref is gone. */
  readonly now: Oid | null;
  /** The checkpoints whose code it was, as far as their history could be read. */
  readonly checkpoints: readonly string[];
};

export const lostPath = (home: string) => join(home, 'lost.jsonl');

/** Notes what is known of it, before the ref moves. On disk when it returns. */
export async function noteLost(
  { disk, home }: { readonly disk: Disk; readonly home: string },
  lost: Lost,
): Promise<void> {
  await makeFolder(disk, home);
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const fd = disk.open(lostPath(home), O_APPEND | O_CREAT | O_WRONLY, 0o644);
  try {
    writeAll(disk, fd, Buffer.from(`\n${JSON.stringify(lost)}\n`));
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  await syncFolder(disk, home);
}

export function readLost(home: string): Lost[] {
  return (readTextIfThere(lostPath(home))?.split('\n') ?? []).flatMap((line) => {
    try {
      return [JSON.parse(line) as Lost]; // written by `noteLost`, in one step
    } catch {
      return []; // empty, or cut short by a crash
    }
  });
}
