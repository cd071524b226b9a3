import { join } from 'node:path';
import { readFrom, readIfThere } from '../../system/disk.ts';
import { inBatches } from '../../system/files-in-bulk.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import { holdObjects, loosePath } from '../objects/held-objects.ts';
import { hashObject } from '../objects/loose-objects.ts';
import { syncLooseObjects, worthPacking } from '../objects/pack-objects.ts';
import { openQuarantine, type Written } from '../objects/quarantine.ts';
import { editTree, formatPath, submoduleMode, type TreeEdit } from '../objects/tree-object.ts';
import type { Repository } from '../repository.ts';
import { askVersion } from '../repository-facts.ts';
import { type GitResult, gitFailed } from '../run-git.ts';
import { askOnIndex, joinPaths, removeFromIndex, writeTree } from './index-commands.ts';
import { findInIndex, type IndexEntries, isReadableIndex } from './index-entries.ts';
import { type KeptIndex, keepIndex } from './kept-index.ts';
import type { WorkTreePorts } from './secret-files.ts';
import { type Changes, type LeftOut, leaveOut } from './work-tree-changes.ts';

export type WorkTree = {
  readonly tree: Oid;
  readonly leftOut: readonly LeftOut[];
  /** The files that were written for it; no ref leads to them yet. */
  readonly written: readonly Written[];
};

/** One reading of the working tree: what to change in an index. */
export type Reading = {
  readonly changes: Changes;
  /** What git cannot read, or does not. */
  readonly unseen: readonly LeftOut[];
  readonly submodules: readonly string[];
};

/** From this many paths on, git writes the trees faster than this process. */
const manyPaths = 500;

const nothing = Buffer.alloc(0);

/**
 * Applies the changes to a copy of the kept index, then to its tree: this takes one git less than `applyByGit`, and the
 * ids of all new objects are known. Returns null in complicated cases; `applyByGit` can then still be used.
 */
export async function applyToTree(
  ports: WorkTreePorts,
  work: string,
  kept: KeptIndex,
  reading: Reading,
): Promise<WorkTree | null> {
  const { repository, git, disk } = ports;
  const { store, remove, removeBlindly } = reading.changes;
  const paths = [...store, ...remove, ...removeBlindly];
  if (paths.length > manyPaths || !isReadableIndex(readFrom(work, 0, 12)?.bytes ?? nothing)) return null;
  const objectFolder = join(repository.commonDir, 'objects');
  // In quarantine, no prune can remove an object before it is held.
  const quarantine = await openQuarantine(ports);
  let isEmpty = false;
  let released = Promise.resolve();
  try {
    const environment = { ...quarantine.environment, GIT_INDEX_FILE: work };
    const refused = await changeIndex(ports, reading.changes, environment);
    const entries = findInIndex(readIfThere(work) ?? nothing, paths, git.format);
    if (entries === null) throw new Error('git changed the format of the index');
    const stored = blobsOf(entries);
    released = quarantine.releaseOnly(stored).then((files) => {
      const moved = files.flatMap(({ oids }) => oids);
      const before = stored.filter((oid) => !moved.includes(oid));
      hold(ports, objectFolder, before);
      return syncLooseObjects(disk, objectFolder, before);
    });
    released.catch(() => {}); // awaited below in any case
    if (!entries.isPlain) return null;
    const edits = new Map(paths.map((path): [string, TreeEdit] => [path, entries.found.get(path) ?? null]));
    const { tree, objects } = await editTree(git, kept.tree, edits);
    await Promise.all([git.writeObjects(objects), released]);
    isEmpty = true;
    const oids = [...stored, ...objects.map((one) => hashObject(one, git.format))];
    const written = oids.map(toLooseFile);
    return { ...keep(ports, work, kept.basis, tree, reading, refused), written };
  } finally {
    // `applyByGit` would find these objects and not sync them again.
    await released.finally(() => quarantine.close(isEmpty));
  }
}

/** Applies the changes to a private index, and has git write its tree; null if the index has conflicts. */
export async function applyByGit(
  ports: WorkTreePorts,
  work: string,
  basis: string,
  reading: Reading,
): Promise<WorkTree | null> {
  const { repository } = ports;
  const quarantine = await openQuarantine(ports);
  try {
    const environment = { ...quarantine.environment, GIT_INDEX_FILE: work };
    const refused = await changeIndex(ports, reading.changes, environment);
    // A blob that another snapshot has just stored is not in quarantine, so a prune may remove it.
    const entries = findInIndex(readIfThere(work) ?? nothing, reading.changes.store, ports.git.format);
    const blobs = entries === null ? [] : blobsOf(entries);
    hold(ports, join(repository.commonDir, 'objects'), blobs);
    const [tree] = await Promise.all([writeTree(repository, environment), quarantine.sync()]);
    if (tree === null) return null;
    const released = await quarantine.release();
    const moved = new Set(released.flatMap(({ oids }) => oids));
    const written = [...released, ...blobs.filter((oid) => !moved.has(oid)).map(toLooseFile)];
    return { ...keep(ports, work, basis, tree, reading, refused), written };
  } finally {
    quarantine.close();
  }
}

