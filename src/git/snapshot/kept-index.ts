import { join } from 'node:path';
import { listOf, oid, text, withFields } from '../../checks.ts';
import { hash } from '../../digest.ts';
import { listFolder, makeFolder, removeIfThere, statIfThere, writeUnsynced } from '../../system/disk.ts';
import { copyWithTime, type FileMark, markFile, noFile } from '../../system/file-facts.ts';
import { readJson } from '../../system/json-file.ts';
import { identifyThisProcess } from '../../system/process/identity.ts';
import type { Millis, Oid } from '../../types.ts';
import type { EnginePorts } from '../engine.ts';

export type IndexPorts = EnginePorts & {
  /** `<common git dir>/orchestration` */
  readonly home: string;
};

/**
 * The index of the last snapshot, kept so that the next one hashes only files that changed since, untracked ones too.
 * It is a cache: never written in place, and discarded if anything does not match.
 */
export type KeptIndex = {
  readonly path: string;
  readonly mark: FileMark;
  /** Everything it depends on: see `readBasis`. */
  readonly basis: string;
  readonly tree: Oid;
  /** Paths that are in it and not in the user's index. */
  readonly untracked: ReadonlySet<string>;
  /** Paths that are in the user's index and not in it. */
  readonly gone: ReadonlySet<string>;
  /** The submodules in the user's index. */
  readonly submodules: readonly string[];
};

/** A copy of this age was left by a snapshot that crashed. */
const leftoverAge: Millis = 3_600_000;

function folderOf({ repository, home }: IndexPorts): string {
  return join(home, 'snapshot-index', nameIndexFolder(repository.gitDir));
}

/** Names the folder where a worktree's index is kept. */
export function nameIndexFolder(gitDir: string): string {
  return hash('sha256', gitDir).slice(0, 16);
}

function userIndex({ repository }: IndexPorts): string {
  return join(repository.gitDir, 'index');
}

/** Increased when the rules for secrets find more, so that all files are checked again. */
const rulesVersion = 3;

/**
 * Reads everything a kept index depends on: the user's index, the settings for storing files, the size limit, the rules
 * for secrets, and the current boot: the file is not synced, so it may be damaged after a power loss.
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
    // It defines secrets.
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

/** Reads the index of the last snapshot, if it is still valid. */
export function readKeptIndex(ports: IndexPorts, maxFileBytes: number): KeptIndex | null {
  const folder = folderOf(ports);
  const kept = readJson(join(folder, 'kept.json'), isKeptFile);
  const path = join(folder, 'index');
  if (kept === null || kept.basis !== readBasis(ports, maxFileBytes) || kept.mark !== markFile(path))
    return null;
  return { ...kept, untracked: new Set(kept.untracked), gone: new Set(kept.gone), path };
}

/** Tells whether no other snapshot has replaced the index since it was read. */
export function isStillKept({ path, mark }: KeptIndex): boolean {
  return markFile(path) === mark;
}

/** Makes a private copy of the kept index, or of the user's; no file if the user has no index. */
export async function copyIndex(
  ports: IndexPorts,
  from: KeptIndex | null,
): Promise<{ path: string; copied: FileMark }> {
  const folder = folderOf(ports);
  await makeFolder(ports.disk, folder);
  const path = join(folder, `work-${ports.random.id(8)}`);
  return { path, copied: copyWithTime(ports.disk, from?.path ?? userIndex(ports), path) };
}

/** Keeps a working copy for the next snapshot. */
export function keepIndex(
  ports: IndexPorts,
  work: string,
  { untracked, gone, ...rest }: Pick<KeptIndex, 'basis' | 'tree' | 'untracked' | 'gone' | 'submodules'>,
): void {
  const { disk, random } = ports;
  const folder = folderOf(ports);
  const mark = markFile(work);
  if (mark === noFile) return; // the user has no index and no files
  disk.rename(work, join(folder, 'index'));
  const temporary = join(folder, `work-${random.id(8)}`);
  const kept: KeptFile = { mark, ...rest, untracked: [...untracked], gone: [...gone] };
  writeUnsynced(disk, temporary, JSON.stringify(kept));
  disk.rename(temporary, join(folder, 'kept.json'));
}

/** Removes a working copy, and those of crashed snapshots. */
export function discardCopy({ disk, clock }: IndexPorts, work: string): void {
  removeIfThere(disk, work);
  const folder = join(work, '..');
  for (const name of listFolder(folder)) {
    const path = join(folder, name);
    const stat = name.startsWith('work-') ? statIfThere(path) : null;
    if (stat && clock.now() - stat.ctimeMs > leftoverAge) removeIfThere(disk, path);
  }
}

type KeptFile = Pick<KeptIndex, 'mark' | 'basis' | 'tree' | 'submodules'> & {
  readonly untracked: readonly string[];
  readonly gone: readonly string[];
};

const isKeptFile = withFields<KeptFile>({
  mark: text,
  basis: text,
  tree: oid,
  untracked: listOf(text),
  gone: listOf(text),
  submodules: listOf(text),
});
