import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { adler32, hash } from '../digest.ts';
import { systemCode, writeFailed } from '../errors.ts';
import { parseOid } from '../ids.ts';
import type { Random } from '../system/clock.ts';
import { deflate, inflate } from '../system/compression.ts';
import {
  type Disk,
  inFolder,
  readIfThere,
  removeIfThere,
  saysGone,
  statIfThere,
  writeAll,
} from '../system/files.ts';
import { inParts, makeMissing, syncFolders } from '../system/many-files.ts';
import type { Oid } from '../types.ts';
import { damaged, type GitObject, maxObjectBytes, type ObjectFormat, tooLarge } from './engine.ts';
import { type HoldPorts, holdObjects, loosePath, openHold } from './object-hold.ts';

/** `commit 12345678\0` and the like. */
const longestHeader = 64;

function frame({ kind, bytes }: GitObject): Buffer {
  return Buffer.concat([Buffer.from(`${kind} ${bytes.length}\0`), bytes]);
}

/** The ids of objects still in use: one that is named, put into a tree and written is hashed once. */
const ids = { sha1: new WeakMap<GitObject, Oid>(), sha256: new WeakMap<GitObject, Oid>() };

/** The id git gives to an object. */
export function hashObject(object: GitObject, format: ObjectFormat): Oid {
  const known = ids[format].get(object);
  if (known !== undefined) return known;
  const oid = parseOid(hash(format, frame(object)));
  ids[format].set(object, oid);
  return oid;
}

export type ObjectStore = HoldPorts & { readonly format: ObjectFormat; readonly random: Random };

type Written = { readonly fd: number; readonly temporary: string };
type Pending = Written & { readonly oid: Oid; readonly path: string };

/**
 * Writes loose objects the way git does (a temporary file, then a rename), and waits for the disk:
 * first for the files, many at once, then for the folders.
 */
export async function writeLooseObjects(store: ObjectStore, objects: readonly GitObject[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryToWrite(store, objects);
    } catch (error) {
      // A cleanup may remove a temporary file, and `git prune` one that was there before us.
      if (!saysGone(error) || attempt >= 20) throw writeFailed('the checkpoint could not be written', error);
    }
  }
}

async function tryToWrite(store: ObjectStore, objects: readonly GitObject[]): Promise<void> {
  const byId = new Map(objects.map((object) => [hashObject(object, store.format), object]));
  const folders = new Set([...byId.keys()].map((oid) => join(store.folder, oid.slice(0, 2))));
  // All at once, so that the folder above them is waited for once.
  if (makeMissing(store.disk, folders)) folders.add(store.folder);
  for (const part of inParts(byId)) await writePart(store, part);
  await syncFolders(store.disk, folders);
}

async function writePart(store: ObjectStore, objects: readonly [Oid, GitObject][]): Promise<void> {
  const { disk } = store;
  const pending: Pending[] = [];
  try {
    // Out of the reach of `git prune`, which removes the temporary files of others too; a rename takes one file system.
    const hold = openHold(store);
    const place = statIfThere(hold)?.dev === statIfThere(store.folder)?.dev ? hold : null;
    for (const [oid, object] of objects) {
      const path = loosePath(store.folder, oid);
      const folder = place ?? dirname(path);
      const write = () =>
        isWhole(path, object) ? openExisting(disk, path) : writeTemporary(store, folder, object);
      pending.push({ oid, path, ...(await inFolder(disk, folder, write)) });
    }
    await Promise.all(pending.map(({ fd }) => disk.sync(fd)));
    holdObjects(
      store,
      pending.map(({ oid, temporary }) => ({ oid, path: temporary })),
    );
    for (const { temporary, path } of pending)
      if (temporary !== path) await inFolder(disk, dirname(path), () => disk.rename(temporary, path));
  } catch (error) {
    for (const { temporary, path } of pending) if (temporary !== path) removeIfThere(disk, temporary);
    throw error;
  } finally {
    for (const { fd } of pending) disk.close(fd);
  }
}

/** Is the object there, and not a torn leftover? One that is torn is written again. */
function isWhole(path: string, object: GitObject): boolean {
  const found = readIfThere(path);
  return found !== null && inflateIfWhole(found)?.equals(frame(object)) === true;
}

function inflateIfWhole(bytes: Buffer, most = maxObjectBytes): Buffer | null {
  try {
    return readStored(bytes) ?? inflate(bytes, most);
  } catch (error) {
    if (systemCode(error)?.startsWith('Z_')) return null; // torn: the caller writes it again
    throw error;
  }
}

