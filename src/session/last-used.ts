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
  const text = JSON.stringify(Object.fromEntries([...newest.slice(-99), [branch, epic]]));
  const fd = disk.open(fileIn(home), 'w', 0o644);
  try {
    writeAll(disk, fd, Buffer.from(`${text}\n`));
  } finally {
    disk.close(fd);
  }
}