function toLooseFile(oid: Oid): Written {
  return { file: loosePath('', oid), oids: [oid] };
}

function blobsOf({ found }: IndexEntries): Oid[] {
  return [...found.values()].filter(({ mode }) => mode !== submoduleMode).map(({ oid }) => oid);
}

function hold(ports: WorkTreePorts, folder: string, oids: readonly Oid[]): void {
  holdObjects(
    { ...ports, folder },
    oids.map((oid) => ({ oid, path: loosePath(folder, oid) })),
  );
}

async function changeIndex(
  { repository }: WorkTreePorts,
  { store, remove, removeBlindly }: Changes,
  environment: Environment,
): Promise<Refused[]> {
  if (removeBlindly.length > 0) await removeFromIndex(repository, removeBlindly, environment);
  // Removals first: a folder can only replace a file that is gone.
  return updateIndex(repository, [...remove, ...store], environment);
}

/** Keeps the index for the next snapshot. All of its objects are synced by now. */
function keep(
  ports: WorkTreePorts,
  work: string,
  basis: string,
  tree: Oid,
  { changes, unseen, submodules }: Reading,
  refused: readonly Refused[],
): Omit<WorkTree, 'written'> {
  const untracked = new Set(changes.untracked);
  for (const { path } of refused) untracked.delete(path);
  keepIndex(ports, work, { basis, tree, untracked, gone: changes.gone, submodules });
  const notTaken = refused.map(({ path, reason }) => leaveOut(path, reason));
  return { tree, leftOut: [...changes.leftOut, ...unseen, ...notTaken] };
}

/** A path in bytes that git did not store. */
export type Refused = { readonly path: string; readonly reason: LeftOut['reason'] };

/** The snapshot fails after this many files that git cannot store: each costs another try. */
const maxRefused = 50;

const updateArgs = ['update-index', '-z', '--verbose', '--add', '--remove', '--replace', '--stdin'];

/**
 * Updates paths in an index from disk: stores existing files and removes missing ones.
 * Paths that git cannot store (a failing filter, a file that just became a folder) stay unchanged and are returned.
 */
export async function updateIndex(
  repository: Repository,
  paths: readonly string[],
  environment: Environment,
): Promise<Refused[]> {
  const leftOut: Refused[] = [];
  let rest = await storeInPacks(repository, paths, environment);
  while (rest.length > 0) {
    const result = await askOnIndex(repository, updateArgs, environment, joinPaths(rest));
    const { refused, failed } = findUndone(rest, result);
    for (const path of refused) leftOut.push({ path, reason: 'refused by git' });
    if (result.status === 0) break;
    if (failed === null || leftOut.length >= maxRefused) throw gitFailed(updateArgs, result);
    leftOut.push({ path: failed, reason: 'unreadable' });
    // One failure made git write nothing, so repeat without it.
    const undone = new Set([...refused, failed]);
    rest = rest.filter((path) => !undone.has(path));
  }
  return leftOut;
}

/** While git writes a pack, it compares each file with all before it. */
const maxInPack = 5_000;

/**
 * Updates many paths with their contents in a few packs, and returns the paths that are left: all of a small change,
 * those that git refuses, and all if git is too old to put several files into one pack.
 */
async function storeInPacks(
  repository: Repository,
  paths: readonly string[],
  environment: Environment,
): Promise<readonly string[]> {
  if (paths.length < worthPacking || !(await canPackMany(repository))) return paths;
  const rest: string[] = [];
  for (const batch of inBatches(paths, maxInPack)) {
    const result = await askOnIndex(repository, packArgs, environment, joinPaths(batch));
    if (result.status !== 0 || result.stderr.includes('Ignoring path ')) rest.push(...batch);
  }
  return rest;
}

/** With --verbose, git would make one pack per file. */
const packArgs = [
  ...['core.bigFileThreshold=1', 'core.compression=1'].flatMap((setting) => ['-c', setting]),
  ...updateArgs.filter((arg) => arg !== '--verbose'),
];

/** Since 2.37, `update-index` stores all of its input in one pack. */
async function canPackMany(repository: Repository): Promise<boolean> {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(await askVersion(repository)) ?? [];
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 37);
}

/** Git reports each path in order, so it failed at the first one without a report. */
function findUndone(
  paths: readonly string[],
  { stdout, stderr }: Pick<GitResult, 'stdout' | 'stderr'>,
): { refused: string[]; failed: string | null } {
  const refused: string[] = [];
  let at = 0;
  for (const path of paths) {
    const report = `add '${path}'\n`;
    if (stdout.startsWith(report, at)) at += report.length;
    else if (stderr.includes(`Ignoring path ${formatPath(path)}`)) refused.push(path);
    else return { refused, failed: path };
  }
  return { refused, failed: null };
}
