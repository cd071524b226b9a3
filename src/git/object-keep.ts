import { join } from 'node:path';
import { hasCode } from '../errors.ts';
import { listFolder, statIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import type { GitObject } from './engine.ts';
import {
  bringBack,
  type HoldPorts,
  holdsOld,
  isHeld,
  loosePath,
  mayBePruned,
  releaseAll,
  releaseOld,
} from './object-hold.ts';
import { hashObject, type ObjectStore, writeLooseObjects } from './objects.ts';

type FindMissing = (oids: readonly Oid[]) => Promise<readonly string[]>;

/**
 * Writes objects again that are no longer there as files, and brings back held ones that a prune has removed since the
 * last look. What git has packed instead is written once more, which its next collection tidies. Ordinarily this is a
 * look at each file, and one at the mark.
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
  const isTimeToRelease = holdsOld(store);
  if (!isTimeToRelease && !mayBePruned(store.folder)) return;
  await bringBack(store, findMissing);
  if (isTimeToRelease) releaseOld(store);
}

type Read = (oid: Oid, most: number) => Promise<GitObject>;

/** Reads an object; one that is missing and still held is brought back first. */
export function readOrBringBack(ports: HoldPorts, read: Read, findMissing: FindMissing): Read {
  return async (oid, most) => {
    try {
      return await read(oid, most);
    } catch (error) {
      if (!hasCode(error, 'INTEGRITY') || !isHeld(ports.folder, oid)) throw error;
      await bringBack(ports, findMissing);
      return read(oid, most);
    }
  };
}

/** Holds nothing any more. */
export async function releaseHeld(ports: HoldPorts, findMissing: FindMissing): Promise<void> {
  if (mayBePruned(ports.folder)) await bringBack(ports, findMissing);
  releaseAll(ports);
}

/** Ids are spread evenly over 256 folders, so four of them tell, as one does for `gc.auto`. */
const counted = ['17', '5a', '9c', 'e3'];

/** About how many loose objects there are. */
export function estimateLoose(folder: string): number {
  const found = counted.reduce((sum, name) => sum + listFolder(join(folder, name)).length, 0);
  return (found * 256) / counted.length;
}
