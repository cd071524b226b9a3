import { dirname, join } from 'node:path';
import { systemCode, writeFailed } from '../errors.ts';
import { parseOid } from '../ids.ts';
import type { Clock, Random } from '../system/clock.ts';
import {
  type Disk,
  inFolder,
  listFolder,
  makeFolder,
  removeFolderIfThere,
  removeIfThere,
  statIfThere,
} from '../system/files.ts';
import { makeMissing, syncFiles, syncFolders } from '../system/many-files.ts';
import type { Environment } from '../system/spawn.ts';
import type { Millis, Oid } from '../types.ts';
import type { GitEngine } from './engine.ts';
import { holdObjects } from './object-hold.ts';
import { listPacked, packObjects, worthPacking } from './object-packs.ts';
import type { Repository } from './repository.ts';

export type QuarantinePorts = {
  readonly repository: Repository;
  readonly git: GitEngine;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  /** `<common git dir>/orchestration` */
  readonly home: string;
};

/** A file that was added to the repository's objects, by its path among them, and what is in it. */
export type Written = { readonly file: string; readonly oids: readonly Oid[] };

/** A folder for new objects beside the repository's own, as git itself uses one for what is pushed to it. */
export type Quarantine = {
  /** Sends the objects a git writes there; it sees all others too. */
  readonly environment: Environment;
  /** Waits for the disk for what is there by now, so that less is left for `release`. */
  sync(): Promise<void>;
  /** Moves the objects to the repository's own, and says which; on disk to stay when it returns. */
  release(): Promise<Written[]>;
  /** The same for objects that are known: those of them that are in it. Nothing else is looked for. */
  releaseOnly(oids: readonly Oid[]): Promise<Written[]>;
  /** Gives the folder back, without what is still in it; `isEmpty` where nothing can be. */
  close(isEmpty?: boolean): void;
};

/** Fewer than this stay loose even beside packs. */
const fewLoose = 20;

/** A crashed snapshot leaves its folder behind; nobody works in one for longer than this. */
const leftoverAge: Millis = 3_600_000;

/**
 * Opens a folder for the objects of one snapshot. It tells which objects are new, so that this process can wait for
 * the disk, all files at once and the folders too, which no git does; and a snapshot that fails leaves nothing behind.
 * One that is done with is kept for the next: to make and remove its folders takes longer than to fill them.
 */
export async function openQuarantine(ports: QuarantinePorts): Promise<Quarantine> {
  const { disk, random, home, repository } = ports;
  const objects = join(repository.commonDir, 'objects');
  // Objects are moved by renaming, which works on one file system only.
  const isNear = statIfThere(home)?.dev === statIfThere(objects)?.dev;
  const base = join(isNear ? home : objects, 'snapshot-objects');
  await makeFolder(disk, base);
  const spare = join(base, 'spare');
  const folder = join(base, random.id(8));
  if (!tryRename(disk, spare, folder)) disk.mkdir(folder);
  const synced = new Set<string>();
  const environment = {
    GIT_OBJECT_DIRECTORY: folder,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: quotePath(objects),
  };
  const place = { folder, environment };
  return {
    environment,
    sync: () => syncObjects(ports, place, synced, worthPacking),
    release: async () => {
      // Where there are packs already, one more for the trees is less to wait for than they are.
      const hasPacks = listFolder(join(folder, 'pack')).length > 0;
      await syncObjects(ports, place, synced, hasPacks ? fewLoose : worthPacking);
      return moveObjects(ports, folder, listObjects(folder).filter(isWhole), objects);
    },
    releaseOnly: async (oids) => {
      const names = [...new Set(oids)].map((oid) => join(oid.slice(0, 2), oid.slice(2)));
      const inIt = names.filter((name) => statIfThere(join(folder, name)) !== null);
      await syncNamed(
        disk,
        folder,
        inIt.filter((name) => !synced.has(name)),
        synced,
      );
      return moveObjects(ports, folder, inIt, objects);
    },
    close: (isEmpty = false) => {
      if (!isEmpty) for (const name of listObjects(folder)) removeIfThere(disk, join(folder, name));
      if (!tryRename(disk, folder, spare)) removeFolder(disk, folder);
      removeLeftovers(ports, base);
    },
  };
}

