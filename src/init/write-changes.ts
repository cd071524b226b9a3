import { dirname } from 'node:path';
import { formatPatch, OMIT_HEADERS, type StructuredPatch, structuredPatch } from 'diff';
import { OrchError, systemCode, writeFailed } from '../errors.ts';
import type { Random } from '../system/clock.ts';
import {
  type Disk,
  listFolder,
  readIfThere,
  removeIfThere,
  replaceFile,
  statIfThere,
  syncFolder,
  writeAtomically,
} from '../system/disk.ts';
import type { Target } from './init-facts.ts';

/** Thrown if a file changed after its change was planned. */
const changedMeanwhile = new Error('changed meanwhile');

type Ports = { readonly disk: Disk; readonly random: Random };

/**
 * Writes the planned changes, each file atomically and only if it has not changed since. If one fails, those before it
 * are reverted.
 */
export async function writeChanges(ports: Ports, changes: readonly FileChange[]): Promise<void> {
  const done: FileChange[] = [];
  try {
    for (const change of changes) {
      await writeChange(ports, change);
      done.push(change);
    }
  } catch (error) {
    const left = await revert(ports, done);
    const rest = left.length === 0 ? 'nothing was changed' : `${left.join(', ')} could not be reverted`;
    const name = changes[done.length]?.name ?? '';
    if (error === changedMeanwhile)
      throw new OrchError('REF_CONFLICT', `another process changed ${name} meanwhile; ${rest}`, {
        hint: 'Run the same command again',
      });
    throw systemCode(error) === null ? error : writeFailed(`${name} could not be written (${rest})`, error);
  }
}

async function revert(ports: Ports, done: readonly FileChange[]): Promise<string[]> {
  const left: string[] = [];
  for (const { before, after, ...rest } of [...done].reverse()) {
    try {
      await writeChange(ports, { ...rest, before: after, after: before });
    } catch {
      left.push(rest.name); // reported to the user
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
    if (!(await replaceFile(disk, path, bytes, random.id(8)))) throw changedMeanwhile;
    return;
  }
  const now = readIfThere(path);
  if (before === null ? now !== null : !now?.equals(Buffer.from(before))) throw changedMeanwhile;
  if (after !== null) return writeAtomically({ disk, random }, path, after);
  removeIfThere(disk, path);
  await syncFolder(disk, dirname(path));
  if (ownsFolder) await removeEmpty(disk, dirname(path));
}

/** Removes the folders that were created for a file; the top of a working tree is never empty. */
async function removeEmpty(disk: Disk, folder: string): Promise<void> {
  if (statIfThere(folder) === null || listFolder(folder).length > 0) return;
  disk.rmdir(folder);
  await syncFolder(disk, dirname(folder));
  await removeEmpty(disk, dirname(folder));
}

/** A change to a file: `before` is null if it is created, `after` if it is removed. */
export type FileChange = Pick<Target, 'path' | 'name' | 'ownsFolder'> & {
  readonly before: string | null;
  readonly after: string | null;
  /** The change in a few words. */
  readonly meaning: string;
};

/** Plans a change to a file; throws if it must not be written. */
export function planChange(target: Target, after: string | null, meaning: string): FileChange {
  const { path, name, ownsFolder, text, obstacle } = target;
  if (obstacle !== null && after !== text)
    throw new OrchError('CONFIG_INVALID', `${name} cannot be changed: ${obstacle}; nothing was changed`, {
      hint: 'Make it a file you can write, or leave the agent out: --no-claude, --no-codex',
      data: { path, problem: obstacle },
    });
  return { path, name, ownsFolder, before: text, after, meaning };
}

/** The time to find the smallest diff grows with the square of its lines; beyond this, the whole text is replaced. */
const maxEditLength = 1_000;

/** Formats the difference of two texts as a unified diff. Null stands for a missing file. */
export function formatDiff(before: string | null, after: string | null): string {
  if (before === after) return '';
  const [old, fresh] = [before ?? '', after ?? ''];
  const options = { context: 3, maxEditLength };
  const patch = structuredPatch('', '', old, fresh, '', '', options) ?? replaceWhole(old, fresh);
  return formatPatch(patch, OMIT_HEADERS);
}

function replaceWhole(old: string, fresh: string): StructuredPatch {
  const removed = structuredPatch('', '', old, '', '', '', { context: 0 });
  const added = structuredPatch('', '', '', fresh, '', '', { context: 0 });
  const [first, second] = [removed.hunks[0], added.hunks[0]];
  if (!first || !second) return first ? removed : added;
  const { newStart, newLines } = second;
  return { ...removed, hunks: [{ ...first, newStart, newLines, lines: [...first.lines, ...second.lines] }] };
}
