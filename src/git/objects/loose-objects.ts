import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hash } from '../../digest.ts';
import { systemCode, writeFailed } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import type { Random } from '../../system/clock.ts';
import { deflate, inflate } from '../../system/compression.ts';
import {
  type Disk,
  isGoneError,
  readIfThere,
  readTextIfThere,
  removeIfThere,
  statIfThere,
  withFolder,
  writeAll,
} from '../../system/disk.ts';
import { inBatches, makeMissingFolders, syncFolders } from '../../system/files-in-bulk.ts';
import type { Oid } from '../../types.ts';
import { damaged, type GitObject, maxObjectBytes, type ObjectFormat, tooLarge } from '../engine.ts';
import { type HoldPorts, holdObjects, loosePath, openHold } from './held-objects.ts';

/** `commit 12345678\0` and the like. */
const longestHeader = 64;

function frame({ kind, bytes }: GitObject): Buffer {
  return Buffer.concat([Buffer.from(`${kind} ${bytes.length}\0`), bytes]);
}

/** Remembers the ids of objects in use, so that each is hashed once. */
const ids = { sha1: new WeakMap<GitObject, Oid>(), sha256: new WeakMap<GitObject, Oid>() };

/** Computes the id of an object. */
export function hashObject(object: GitObject, format: ObjectFormat): Oid {
  const known = ids[format].get(object);
  if (known !== undefined) return known;
  const oid = parseOid(hash(format, frame(object)));
  ids[format].set(object, oid);
  return oid;
}

export type ObjectStore = HoldPorts & { readonly format: ObjectFormat; readonly random: Random };

/** `temporary` is the object's own path if another process already wrote it. */
type OpenFile = { readonly fd: number; readonly temporary: string };
type Pending = OpenFile & { readonly oid: Oid; readonly path: string };

/** Writes loose objects like git (a temporary file, then a rename), and syncs the files, then the folders. */
export async function writeLooseObjects(store: ObjectStore, objects: readonly GitObject[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryToWrite(store, objects);
    } catch (error) {
      // A cleanup may remove a temporary file, and `git prune` an object that already existed.
      if (!isGoneError(error) || attempt >= 20)
        throw writeFailed('the checkpoint could not be written', error);
    }
  }
}

async function tryToWrite(store: ObjectStore, objects: readonly GitObject[]): Promise<void> {
  const byId = new Map(objects.map((object) => [hashObject(object, store.format), object]));
  const folders = new Set([...byId.keys()].map((oid) => join(store.folder, oid.slice(0, 2))));
  // All at once, so that their parent is synced once.
  if (makeMissingFolders(store.disk, folders)) folders.add(store.folder);
  for (const part of inBatches(byId)) await writePart(store, part);
  await syncFolders(store.disk, folders);
}

async function writePart(store: ObjectStore, objects: readonly [Oid, GitObject][]): Promise<void> {
  const { disk } = store;
  const pending: Pending[] = [];
  try {
    // `git prune` removes temporary files beside the objects, so write elsewhere if it is on the same file system.
    const hold = openHold(store);
    const isNear = statIfThere(hold)?.dev === statIfThere(store.folder)?.dev;
    for (const [oid, object] of objects) {
      const path = loosePath(store.folder, oid);
      const folder = isNear ? hold : dirname(path);
      const write = () =>
        isWhole(path, object) ? openExisting(disk, path) : writeTemporary(store, folder, object);
      pending.push({ oid, path, ...(await withFolder(disk, folder, write)) });
    }
    await Promise.all(pending.map(({ fd }) => disk.sync(fd)));
    holdObjects(
      store,
      pending.map(({ oid, temporary }) => ({ oid, path: temporary })),
    );
    for (const { temporary, path } of pending)
      if (temporary !== path) await withFolder(disk, dirname(path), () => disk.rename(temporary, path));
  } catch (error) {
    for (const { temporary, path } of pending) if (temporary !== path) removeIfThere(disk, temporary);
    throw error;
  } finally {
    for (const { fd } of pending) disk.close(fd);
  }
}

