import { constants, lstatSync, readFileSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { writeAll } from '../system/files.ts';
import type { Oid } from '../types.ts';
import { editTree, type TreeEdit } from './edit-tree.ts';
import { hashObject } from './objects.ts';
import { gitFailed } from './spawn.ts';
import { emptyTree, type TreeChange } from './tree-diff.ts';
import type { WorkTreePorts } from './work-tree-apply.ts';
import { runOnIndex } from './work-tree-git.ts';
import { fullPath } from './work-tree-look.ts';

/*
 * Files to the byte. Git converts line ends on their way in, and need not give back the very bytes that were there; so
 * those of the files a restore is about to change are kept beside the tree, for the undo.
 */

/** So many files are in memory at once. */
const atOnce = 100;

/**
 * A tree of files as they are on disk, unconverted; null where there are none. A file with a filter of its own (large
 * file storage, encryption) is left to the filter: what it hides must not be stored in the open.
 */
export async function keepBytes(
  { repository, git }: WorkTreePorts,
  worktree: string,
  files: ReadonlyMap<string, NonNullable<TreeEdit>>,
): Promise<Oid | null> {
  const edits = new Map<string, TreeEdit>();
  const filtered = await listFiltered(repository, [...files.keys()]);
  const paths = [...files.keys()].filter((path) => !filtered.has(path));
  for (let at = 0; at < paths.length; at += atOnce) {
    const changed = [];
    for (const path of paths.slice(at, at + atOnce)) {
      const bytes = readPlain(worktree, path);
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

/** Gives files the very bytes they had, where git's conversion gave them others. */
export async function bringBytesBack(
  { git, disk }: WorkTreePorts,
  worktree: string,
  files: readonly Pick<TreeChange, 'path' | 'to'>[],
): Promise<void> {
  for (const { path, to } of files) {
    const bytes = readPlain(worktree, path);
    if (bytes === null || to === null) continue;
    if (hashObject({ kind: 'blob', bytes }, git.format) === to.oid) continue;
    const name = Buffer.from(path, 'latin1').toString('utf8');
    if (Buffer.from(name).toString('latin1') !== path) continue; // no text, so no name for the disk port
    const before = (await git.readObject(to.oid)).bytes;
    // Never through a link, and never a new file: git has just made this one.
    const { O_WRONLY, O_TRUNC, O_NOFOLLOW } = constants;
    const fd = disk.open(`${worktree}/${name}`, O_WRONLY | O_TRUNC | O_NOFOLLOW);
    try {
      writeAll(disk, fd, before);
    } finally {
      disk.close(fd);
    }
  }
}

/** Which of these a file on disk is, byte by byte; null where it is none of them. */
export function findOnDisk(
  { repository, git }: Pick<WorkTreePorts, 'repository' | 'git'>,
  path: string,
  entries: readonly TreeEdit[],
): TreeEdit {
  const bytes = repository.worktree === null ? null : readPlain(repository.worktree, path);
  const oid = bytes && hashObject({ kind: 'blob', bytes }, git.format);
  return entries.find((entry) => entry !== null && entry.oid === oid) ?? null;
}

/** Is a file the beginning of one of these, and no more: was it cut short while it was written? */
export async function startsLike(
  { repository, git }: Pick<WorkTreePorts, 'repository' | 'git'>,
  path: string,
  blobs: readonly Oid[],
): Promise<boolean> {
  const bytes = repository.worktree === null ? null : readPlain(repository.worktree, path);
  if (bytes === null) return false;
  for (const oid of blobs) {
    const whole = (await git.readObject(oid)).bytes;
    if (bytes.length < whole.length && whole.subarray(0, bytes.length).equals(bytes)) return true;
  }
  return false;
}

function readPlain(worktree: string, path: string): Buffer | null {
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
  const args = ['check-attr', '-z', '--stdin', 'filter'];
  const result = await runOnIndex(repository, args, {}, paths.map((path) => `${path}\0`).join(''));
  if (result.status !== 0) throw gitFailed(args, result);
  const filtered = new Set<string>();
  const parts = result.stdout.split('\0');
  for (let at = 0; at + 2 < parts.length; at += 3) {
    if (!['unspecified', 'unset'].includes(parts[at + 2] ?? '')) filtered.add(parts[at] ?? '');
  }
  return filtered;
}
