import { dirname, join } from 'node:path';
import { systemCode } from '../errors.ts';
import { isOid, parseOid } from '../ids.ts';
import type { Clock } from '../system/clock.ts';
import {
  type Disk,
  inFolder,
  listFolder,
  makeIfMissing,
  removeFolderIfThere,
  removeIfThere,
  statIfThere,
  syncFolder,
} from '../system/files.ts';
import type { Millis, Oid } from '../types.ts';

/*
 * `git gc --prune=now` and `git prune` list what refs lead to, and then remove every other loose object, one folder
 * after the other. An object that was written and got its ref in between is removed too, after any look we could take.
 * So each object orch writes has a second name for a while, where git does not look, and gets its first one back.
 */

export type HoldPorts = {
  /** `<common git dir>/objects` */
  readonly folder: string;
  readonly disk: Disk;
  readonly clock: Clock;
};

/** Objects are held for one to two of these: no collection takes that long from its look at the refs to its end. */
const period: Millis = 600_000;

/** A first snapshot may have many thousands, and a name for each would slow it down. */
const mostHeld = 2_000;

/**
 * The last thing a prune removes are files of this form, right in the objects folder. While this one is there, no prune
 * has ended since the objects were last looked at.
 */
const markName = 'tmp_orch-no-prune-ended';

/**
 * What is said where a file cannot have a second name, or has it already; and of one that is packed, or just pruned,
 * which the caller finds out anyway.
 */
const notHeld = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EEXIST', 'ENOENT'];

const heldFolder = (folder: string) => join(folder, '..', 'orchestration', 'held-objects');

export function loosePath(folder: string, oid: Oid): string {
  return join(folder, oid.slice(0, 2), oid.slice(2));
}

const isLoose = (folder: string, oid: Oid) => statIfThere(loosePath(folder, oid)) !== null;

/** The folder where objects are held from now on, made if it is not there. What is left in it goes when its time is over. */
export function openHold({ folder, disk, clock }: HoldPorts): string {
  const target = join(heldFolder(folder), String(Math.floor(clock.now() / period)));
  if (statIfThere(target) === null)
    for (const made of [dirname(dirname(target)), dirname(target), target]) makeIfMissing(disk, made);
  return target;
}

/** Gives files of objects their second names. */
export function holdObjects(
  { folder, disk, clock }: HoldPorts,
  files: readonly { readonly oid: Oid; readonly path: string }[],
): void {
  if (files.length === 0 || files.length > mostHeld) return;
  const target = openHold({ folder, disk, clock });
  for (const { oid, path } of files) {
    try {
      disk.link(path, join(target, oid));
    } catch (error) {
      if (!notHeld.includes(systemCode(error) ?? '')) throw error;
    }
  }
}

/** Has a prune that leaves nothing out ended since `bringBack` last looked? One look at a file. */
export function mayBePruned(folder: string): boolean {
  return statIfThere(join(folder, markName)) === null && statIfThere(heldFolder(folder)) !== null;
}

/** Is this object held? */
export function isHeld(folder: string, oid: Oid): boolean {
  const held = heldFolder(folder);
  return listFolder(held).some((name) => statIfThere(join(held, name, oid)) !== null);
}

/**
 * Gives held objects that are gone their place back, and says which; `findMissing` knows what is in packs.
 * On disk when it returns.
 */
export async function bringBack(
  { folder, disk }: HoldPorts,
  findMissing: (oids: readonly Oid[]) => Promise<readonly string[]>,
): Promise<Oid[]> {
  // Before the look: a prune that ends during it takes the mark away again.
  const mark = join(folder, markName);
  if (statIfThere(mark) === null) disk.close(disk.open(mark, 'w', 0o644));
  const held = listHeld(folder);
  const gone = [...held.keys()].filter((oid) => !isLoose(folder, oid));
  const missing = gone.length === 0 ? [] : (await findMissing(gone)).map(parseOid);
  for (const oid of missing) {
    const path = loosePath(folder, oid);
    const second = held.get(oid);
    if (second !== undefined) await inFolder(disk, dirname(path), () => linkBack(disk, second, path));
  }
  const changed = new Set(missing.map((oid) => dirname(loosePath(folder, oid))));
  await Promise.all([...changed].map((each) => syncFolder(disk, each)));
  return missing;
}

function linkBack(disk: Disk, held: string, path: string): void {
  try {
    disk.link(held, path);
  } catch (error) {
    // Another process brought it back, or released it.
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

/** Are there objects that were held long enough? */
export function holdsOld(ports: HoldPorts): boolean {
  return listOld(ports).length > 0;
}

function listOld({ folder, clock }: HoldPorts): string[] {
  const now = Math.floor(clock.now() / period);
  return listFolder(heldFolder(folder)).filter((name) => Math.abs(Number(name) - now) > 1);
}

/** Lets go of what was held long enough. */
export function releaseOld(ports: HoldPorts): void {
  release(ports, listOld(ports));
}

/** Lets go of everything. */
export function releaseAll(ports: HoldPorts): void {
  release(ports, listFolder(heldFolder(ports.folder)));
}

function release({ folder, disk }: HoldPorts, names: readonly string[]): void {
  for (const name of names) {
    const path = join(heldFolder(folder), name);
    for (const oid of listFolder(path)) removeIfThere(disk, join(path, oid));
    try {
      removeFolderIfThere(disk, path);
    } catch (error) {
      if (systemCode(error) !== 'ENOTEMPTY') throw error; // another process holds something there just now
    }
  }
}