/** Tells whether an object exists undamaged; a damaged one is written again. */
function isWhole(path: string, object: GitObject): boolean {
  const found = readIfThere(path);
  return found !== null && inflateIfWhole(found)?.equals(frame(object)) === true;
}

function inflateIfWhole(bytes: Buffer, most = maxObjectBytes): Buffer | null {
  try {
    return inflate(bytes, most);
  } catch (error) {
    if (systemCode(error)?.startsWith('Z_')) return null; // damaged
    throw error;
  }
}

/** A few compressed bytes can expand to gigabytes. */
function inflateBounded(bytes: Buffer, oid: Oid, most: number): Buffer | null {
  try {
    return inflateIfWhole(bytes, most + longestHeader);
  } catch (error) {
    if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(oid, most);
    throw error;
  }
}

/** Opens an object that another process wrote, perhaps without syncing it. */
function openExisting(disk: Disk, path: string): OpenFile {
  return { fd: disk.open(path, 'r'), temporary: path };
}

function writeTemporary({ disk, random }: ObjectStore, folder: string, object: GitObject): OpenFile {
  const temporary = join(folder, `tmp_obj_${random.id(8)}`);
  const fd = disk.open(temporary, 'wx', 0o444);
  try {
    writeAll(disk, fd, deflate(frame(object)));
  } catch (error) {
    disk.close(fd);
    removeIfThere(disk, temporary);
    throw error;
  }
  return { fd, temporary };
}

/** Reads a loose object; null if it is packed, missing or damaged. */
export function readLooseObject(folder: string, oid: Oid, most = maxObjectBytes): GitObject | null {
  const path = loosePath(folder, oid);
  // Zlib adds little to incompressible data, so a file above the limit has content above the limit.
  if ((statIfThere(path)?.size ?? 0) > most * 1.01 + longestHeader) throw tooLarge(oid, most);
  const bytes = readIfThere(path);
  const whole = bytes && inflateBounded(bytes, oid, most);
  const header = whole && /^(blob|tree|commit|tag) (\d+)\0/.exec(whole.toString('latin1', 0, 32));
  if (!whole || !header) return null;
  const body = whole.subarray(header[0].length);
  return body.length === Number(header[2]) ? { kind: header[1] as GitObject['kind'], bytes: body } : null;
}

/** Finds the object folders that this one borrows from (`git clone --reference`), directly or not. */
export function findAlternates(folder: string, seen = new Set<string>()): string[] {
  seen.add(folder);
  const found: string[] = [];
  for (const line of readTextIfThere(join(folder, 'info', 'alternates'))?.split('\n') ?? []) {
    const path = line.trim();
    if (path === '' || path.startsWith('#')) continue;
    const alternate = canonicalPath(folder, path);
    if (alternate === null || seen.has(alternate)) continue;
    found.push(alternate, ...findAlternates(alternate, seen));
  }
  return found;
}

function canonicalPath(base: string, path: string): string | null {
  try {
    return realpathSync(path.startsWith('/') ? path : join(base, path));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Moves a loose object to a folder if its content does not match its id. */
export function moveDamaged({ folder, format, disk }: ObjectStore, oid: Oid, target: string): void {
  const path = loosePath(folder, oid);
  const found = readLooseObject(folder, oid);
  if (statIfThere(path) === null || (found && hashObject(found, format) === oid)) return;
  if (statIfThere(target) === null) disk.mkdir(target);
  disk.rename(path, join(target, oid));
}

/** Returns an object if its content matches its id. */
export function checkObject(oid: Oid, object: GitObject, format: ObjectFormat): GitObject {
  if (hashObject(object, format) !== oid) throw damaged(oid, 'damaged: its content does not match its id');
  return object;
}