/** A few bytes can say that they become gigabytes. */
function inflateBounded(bytes: Buffer, oid: Oid, most: number): Buffer | null {
  try {
    return inflateIfWhole(bytes, most + longestHeader);
  } catch (error) {
    if (systemCode(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(oid, most);
    throw error;
  }
}

/** Somebody wrote it before us, perhaps without waiting for the disk. */
function openExisting(disk: Disk, path: string): Written {
  return { fd: disk.open(path, 'r'), temporary: path };
}

function writeTemporary({ disk, random }: ObjectStore, folder: string, object: GitObject): Written {
  const temporary = join(folder, `tmp_obj_${random.id(8)}`);
  const fd = disk.open(temporary, 'wx', 0o444);
  try {
    writeAll(disk, fd, compress(frame(object)));
  } catch (error) {
    disk.close(fd);
    removeIfThere(disk, temporary);
    throw error;
  }
  return { fd, temporary };
}

/** Loading what compresses takes longer than to write and read this much; git packs it within the hour. */
const maxStoredBytes = 32_768;
const storedHeader = Buffer.from([0x78, 0x01, 0x01]);

/** Fast rather than small, as git does by default. Most objects are stored as they are, in the same format. */
function compress(bytes: Buffer): Buffer {
  const size = bytes.length;
  const sum = size + 11 > maxStoredBytes ? null : adler32(bytes);
  if (sum === null) return deflate(bytes);
  const stored = Buffer.alloc(size + 11);
  storedHeader.copy(stored);
  stored.writeUInt16LE(size, 3);
  stored.writeUInt16LE(size ^ 0xffff, 5);
  bytes.copy(stored, 7);
  stored.writeUInt32BE(sum, size + 7);
  return stored;
}

/** What `compress` stored as it is, or null where it is not that. */
function readStored(bytes: Buffer): Buffer | null {
  if (bytes.length < 11 || !bytes.subarray(0, 3).equals(storedHeader)) return null;
  const size = bytes.readUInt16LE(3);
  const body = bytes.subarray(7, 7 + size);
  // Whether the content is right is told by the object's id.
  return bytes.length === size + 11 && bytes.readUInt16LE(5) === (size ^ 0xffff) ? body : null;
}

/** A loose object of this id, or null where it is packed or not there. */
export function readLooseObject(folder: string, oid: Oid, most = maxObjectBytes): GitObject | null {
  const path = loosePath(folder, oid);
  // Zlib adds little to what it cannot compress; what is larger on disk than allowed is so inside too.
  const isHuge = (statIfThere(path)?.size ?? 0) > most * 1.01 + longestHeader;
  if (isHuge) throw tooLarge(oid, most);
  const bytes = readIfThere(path);
  const whole = bytes && inflateBounded(bytes, oid, most);
  const header = whole && /^(blob|tree|commit|tag) (\d+)\0/.exec(whole.toString('latin1', 0, 32));
  if (!whole || !header) return null;
  const body = whole.subarray(header[0].length);
  return body.length === Number(header[2]) ? { kind: header[1] as GitObject['kind'], bytes: body } : null;
}

/** The object folders this one borrows from (`git clone --reference`), theirs included. */
export function findAlternates(folder: string, seen = new Set<string>()): string[] {
  seen.add(folder);
  const lines =
    readIfThere(join(folder, 'info', 'alternates'))
      ?.toString('utf8')
      .split('\n') ?? [];
  const found: string[] = [];
  for (const line of lines) {
    const path = line.trim();
    if (path === '' || path.startsWith('#')) continue;
    const alternate = canonicalPath(join(folder, '.'), path);
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

/** Moves a loose object that is not what its id says into a folder. */
export function setAsideDamaged({ folder, format, disk }: ObjectStore, oid: Oid, target: string): void {
  const path = loosePath(folder, oid);
  const found = readLooseObject(folder, oid);
  if (statIfThere(path) === null || (found && hashObject(found, format) === oid)) return;
  if (statIfThere(target) === null) disk.mkdir(target);
  disk.rename(path, join(target, oid));
}

/** Hands an object on if it is what its id says. */
export function checkObject(oid: Oid, object: GitObject, format: ObjectFormat): GitObject {
  if (hashObject(object, format) !== oid) throw damaged(oid, 'damaged: its content does not match its id');
  return object;
}
