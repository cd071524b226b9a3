import { dirname, join } from 'node:path';
import { systemCode, writeFailed } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import {
  type Disk,
  listFolder,
  makeFolder,
  removeIfThere,
  statIfThere,
  withFolder,
} from '../../system/disk.ts';
import { makeMissingFolders, removeTree, syncFiles, syncFolders } from '../../system/files-in-bulk.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Millis, Oid } from '../../types.ts';
import type { EnginePorts, GitEngine } from '../engine.ts';
import { holdObjects, loosePath } from './held-objects.ts';
import { listPacked, packObjects, worthPacking } from './pack-objects.ts';

type QuarantinePorts = EnginePorts & {
  readonly git: GitEngine;
  /** `<common git dir>/orchestration` */
  readonly home: string;
};

/** A file that was added to the repository's objects, by its path below that folder, and the objects in it. */
export type Written = { readonly file: string; readonly oids: readonly Oid[] };

/** A separate folder for new objects, like the one git uses for pushed objects. */
export type Quarantine = {
  /** Makes git write new objects there; it still reads all others. */
  readonly environment: Environment;
  /** Syncs what is there now, so that less is left for `release`. */
  sync(): Promise<void>;
  /** Moves all objects into the repository, syncs them, and returns them. */
  release(): Promise<Written[]>;
  /** Does the same for these objects only, as far as they are in the folder. */
  releaseOnly(oids: readonly Oid[]): Promise<Written[]>;
  /** Closes the folder and discards what is still in it; `isEmpty` if nothing can be. */
  close(isEmpty?: boolean): void;
};

/** Fewer objects than this stay loose even if there are packs. */
const fewLoose = 20;

/** A folder of this age was left by a snapshot that crashed. */
const leftoverAge: Millis = 3_600_000;

/**
 * Opens a folder for the objects of one snapshot. It shows which objects are new, so that this process can sync all
 * files in parallel, and the folders too, which git does not; and a failed snapshot leaves nothing behind.
 * A closed folder is kept for the next snapshot: making and removing its subfolders takes longer than filling them.
 */
export async function openQuarantine(ports: QuarantinePorts): Promise<Quarantine> {
  const { disk, random, home, repository } = ports;
  const objects = join(repository.commonDir, 'objects');
  // Objects are moved by renaming, which works only within one file system.
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
      // If there are packs already, syncing one more is faster than syncing loose trees.
      const hasPacks = listFolder(join(folder, 'pack')).length > 0;
      await syncObjects(ports, place, synced, hasPacks ? fewLoose : worthPacking);
      return moveObjects(ports, folder, listObjects(folder).filter(isWhole), objects);
    },
    releaseOnly: async (oids) => {
      const names = [...new Set(oids)].map((oid) => loosePath('', oid));
      const existing = names.filter((name) => statIfThere(join(folder, name)) !== null);
      const unsynced = existing.filter((name) => !synced.has(name));
      await syncNamed(disk, folder, unsynced, synced);
      return moveObjects(ports, folder, existing, objects);
    },
    close: (isEmpty = false) => {
      if (!isEmpty) for (const name of listObjects(folder)) removeIfThere(disk, join(folder, name));
      if (!tryRename(disk, folder, spare)) removeTree(disk, folder);
      removeLeftovers(ports, base);
    },
  };
}

function tryRename(disk: Disk, from: string, to: string): boolean {
  // A rename would silently replace an empty folder.
  if (statIfThere(from) === null || statIfThere(to) !== null) return false;
  try {
    disk.rename(from, to);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EPERM'].includes(systemCode(error) ?? '')) return false;
    throw error;
  }
}

/** Git separates paths by colons, and a quoted one may contain a colon. */
function quotePath(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** Lists the files in the folder (`ab/cdef…`), including temporary files of a git that was killed. */
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
  // Indexes last: a pack becomes visible with its index.
  const names = listed.toSorted((a, b) => Number(isIndex(a)) - Number(isIndex(b)));
  const written = names.flatMap((file): Written[] => {
    if (looseName.test(file)) return [{ file, oids: [oidOf(file)] }];
    return isIndex(file) ? [{ file, oids: listPacked(join(folder, file), git.format) }] : [];
  });
  const folders = new Set(names.map((name) => dirname(join(objects, name))));
  try {
    // All at once, so that their parent is synced once.
    if (makeMissingFolders(disk, folders)) folders.add(objects);
    // A prune does not remove packs.
    const loose = names.filter((name) => looseName.test(name));
    holdObjects(
      { ...ports, folder: objects },
      loose.map((name) => ({ oid: oidOf(name), path: join(folder, name) })),
    );
    for (const name of names) {
      const target = join(objects, name);
      await withFolder(disk, dirname(target), () => disk.rename(join(folder, name), target));
    }
    await syncFolders(disk, folders);
    return written;
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  }
}

function removeLeftovers({ disk, clock }: QuarantinePorts, base: string): void {
  for (const name of listFolder(base)) {
    const stat = name === 'spare' ? null : statIfThere(join(base, name));
    if (stat && clock.now() - stat.ctimeMs > leftoverAge) removeTree(disk, join(base, name));
  }
}
