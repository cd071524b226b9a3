import { dirname, join } from 'node:path';
import { hasCode, systemCode } from '../../errors.ts';
import { isOid, parseOid } from '../../ids.ts';
import type { Clock } from '../../system/clock.ts';
import {
  type Disk,
  listFolder,
  makeIfMissing,
  removeFolderIfThere,
  removeIfThere,
  statIfThere,
  withFolder,
} from '../../system/disk.ts';
import { syncFolders } from '../../system/files-in-bulk.ts';
import type { Millis, Oid } from '../../types.ts';
import type { GitObject } from '../engine.ts';
import { hashObject, type ObjectStore, writeLooseObjects } from './loose-objects.ts';

/*
 * `git gc --prune=now` and `git prune` list what refs lead to, then remove all other loose objects, folder by folder.
 * This includes objects that were written and got their ref in between, and no check could be late enough. So each
 * object orch writes is "held" for a while: it gets a hard link where git does not look, from which it is restored.
 */

export type HoldPorts = {
  /** `<common git dir>/objects` */
  readonly folder: string;
  readonly disk: Disk;
  readonly clock: Clock;
};

/** Objects are held for one to two periods: no prune takes that long between reading the refs and its end. */
const period: Millis = 600_000;

/** A first snapshot may have many thousands of objects, and linking them all would slow it down. */
const maxHeld = 2_000;

/**
 * At its end, a prune removes files with such names from the objects folder. While this file exists, no prune has ended
 * since the last check.
 */
const markName = 'tmp_orch-no-prune-ended';

/**
 * Errors for a file that cannot be linked or already is, and for one that is packed or just pruned, which the caller
 * notices anyway.
 */
const notHeld = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EEXIST', 'ENOENT'];

const heldFolder = (folder: string) => join(folder, '..', 'orchestration', 'held-objects');

export function loosePath(folder: string, oid: Oid): string {
  return join(folder, oid.slice(0, 2), oid.slice(2));
}

const isLoose = (folder: string, oid: Oid) => statIfThere(loosePath(folder, oid)) !== null;

/** Returns the folder where objects are held now, and makes it if needed. */
export function openHold({ folder, disk, clock }: HoldPorts): string {
  const target = join(heldFolder(folder), String(Math.floor(clock.now() / period)));
  if (statIfThere(target) === null)
    for (const made of [dirname(dirname(target)), dirname(target), target]) makeIfMissing(disk, made);
  return target;
}

/** Holds objects by linking their files. */
export function holdObjects(
  { folder, disk, clock }: HoldPorts,
  files: readonly { readonly oid: Oid; readonly path: string }[],
): void {
  if (files.length === 0 || files.length > maxHeld) return;
  const target = openHold({ folder, disk, clock });
  for (const { oid, path } of files) {
    try {
      disk.link(path, join(target, oid));
    } catch (error) {
      if (!notHeld.includes(systemCode(error) ?? '')) throw error;
    }
  }
}

/** Tells whether a complete prune may have ended since `restorePruned` last checked. Cheap: stats two paths. */
export function mayBePruned(folder: string): boolean {
  return statIfThere(join(folder, markName)) === null && statIfThere(heldFolder(folder)) !== null;
}

/** Restores and syncs held objects that are gone, and returns them; `findMissing` knows what is in packs. */
export async function restorePruned({ folder, disk }: HoldPorts, findMissing: FindMissing): Promise<Oid[]> {
  // Set the mark before checking: a prune that ends during the check removes it again.
  const mark = join(folder, markName);
  if (statIfThere(mark) === null) disk.close(disk.open(mark, 'w', 0o644));
  const held = listHeld(folder);
  const gone = [...held.keys()].filter((oid) => !isLoose(folder, oid));
  const missing = gone.length === 0 ? [] : (await findMissing(gone)).map(parseOid);
  for (const oid of missing) {
    const path = loosePath(folder, oid);
    const link = held.get(oid);
    if (link !== undefined) await withFolder(disk, dirname(path), () => linkBack(disk, link, path));
  }
  await syncFolders(disk, new Set(missing.map((oid) => dirname(loosePath(folder, oid)))));
  return missing;
}

function linkBack(disk: Disk, held: string, path: string): void {
  try {
    disk.link(held, path);
  } catch (error) {
    // Another process restored or released it.
    if (systemCode(error) !== 'EEXIST' && statIfThere(held) !== null) throw error;
  }
}

function listHeld(folder: string): Map<Oid, string> {
  const held = heldFolder(folder);
  const files = listFolder(held).flatMap((name) =>
    listFolder(join(held, name))
      .filter(isOid)
      .map((oid): [Oid, string] => [oid, join(held, name, oid)]),
  );
  return new Map(files);
}

/** The periods that are over. */
function listOldPeriods({ folder, clock }: HoldPorts): string[] {
  const now = Math.floor(clock.now() / period);
  return listFolder(heldFolder(folder)).filter((name) => Math.abs(Number(name) - now) > 1);
}

function release({ folder, disk }: HoldPorts, names: readonly string[]): void {
  for (const name of names) {
    const path = join(heldFolder(folder), name);
    for (const oid of listFolder(path)) removeIfThere(disk, join(path, oid));
    try {
      removeFolderIfThere(disk, path);
    } catch (error) {
      if (systemCode(error) !== 'ENOTEMPTY') throw error; // another process is using it
    }
  }
}

type FindMissing = (oids: readonly Oid[]) => Promise<readonly string[]>;

/**
 * Rewrites objects that are no longer loose, and restores held ones that a prune removed since the last check. An
 * object that git has packed is written once more, and removed by its next gc. Usually this only stats each file and
 * the mark.
 */
export async function keepLooseObjects(
  store: ObjectStore,
  objects: readonly GitObject[],
  findMissing: FindMissing,
): Promise<void> {
  const isGone = (object: GitObject) =>
    statIfThere(loosePath(store.folder, hashObject(object, store.format))) === null;
  const gone = objects.filter(isGone);
  if (gone.length > 0) await writeLooseObjects(store, gone);
  const old = listOldPeriods(store);
  if (old.length === 0 && !mayBePruned(store.folder)) return;
  await restorePruned(store, findMissing);
  release(store, old);
}

type Read = (oid: Oid, most: number) => Promise<GitObject>;

/** Wraps a reader so that it restores held objects that are missing. */
export function readOrRestore(ports: HoldPorts, read: Read, findMissing: FindMissing): Read {
  return async (oid, most) => {
    try {
      return await read(oid, most);
    } catch (error) {
      if (!hasCode(error, 'INTEGRITY') || !listHeld(ports.folder).has(oid)) throw error;
      await restorePruned(ports, findMissing);
      return read(oid, most);
    }
  };
}

/** Releases all held objects, after restoring those that a prune removed. */
export async function releaseHeld(ports: HoldPorts, findMissing: FindMissing): Promise<void> {
  if (mayBePruned(ports.folder)) await restorePruned(ports, findMissing);
  release(ports, listFolder(heldFolder(ports.folder)));
}

/** Ids are spread evenly over 256 folders, so four are a good sample; `gc.auto` uses one. */
const counted = ['17', '5a', '9c', 'e3'];

/** Estimates the number of loose objects. */
export function estimateLoose(folder: string): number {
  const found = counted.reduce((sum, name) => sum + listFolder(join(folder, name)).length, 0);
  return (found * 256) / counted.length;
}
