import { constants } from 'node:fs';
import { join } from 'node:path';
import { listOf, oid, orNull, readChecked, text, withFields } from '../checks.ts';
import { type Disk, makeFolder, readTextIfThere, syncFolder, writeAll } from '../system/files.ts';
import type { Oid } from '../types.ts';

/*
 * Refs that were set aside because a part of what they led to is missing: one JSON line each, only ever added.
 */

export type Lost = {
  readonly at: string;
  readonly ref: string;
  readonly oid: string;
  readonly problem: string;
  /** What the ref leads to since, without what is missing; null where nothing was whole, and the ref is gone. */
  readonly now: Oid | null;
  /** The checkpoints whose code it was, as far as their history could be read. */
  readonly checkpoints: readonly string[];
  /** Commits that were made again because something behind them is missing, each with what stands for it now. */
  readonly remade?: { readonly [oid: string]: Oid };
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

/** What stands for a commit that was made again; else the commit itself. */
export function findRemade(home: string, oid: Oid): Oid {
  let now = oid;
  for (const { remade } of readLost(home)) now = remade?.[now] ?? now;
  return now;
}

const isLost = withFields<Lost>({
  at: text,
  ref: text,
  oid: text,
  problem: text,
  now: orNull(oid),
  checkpoints: listOf(text),
});

/** A line that is empty, or that a crash cut short, is passed over. */
export function readLost(home: string): Lost[] {
  const lines = readTextIfThere(lostPath(home))?.split('\n') ?? [];
  return lines.flatMap((line) => readChecked(line, isLost) ?? []);
}
