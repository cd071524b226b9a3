import { join } from 'node:path';
import type { Random } from '../system/clock.ts';
import { type Disk, readTextIfThere, writeAtomically } from '../system/files.ts';

/*
 * The names of the remotes this clone synced with, one a line. With them the refs that are kept of a remote's epics are
 * found without going through those of all snapshots, of which there may be thousands.
 */

function fileIn(home: string): string {
  return join(home, 'synced-remotes');
}

export function listSyncedRemotes(home: string): string[] {
  return readTextIfThere(fileIn(home))?.split('\n') ?? [];
}

export async function noteSynced(
  { disk, random, home }: { readonly disk: Disk; readonly random: Random; readonly home: string },
  key: string,
): Promise<void> {
  const known = listSyncedRemotes(home);
  if (known.includes(key)) return;
  await writeAtomically(disk, fileIn(home), Buffer.from(`${[...known, key].join('\n')}\n`), random.id(8));
}
