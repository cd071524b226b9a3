import { join } from 'node:path';
import { hash } from '../digest.ts';
import { parseOid } from '../ids.ts';
import type { Clock, Random } from '../system/clock.ts';
import { copyWithTime, type FileMark, markFile, noFile } from '../system/file-copy.ts';
import {
  type Disk,
  listFolder,
  makeFolder,
  readTextIfThere,
  removeIfThere,
  statIfThere,
  writeAll,
} from '../system/files.ts';
import { identifyThisProcess } from '../system/process.ts';
import type { Millis, Oid } from '../types.ts';
import type { Repository } from './repository.ts';

export type IndexPorts = {
  readonly repository: Repository;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  /** `<common git dir>/orchestration` */
  readonly home: string;
};

/**
 * The index of the last snapshot, kept so that the next one hashes only what changed since, untracked files too.
 * A cache: it is never written in place, and whatever does not fit together is thrown away.
 */
export type KeptIndex = {
  readonly path: string;
  readonly mark: FileMark;
  /** What it was made from. */
  readonly basis: string;
  readonly tree: Oid;
  /** The paths in it that the user's index has not. */
  readonly untracked: ReadonlySet<string>;
  /** The paths the user's index has and it has not. */
  readonly gone: ReadonlySet<string>;
  /** The paths at which the user's index has submodules. */
  readonly submodules: readonly string[];
};

/** A crashed snapshot leaves its copy of the index behind; nobody works on one for longer than this. */
const leftoverAge: Millis = 3_600_000;

function folderOf({ repository, home }: IndexPorts): string {
  return join(home, 'snapshot-index', nameIndexFolder(repository.gitDir));
}

/** The name of the folder in which a worktree's index is kept. */
export function nameIndexFolder(gitDir: string): string {
  return hash('sha256', gitDir).slice(0, 16);
}

function userIndex({ repository }: IndexPorts): string {
  return join(repository.gitDir, 'index');
}

/** Goes up when the rules for secrets find more: files that were kept before are then looked at again. */
const rulesVersion = 3;

/**
 * What a kept index depends on: the user's index, the settings that say how a file is stored, the limit, and the rules
 * for secrets. And this run of the system: the file is not synced, so after a power loss it may be torn.
 */
export function readBasis(
  ports: IndexPorts,
  maxFileBytes: number,
  index: FileMark = markFile(userIndex(ports)),
): string {
  const { gitDir, commonDir, worktree } = ports.repository;
  const settings = [
    join(commonDir, 'config'),
    join(gitDir, 'config.worktree'),
    join(commonDir, 'info', 'attributes'),
    // It says what a secret is.
    join(worktree ?? gitDir, '.orchestration', 'config.yaml'),
  ];
  return JSON.stringify([
    rulesVersion,
    index,
    maxFileBytes,
    settings.map(markFile),
    identifyThisProcess().boot,
  ]);
}

/** The index of the last snapshot, if it still fits. */
export function readKeptIndex(ports: IndexPorts, maxFileBytes: number): KeptIndex | null {
  const folder = folderOf(ports);
  const said = parseKept(readTextIfThere(join(folder, 'kept.json')));
  const path = join(folder, 'index');
  if (said === null || said.basis !== readBasis(ports, maxFileBytes) || said.mark !== markFile(path))
    return null;
  return { ...said, path };
}

/** Is it still the index it was when it was read? Another snapshot may have put its own there. */
export function isStillKept({ path, mark }: KeptIndex): boolean {
  return markFile(path) === mark;
}

/** A private copy to work on, of the kept index or of the user's; where the user has none, an empty one. */
export async function copyIndex(
  ports: IndexPorts,
  from: KeptIndex | null,
): Promise<{ path: string; copied: FileMark }> {
  const folder = folderOf(ports);
  await makeFolder(ports.disk, folder);
  const path = join(folder, `work-${ports.random.id(8)}`);
  return { path, copied: copyWithTime(ports.disk, from?.path ?? userIndex(ports), path) };
}

/** Keeps an index that was worked on, for the next snapshot. */
export function keepIndex(
  ports: IndexPorts,
  work: string,
  { untracked, gone, ...said }: Pick<KeptIndex, 'basis' | 'tree' | 'untracked' | 'gone' | 'submodules'>,
): void {
  const { disk, random } = ports;
  const folder = folderOf(ports);
  const mark = markFile(work);
  if (mark === noFile) return; // the user has no index and there is no file: nothing to keep
  disk.rename(work, join(folder, 'index'));
  const temporary = join(folder, `work-${random.id(8)}`);
  const fd = disk.open(temporary, 'wx', 0o644);
  try {
    const text = JSON.stringify({ mark, ...said, untracked: [...untracked], gone: [...gone] });
    writeAll(disk, fd, Buffer.from(text));
  } finally {
    disk.close(fd);
  }
  disk.rename(temporary, join(folder, 'kept.json'));
}

/** Removes a working copy, and those of snapshots that died. */
export function discardCopy({ disk, clock }: IndexPorts, work: string): void {
  removeIfThere(disk, work);
  const folder = join(work, '..');
  for (const name of listFolder(folder)) {
    const path = join(folder, name);
    const stat = name.startsWith('work-') ? statIfThere(path) : null;
    if (stat && clock.now() - stat.ctimeMs > leftoverAge) removeIfThere(disk, path);
  }
}

function parseKept(text: string | null): Omit<KeptIndex, 'path'> | null {
  try {
    const said: unknown = JSON.parse(text ?? 'null');
    if (typeof said !== 'object' || said === null) return null;
    const { mark, basis, tree, untracked, gone, submodules } = said as Record<string, unknown>; // an object, as was just asked
    if (typeof mark !== 'string' || typeof basis !== 'string' || typeof tree !== 'string') return null;
    if (!isListOfPaths(untracked) || !isListOfPaths(gone) || !isListOfPaths(submodules)) return null;
    const sets = { untracked: new Set(untracked), gone: new Set(gone) };
    return { mark, basis, tree: parseOid(tree), ...sets, submodules };
  } catch {
    return null; // torn: a new one is as good
  }
}

function isListOfPaths(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((path) => typeof path === 'string');
}
