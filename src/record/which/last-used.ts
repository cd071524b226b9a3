import { join } from 'node:path';
import { isRecord } from '../../checks.ts';
import { systemCode } from '../../errors.ts';
import type { GitEngine } from '../../git/engine.ts';
import { isEpicId, parseEpicId } from '../../ids.ts';
import { lookUp } from '../../keyed.ts';
import { type Disk, statIfThere, writeUnsynced } from '../../system/disk.ts';
import { tryReadJson } from '../../system/json-file.ts';
import type { EpicId } from '../../types.ts';

/* Which epic was last used on which branch in this clone. A convenience: losing it loses nothing. */

function fileIn(home: string): string {
  return join(home, 'last-used.json');
}

function readAll(home: string): { readonly [branch: string]: unknown } {
  return tryReadJson(fileIn(home), isRecord) ?? {};
}

export function lastUsedOn(home: string, branch: string): EpicId | null {
  const epic = lookUp(readAll(home), branch);
  return typeof epic === 'string' && isEpicId(epic) ? parseEpicId(epic) : null;
}

export function rememberUsed(disk: Disk, home: string, branch: string | null, epic: EpicId): void {
  if (branch === null || lastUsedOn(home, branch) === epic) return;
  if (statIfThere(home) === null) return; // nothing has been recorded here
  const newest = Object.entries(readAll(home)).filter(([name]) => name !== branch);
  writeAllUsed(disk, home, [...newest.slice(-99), [branch, epic]]);
}

/**
 * Remembers an epic for the next command on this branch that names none. The work itself is already on disk: a caller
 * that sees an error would repeat it, so a failure is only reported.
 */
export async function rememberEpic({ disk, home, git, report }: RememberPorts, epic: EpicId): Promise<void> {
  try {
    rememberUsed(disk, home, (await git.readHead()).branch, epic);
  } catch (error) {
    if (systemCode(error) === null) throw error;
    report(`could not remember the epic of this branch: ${(error as Error).message}`); // it has a code, so it is an Error
  }
}

type RememberPorts = {
  readonly disk: Disk;
  readonly home: string;
  readonly git: Pick<GitEngine, 'readHead'>;
  readonly report: (what: string) => void;
};

/** Keeps a renamed epic as the last used one. */
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
  writeUnsynced(disk, fileIn(home), `${JSON.stringify(Object.fromEntries(used))}\n`);
}
