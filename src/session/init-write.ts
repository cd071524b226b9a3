import { dirname } from 'node:path';
import { OrchError, systemCode, writeFailed } from '../errors.ts';
import type { Random } from '../system/clock.ts';
import {
  type Disk,
  listFolder,
  readIfThere,
  removeIfThere,
  statIfThere,
  syncFolder,
  writeAtomically,
} from '../system/files.ts';
import { replaceFile } from '../system/replace-file.ts';
import type { FileChange } from './init-change.ts';

/** Thrown where a file is no longer what it was when its change was decided. */
const isChanged = new Error('changed meanwhile');

type Ports = { readonly disk: Disk; readonly random: Random };

/**
 * Writes what was planned: each file in one step, and only if it still is as it was when that was decided.
 * Where one fails, those before it become what they were.
 */
export async function writeChanges(ports: Ports, changes: readonly FileChange[]): Promise<void> {
  const done: FileChange[] = [];
  try {
    for (const change of changes) {
      await writeChange(ports, change);
      done.push(change);
    }
  } catch (error) {
    const left = await takeBack(ports, done);
    const rest = left.length === 0 ? 'nothing was changed' : `${left.join(', ')} stayed changed`;
    const name = changes[done.length]?.name ?? '';
    if (error === isChanged)
      throw new OrchError('REF_CONFLICT', `${name} was changed by another process meanwhile; ${rest}`, {
        hint: 'Run the same command again',
      });
    throw systemCode(error) === null ? error : writeFailed(`${name} could not be written (${rest})`, error);
  }
}

async function takeBack(ports: Ports, done: readonly FileChange[]): Promise<string[]> {
  const left: string[] = [];
  for (const { before, after, ...rest } of [...done].reverse()) {
    try {
      await writeChange(ports, { ...rest, before: after, after: before });
    } catch {
      left.push(rest.name); // named to the user
    }
  }
  return left;
}

async function writeChange(
  { disk, random }: Ports,
  { path, before, after, ownsFolder }: FileChange,
): Promise<void> {
  if (before !== null && after !== null) {
    const bytes = { expected: Buffer.from(before), bytes: Buffer.from(after) };
    if (!(await replaceFile(disk, path, bytes, random.id(8)))) throw isChanged;
    return;
  }
  const now = readIfThere(path);
  if (before === null ? now !== null : !now?.equals(Buffer.from(before))) throw isChanged;
  if (after !== null) return writeAtomically(disk, path, Buffer.from(after), random.id(8));
  removeIfThere(disk, path);
  await syncFolder(disk, dirname(path));
  if (ownsFolder) await removeEmpty(disk, dirname(path));
}

/** Removes the folders that were made for a file; the top of a working tree never is empty. */
async function removeEmpty(disk: Disk, folder: string): Promise<void> {
  if (statIfThere(folder) === null || listFolder(folder).length > 0) return;
  disk.rmdir(folder);
  await syncFolder(disk, dirname(folder));
  await removeEmpty(disk, dirname(folder));
}
