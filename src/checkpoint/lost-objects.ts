import { join } from 'node:path';
import { listOf, mapOf, oid, optional, orNull, readChecked, text, withFields } from '../checks.ts';
import type { Disk } from '../system/disk.ts';
import { appendLines, readLines } from '../system/line-file.ts';
import type { Oid } from '../types.ts';

/* Refs that were set aside because an object they need is missing: one JSON line each, only ever added. */

export type Lost = {
  readonly at: string;
  readonly ref: string;
  readonly oid: string;
  readonly problem: string;
  /** Where the ref points now, without the missing objects; null if nothing was complete and the ref is gone. */
  readonly now: Oid | null;
  /** The checkpoints with this code, as far as their history could be read. */
  readonly checkpoints: readonly string[];
  /** Commits that were made again because an object behind them is missing, each with its replacement. */
  readonly remade?: { readonly [oid: string]: Oid };
};

export const lostPath = (home: string) => join(home, 'lost.jsonl');

/** Records what is known about it before the ref moves. On disk when it returns. */
export async function noteLost(
  { disk, home }: { readonly disk: Disk; readonly home: string },
  lost: Lost,
): Promise<void> {
  await appendLines(disk, lostPath(home), [JSON.stringify(lost)]);
}

/** The replacement of a commit that was made again; else the commit itself. */
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
  remade: optional(mapOf(oid)),
});

/** Skips lines that are empty or were cut off by a crash. */
export function readLost(home: string): Lost[] {
  return readLines(lostPath(home)).flatMap((line) => readChecked(line, isLost) ?? []);
}
