import { join } from 'node:path';
import { isEpicId, parseEpicId } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import { type Disk, readTextIfThere, statIfThere, writeAll } from '../system/files.ts';
import type { EpicId } from '../types.ts';

/* Which epic was last worked on from which branch, in this clone. A convenience: losing it loses nothing. */

function fileIn(home: string): string {
  return join(home, 'last-used.json');
}

function readAll(home: string): { readonly [branch: string]: unknown } {
  try {
    const parsed: unknown = JSON.parse(readTextIfThere(fileIn(home)) ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {};
  } catch {
    return {}; // torn or not ours: nothing is remembered
  }
}

export function lastUsedOn(home: string, branch: string): EpicId | null {
  const epic = lookUp(readAll(home), branch);
  return typeof epic === 'string' && isEpicId(epic) ? parseEpicId(epic) : null;
}

export function rememberUsed(disk: Disk, home: string, branch: string | null, epic: EpicId): void {
  if (branch === null || lastUsedOn(home, branch) === epic) return;
  if (statIfThere(home) === null) return; // nothing was ever recorded here
  const newest = Object.entries(readAll(home)).filter(([name]) => name !== branch);
  writeAllUsed(disk, home, [...newest.slice(-99), [branch, epic]]);
}

/** An epic that gets another name is still the one that was used. */
export function renameUsed(disk: Disk, home: string, from: EpicId, to: EpicId): void {
  const known = Object.entries(readAll(home));
  if (known.some(([, epic]) => epic === from))
    writeAllUsed(
      disk,
      home,
      known.map(([branch, epic]) => [branch, epic === from ? to : epic]),
    );
}

function writeAllUsed(disk: Disk, home: string, used: readonly (readonly [string, unknown])[]): void {
  const fd = disk.open(fileIn(home), 'w', 0o644);
  try {
    writeAll(disk, fd, Buffer.from(`${JSON.stringify(Object.fromEntries(used))}\n`));
  } finally {
    disk.close(fd);
  }
}