function tryRename(disk: Disk, from: string, to: string): boolean {
  // An empty folder would be replaced without a word.
  if (statIfThere(from) === null || statIfThere(to) !== null) return false;
  try {
    disk.rename(from, to);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EPERM'].includes(systemCode(error) ?? '')) return false;
    throw error;
  }
}

/** A quoted path in a list that is separated by colons may hold a colon itself. */
function quotePath(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** What is in it, `ab/cdef…`, and what a git that was killed was about to put there. */
function listObjects(folder: string): string[] {
  return listFolder(folder).flatMap((first) =>
    listFolder(join(folder, first)).map((rest) => join(first, rest)),
  );
}

const looseName = /^[0-9a-f]{2}[/\\][0-9a-f]+$/;
const packName = /^pack[/\\]pack-[0-9a-f]+\.(?:pack|rev|idx)$/;

function isWhole(name: string): boolean {
  return looseName.test(name) || packName.test(name);
}

function oidOf(name: string): Oid {
  return parseOid(name.replace(/[/\\]/, ''));
}

type Place = { readonly folder: string; readonly environment: Environment };

async function syncObjects(
  { disk, repository }: QuarantinePorts,
  { folder, environment }: Place,
  synced: Set<string>,
  mostLoose: number,
): Promise<void> {
  const listNew = () => listObjects(folder).filter((name) => isWhole(name) && !synced.has(name));
  const loose = listNew().filter((name) => looseName.test(name));
  if (loose.length >= mostLoose) {
    await packObjects(repository, folder, loose.map(oidOf), environment);
    for (const name of loose) removeIfThere(disk, join(folder, name));
  }
  await syncNamed(disk, folder, listNew(), synced);
}

async function syncNamed(
  disk: Disk,
  folder: string,
  names: readonly string[],
  synced: Set<string>,
): Promise<void> {
  try {
    await syncFiles(
      disk,
      names.map((name) => join(folder, name)),
    );
    for (const name of names) synced.add(name);
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  }
}

async function moveObjects(
  ports: QuarantinePorts,
  folder: string,
  listed: readonly string[],
  objects: string,
): Promise<Written[]> {
  const { disk, git } = ports;
  const isIndex = (name: string) => name.endsWith('.idx');
  // A pack is there once its index is.
  const names = listed.toSorted((a, b) => Number(isIndex(a)) - Number(isIndex(b)));
  const written = names.flatMap((file): Written[] => {
    if (looseName.test(file)) return [{ file, oids: [oidOf(file)] }];
    return isIndex(file) ? [{ file, oids: listPacked(join(folder, file), git.format) }] : [];
  });
  const folders = new Set(names.map((name) => dirname(join(objects, name))));
  try {
    // All at once, so that the folder above them is waited for once.
    if (makeMissing(disk, folders)) folders.add(objects);
    // A pack is none of what a prune removes.
    const loose = names.filter((name) => looseName.test(name));
    holdObjects(
      { ...ports, folder: objects },
      loose.map((name) => ({ oid: oidOf(name), path: join(folder, name) })),
    );
    for (const name of names) {
      const target = join(objects, name);
      await inFolder(disk, dirname(target), () => disk.rename(join(folder, name), target));
    }
    await syncFolders(disk, folders);
    return written;
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  }
}

function removeFolder(disk: Disk, folder: string): void {
  for (const name of listObjects(folder)) removeIfThere(disk, join(folder, name));
  for (const first of listFolder(folder)) removeFolderIfThere(disk, join(folder, first));
  removeFolderIfThere(disk, folder);
}

function removeLeftovers({ disk, clock }: QuarantinePorts, base: string): void {
  for (const name of listFolder(base)) {
    const stat = name === 'spare' ? null : statIfThere(join(base, name));
    if (stat && clock.now() - stat.ctimeMs > leftoverAge) removeFolder(disk, join(base, name));
  }
}
