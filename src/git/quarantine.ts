import { dirname, join } from 'node:path';
import { systemCode, writeFailed } from '../errors.ts';
import { parseOid } from '../ids.ts';
import type { Clock, Random } from '../system/clock.ts';
import {
  type Disk,
  inFolder,
  listFolder,
  makeFolder,
  makeIfMissing,
  removeFolderIfThere,
  removeIfThere,
  statIfThere,
  syncFolder,
} from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';
import type { Millis, Oid } from '../types.ts';
import { holdObjects } from './object-hold.ts';

export type QuarantinePorts = {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  /** `<common git dir>/orchestration` */
  readonly home: string;
};

/** A folder for new objects beside the repository's own, as git itself uses one for what is pushed to it. */
export type Quarantine = {
  /** Sends the objects a git writes there; it sees all others too. */
  readonly environment: Environment;
  /** Waits for the disk for what is there by now, so that less is left for `release`. */
  sync(): Promise<void>;
  /** Moves the objects to the repository's own, and says which; on disk to stay when it returns. */
  release(): Promise<Oid[]>;
  /** The same for objects that are known: those of them that are in it. Nothing else is looked for. */
  releaseOnly(oids: readonly Oid[]): Promise<Oid[]>;
  /** Gives the folder back, without what is still in it; `isEmpty` where nothing can be. */
  close(isEmpty?: boolean): void;
};

/** A crashed snapshot leaves its folder behind; nobody works in one for longer than this. */
const leftoverAge: Millis = 3_600_000;

/**
 * Opens a folder for the objects of one snapshot. It tells which objects are new, so that this process can wait for
 * the disk, all files at once and the folders too, which no git does; and a snapshot that fails leaves nothing behind.
 * One that is done with is kept for the next: to make and remove its folders takes longer than to fill them.
 */
export async function openQuarantine(ports: QuarantinePorts, objects: string): Promise<Quarantine> {
  const { disk, random, home } = ports;
  // Objects are moved by renaming, which works on one file system only.
  const isNear = statIfThere(home)?.dev === statIfThere(objects)?.dev;
  const base = join(isNear ? home : objects, 'snapshot-objects');
  await makeFolder(disk, base);
  const spare = join(base, 'spare');
  const folder = join(base, random.id(8));
  if (!tryRename(disk, spare, folder)) disk.mkdir(folder);
  const synced = new Set<string>();
  return {
    environment: {
      GIT_OBJECT_DIRECTORY: folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quotePath(objects),
    },
    sync: () => syncObjects(disk, folder, listObjects(folder).filter(isWhole), synced),
    release: async () => {
      const names = listObjects(folder).filter(isWhole);
      await syncObjects(disk, folder, names, synced);
      return moveObjects(ports, folder, names, objects);
    },
    releaseOnly: async (oids) => {
      const names = [...new Set(oids)].map((oid) => join(oid.slice(0, 2), oid.slice(2)));
      const inIt = names.filter((name) => statIfThere(join(folder, name)) !== null);
      await syncObjects(disk, folder, inIt, synced);
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

function isWhole(name: string): boolean {
  return /^[0-9a-f]{2}[/\\][0-9a-f]+$/.test(name);
}

async function syncObjects(
  disk: Disk,
  folder: string,
  all: readonly string[],
  synced: Set<string>,
): Promise<void> {
  const names = all.filter((name) => !synced.has(name));
  const open: number[] = [];
  try {
    for (const name of names) open.push(disk.open(join(folder, name), 'r'));
    await Promise.all(open.map((fd) => disk.sync(fd)));
    for (const name of names) synced.add(name);
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  } finally {
    for (const fd of open) disk.close(fd);
  }
}

async function moveObjects(
  ports: QuarantinePorts,
  folder: string,
  names: readonly string[],
  objects: string,
): Promise<Oid[]> {
  const { disk } = ports;
  const files = names.map((name) => ({ oid: parseOid(name.replace(/[/\\]/, '')), path: join(folder, name) }));
  const folders = new Set(names.map((name) => dirname(join(objects, name))));
  const missing = [...folders].filter((target) => statIfThere(target) === null);
  try {
    // All at once, so that the folder above them is waited for once.
    for (const target of missing) makeIfMissing(disk, target);
    holdObjects({ ...ports, folder: objects }, files);
    for (const name of names) {
      const target = join(objects, name);
      await inFolder(disk, dirname(target), () => disk.rename(join(folder, name), target));
    }
    if (missing.length > 0) folders.add(objects);
    await Promise.all([...folders].map((changed) => syncFolder(disk, changed)));
    return files.map(({ oid }) => oid);
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
