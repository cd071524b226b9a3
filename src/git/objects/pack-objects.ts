import { dirname, join } from 'node:path';
import { writeFailed } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import { type Disk, readIfThere } from '../../system/disk.ts';
import { syncFiles, syncFolders } from '../../system/files-in-bulk.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Oid } from '../../types.ts';
import type { ObjectFormat } from '../engine.ts';
import type { Repository } from '../repository.ts';
import { runOnIndex } from '../snapshot/index-commands.ts';
import { loosePath } from './held-objects.ts';

/** From this many objects on, one pack is faster: each file takes a sync, whatever its size. */
export const worthPacking = 500;

/** Copies loose objects into one pack, without syncing it. */
export async function packObjects(
  repository: Repository,
  folder: string,
  oids: readonly Oid[],
  environment: Environment,
): Promise<void> {
  // No search for deltas: git does that when it repacks the repository.
  const args = ['pack-objects', '-q', '--window=0', '--compression=1', join(folder, 'pack', 'pack')];
  await runOnIndex(repository, args, environment, oids.map((oid) => `${oid}\n`).join(''));
}

const marker = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
const fanoutBytes = 256 * 4;

/** Lists the objects in a pack from its index (`….idx`), which git writes in version 2. */
export function listPacked(path: string, format: ObjectFormat): Oid[] {
  const bytes = readIfThere(path);
  const from = marker.length + fanoutBytes;
  const total = bytes && bytes.length >= from ? bytes.readUInt32BE(from - 4) : 0;
  const width = format === 'sha1' ? 20 : 32;
  if (!bytes?.subarray(0, marker.length).equals(marker) || bytes.length < from + total * width)
    throw new Error(`git wrote a pack index that orch cannot read: ${path}`);
  return Array.from({ length: total }, (_, at) =>
    parseOid(bytes.toString('hex', from + at * width, from + (at + 1) * width)),
  );
}

/**
 * Syncs loose objects that git has just written without syncing: each file, its folder, and the parent, because git
 * makes the folders. Packed objects are already synced.
 */
export async function syncLooseObjects(disk: Disk, objects: string, oids: Iterable<Oid>): Promise<void> {
  const paths = [...new Set(oids)].map((oid) => loosePath(objects, oid));
  try {
    await syncFiles(disk, paths);
    await syncFolders(disk, new Set([objects, ...paths.map((path) => dirname(path))]));
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  }
}
