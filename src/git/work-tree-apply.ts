import { join } from 'node:path';
import { readFrom, readIfThere } from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import { editTree, type TreeEdit } from './edit-tree.ts';
import { findInIndex, type IndexEntries, isReadableIndex } from './index-entries.ts';
import { holdObjects, loosePath } from './object-hold.ts';
import { syncLooseObjects } from './object-sync.ts';
import { hashObject } from './objects.ts';
import { openQuarantine, type Written } from './quarantine.ts';
import { submoduleMode } from './tree.ts';
import { type Changes, describe, type LeftOut } from './work-tree-changes.ts';
import { removeFromIndex, writeTree } from './work-tree-git.ts';
import { type KeptIndex, keepIndex } from './work-tree-index.ts';
import type { SecretPorts } from './work-tree-secrets.ts';
import { type Refused, updateIndex } from './work-tree-store.ts';

export type WorkTreePorts = SecretPorts;

export type WorkTree = {
  readonly tree: Oid;
  readonly leftOut: readonly LeftOut[];
  /** What was stored for it, and that no ref led to yet. */
  readonly written: readonly Written[];
};

/** One reading of the working tree: what changed against an index, and what to do to the index. */
export type Reading = {
  readonly changes: Changes;
  /** What git could not look into, or does not. */
  readonly unseen: readonly LeftOut[];
  readonly submodules: readonly string[];
};

/** From here on one git writes the trees faster than this process does. */
const manyPaths = 500;

const nothing = Buffer.alloc(0);

/**
 * Carries the changes out on a copy of the kept index, then on the tree that goes with it: one git less than by
 * asking for all of it, and the names of all new objects are known. Null, and nothing done that another way would have
 * to undo, where that is not as simple.
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
  // No object is where a prune could take it before it is held.
  const quarantine = await openQuarantine(ports);
  let isEmpty = false;
  try {
    const environment = { ...quarantine.environment, GIT_INDEX_FILE: work };
    const refused = await changeIndex(ports, reading.changes, environment);
    const entries = findInIndex(readIfThere(work) ?? nothing, paths, git.format);
    if (entries === null) throw new Error('git wrote an index of another kind than it read');
    const stored = blobsOf(entries);
    const moved = new Set((await quarantine.releaseOnly(stored)).flatMap(({ oids }) => oids));
    isEmpty = true;
    const before = stored.filter((oid) => !moved.has(oid));
    hold(ports, objectFolder, before);
    await syncLooseObjects(disk, objectFolder, before);
    if (!entries.isPlain) return null;
    const edits = new Map(paths.map((path): [string, TreeEdit] => [path, entries.found.get(path) ?? null]));
    const { tree, objects } = await editTree(git, kept.tree, edits);
    await git.writeObjects(objects);
    const oids = [...stored, ...objects.map((one) => hashObject(one, git.format))];
    const written = oids.map(asLoose);
    return { ...keep(ports, work, kept.basis, tree, reading, refused), written };
  } finally {
    quarantine.close(isEmpty);
  }
}

/** Carries the changes out on a private index, and has git write its tree; null where the index holds conflicts. */
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
    // One that was there already is not in the quarantine, and a prune may take it: another snapshot stored it just now.
    const entries = findInIndex(readIfThere(work) ?? nothing, reading.changes.store, ports.git.format);
    const blobs = entries === null ? [] : blobsOf(entries);
    hold(ports, join(repository.commonDir, 'objects'), blobs);
    const [tree] = await Promise.all([writeTree(repository, environment), quarantine.sync()]);
    if (tree === null) return null;
    const released = await quarantine.release();
    const moved = new Set(released.flatMap(({ oids }) => oids));
    const written = [...released, ...blobs.filter((oid) => !moved.has(oid)).map(asLoose)];
    return { ...keep(ports, work, basis, tree, reading, refused), written };
  } finally {
    quarantine.close();
  }
}

function asLoose(oid: Oid): Written {
  return { file: join(oid.slice(0, 2), oid.slice(2)), oids: [oid] };
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
  // Removals first: a file must be gone before a folder can take its name.
  return updateIndex(repository, [...remove, ...store], environment);
}

/** All that the index refers to is on disk to stay by now. */
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
  const notTaken = refused.map(({ path, reason }) => describe(path, reason));
  return { tree, leftOut: [...changes.leftOut, ...unseen, ...notTaken] };
}
