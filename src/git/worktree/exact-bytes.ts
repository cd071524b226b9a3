import { constants, lstatSync, readFileSync } from 'node:fs';
import { systemCode } from '../../errors.ts';
import { writeAll } from '../../system/disk.ts';
import { inBatches } from '../../system/files-in-bulk.ts';
import type { Oid } from '../../types.ts';
import { hashObject } from '../objects/loose-objects.ts';
import { editTree, formatPath, type TreeEdit } from '../objects/tree-object.ts';
import { joinPaths, runOnIndex } from '../snapshot/index-commands.ts';
import type { WorkTreePorts } from '../snapshot/secret-files.ts';
import { fullPath } from '../snapshot/work-tree-changes.ts';
import { emptyTree, type TreeChange } from './tree-diff.ts';

/*
 * Git converts line ends when it stores files, and may not give back the same bytes. So the exact bytes of the files
 * that a restore changes are saved separately, for the undo.
 */

/** How many files are in memory at once. */
const maxInMemory = 100;

/**
 * Writes a tree of files with their exact bytes; null if there are none. Skips files with a filter (large file storage,
 * encryption): what a filter encrypts must not be stored in the clear.
 */
export async function saveExactBytes(
  { repository, git }: WorkTreePorts,
  worktree: string,
  files: ReadonlyMap<string, NonNullable<TreeEdit>>,
): Promise<Oid | null> {
  const edits = new Map<string, TreeEdit>();
  const filtered = await listFiltered(repository, [...files.keys()]);
  const paths = [...files.keys()].filter((path) => !filtered.has(path));
  for (const batch of inBatches(paths, maxInMemory)) {
    const changed = [];
    for (const path of batch) {
      const bytes = readRegularFile(worktree, path);
      const stored = files.get(path);
      if (bytes === null || stored === undefined) continue;
      const blob = { kind: 'blob' as const, bytes };
      const oid = hashObject(blob, git.format);
      edits.set(path, { mode: stored.mode, oid });
      if (oid !== stored.oid) changed.push(blob);
    }
    if (changed.length > 0) await git.writeObjects(changed);
  }
  if (edits.size === 0) return null;
  const { tree, objects } = await editTree(git, emptyTree(git.format), edits);
  await git.writeObjects(objects);
  return tree;
}

/** Gives files their exact bytes back where git's conversion changed them. */
export async function restoreExactBytes(
  { git, disk }: WorkTreePorts,
  worktree: string,
  files: readonly Pick<TreeChange, 'path' | 'to'>[],
): Promise<void> {
  for (const { path, to } of files) {
    const bytes = readRegularFile(worktree, path);
    if (bytes === null || to === null) continue;
    if (hashObject({ kind: 'blob', bytes }, git.format) === to.oid) continue;
    const name = formatPath(path);
    if (Buffer.from(name).toString('latin1') !== path) continue; // the disk port needs names that are text
    const before = (await git.readObject(to.oid)).bytes;
    // Git has just made this file: never follow a link, and never create a file.
    const { O_WRONLY, O_TRUNC, O_NOFOLLOW } = constants;
    const fd = disk.open(`${worktree}/${name}`, O_WRONLY | O_TRUNC | O_NOFOLLOW);
    try {
      writeAll(disk, fd, before);
    } finally {
      disk.close(fd);
    }
  }
}

/** Finds the entry with the exact bytes of a file on disk; null if there is none. */
export function findEntryOnDisk(
  { repository, git }: Pick<WorkTreePorts, 'repository' | 'git'>,
  path: string,
  entries: readonly TreeEdit[],
): TreeEdit {
  const bytes = repository.worktree === null ? null : readRegularFile(repository.worktree, path);
  const oid = bytes && hashObject({ kind: 'blob', bytes }, git.format);
  return entries.find((entry) => entry !== null && entry.oid === oid) ?? null;
}

/** Tells whether a file is only the beginning of one of these blobs, because writing it was interrupted. */
export async function isTruncatedCopy(
  { repository, git }: Pick<WorkTreePorts, 'repository' | 'git'>,
  path: string,
  blobs: readonly Oid[],
): Promise<boolean> {
  const bytes = repository.worktree === null ? null : readRegularFile(repository.worktree, path);
  if (bytes === null) return false;
  for (const oid of blobs) {
    const whole = (await git.readObject(oid)).bytes;
    if (bytes.length < whole.length && whole.subarray(0, bytes.length).equals(bytes)) return true;
  }
  return false;
}

function readRegularFile(worktree: string, path: string): Buffer | null {
  const full = fullPath(worktree, path);
  try {
    return lstatSync(full).isFile() ? readFileSync(full) : null;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(systemCode(error) ?? '')) return null;
    throw error;
  }
}

async function listFiltered(
  repository: WorkTreePorts['repository'],
  paths: readonly string[],
): Promise<ReadonlySet<string>> {
  const result = await runOnIndex(
    repository,
    ['check-attr', '-z', '--stdin', 'filter'],
    {},
    joinPaths(paths),
  );
  const filtered = new Set<string>();
  const parts = result.stdout.split('\0');
  for (let at = 0; at + 2 < parts.length; at += 3) {
    if (!['unspecified', 'unset'].includes(parts[at + 2] ?? '')) filtered.add(parts[at] ?? '');
  }
  return filtered;
}
