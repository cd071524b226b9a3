import { join } from 'node:path';
import { parseOid } from '../ids.ts';
import { readIfThere } from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';
import type { Oid } from '../types.ts';
import type { ObjectFormat } from './engine.ts';
import type { Repository } from './repository.ts';
import { gitFailed } from './spawn.ts';
import { runOnIndex } from './work-tree-git.ts';

/** From here on one pack is worth it: waiting for the disk takes its time for each file, whatever its size. */
export const worthPacking = 500;

/** Puts objects into one pack of an objects' folder; where they were, they stay. Not on disk to stay when it returns. */
export async function packObjects(
  repository: Repository,
  folder: string,
  oids: readonly Oid[],
  environment: Environment,
): Promise<void> {
  // No search for what is alike: git does that when it packs all of the repository.
  const args = ['pack-objects', '-q', '--window=0', '--compression=1', join(folder, 'pack', 'pack')];
  const result = await runOnIndex(repository, args, environment, oids.map((oid) => `${oid}\n`).join(''));
  if (result.status !== 0) throw gitFailed(args, result);
}

const marker = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
const fanoutBytes = 256 * 4;

/** The objects in a pack, by its index (`….idx`), which git writes in version 2. */
export function listPacked(path: string, format: ObjectFormat): Oid[] {
  const bytes = readIfThere(path);
  const from = marker.length + fanoutBytes;
  const total = bytes && bytes.length >= from ? bytes.readUInt32BE(from - 4) : 0;
  const width = format === 'sha1' ? 20 : 32;
  if (!bytes?.subarray(0, marker.length).equals(marker) || bytes.length < from + total * width)
    throw new Error(`git wrote an index of a pack that cannot be read: ${path}`);
  return Array.from({ length: total }, (_, at) =>
    parseOid(bytes.toString('hex', from + at * width, from + (at + 1) * width)),
  );
}
