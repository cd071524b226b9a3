import {
  chmodSync,
  closeSync,
  type Dirent,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  fsyncSync,
  futimesSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmdirSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';
import type { Random } from './clock.ts';

/**
 * The few file operations that everything durable is made of.
 * Crash tests replace it with one that dies at the n-th operation.
 */
export type Disk = {
  open(path: string, flags: string | number, mode?: number): number;
  write(fd: number, bytes: Uint8Array): number;
  /** Waits for the disk; several may wait at once. */
  sync(fd: number): Promise<void>;
  close(fd: number): void;
  rename(from: string, to: string): void;
  link(from: string, to: string): void;
  unlink(path: string): void;
  /** Makes one folder; its parent must exist. */
  mkdir(path: string): void;
  /** Removes an empty folder. */
  rmdir(path: string): void;
};

/** From here on, even a single sync is worth a thread. */
const slowSync: Millis = 1.5;
/** A moving average, so that one slow sync does not count as a slow disk. */
let usualSync: Millis = 0;
/** Syncs that were asked for in this turn, such as those of all the objects of a checkpoint. */
let askedTogether = 0;

/**
 * Several at once are synced in threads, because the disk can write them together. One alone blocks on a fast disk, which
 * answers sooner than a thread could be woken.
 */
async function sync(fd: number): Promise<void> {
  askedTogether += 1;
  await Promise.resolve();
  const isAlone = askedTogether === 1;
  queueMicrotask(() => {
    askedTogether -= 1; // once all of them have looked
  });
  if (!isAlone) return syncInThread(fd);
  const began = process.hrtime();
  if (usualSync < slowSync) fsyncSync(fd);
  else await syncInThread(fd);
  const [seconds, nanoseconds] = process.hrtime(began);
  usualSync = 0.8 * usualSync + 0.2 * (seconds * 1_000 + nanoseconds / 1_000_000);
}

function syncInThread(fd: number): Promise<void> {
  return new Promise((resolve, reject) => fsync(fd, (error) => (error ? reject(error) : resolve())));
}

export const realDisk: Disk = {
  open: (path, flags, mode) => openSync(path, flags, mode),
  write: (fd, bytes) => writeSync(fd, bytes),
  sync,
  close: (fd) => closeSync(fd),
  rename: (from, to) => renameSync(from, to),
  link: (from, to) => linkSync(from, to),
  unlink: (path) => unlinkSync(path),
  rmdir: (path) => rmdirSync(path),
  mkdir: (path) => {
    mkdirSync(path);
    // In a shared repository, the other users must be able to write to folders that this one makes.
    const { mode } = statSync(dirname(path));
    if (mode & 0o020) unless(absent, undefined, () => chmodSync(path, mode & 0o7777));
  },
};

/** Runs `work`, and returns `otherwise` if it fails with one of these system error codes. */
function unless<T, O>(codes: readonly string[], otherwise: O, work: () => T): T | O {
  try {
    return work();
  } catch (error) {
    if (codes.includes(systemCode(error) ?? '')) return otherwise;
    throw error;
  }
}

/** The path does not exist, or no longer does; ESTALE comes from network file systems. */
const absent: readonly string[] = ['ENOENT', 'ENOTDIR', 'ESTALE'];
/** No file can have this path: the name is too long or contains a NUL. Paths may come from elsewhere. */
const absentOrInvalid: readonly string[] = [...absent, 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'];

/** Tells whether an error means that a path is gone: another process may remove a file at any time. */
export function isGoneError(error: unknown): boolean {
  return absent.includes(systemCode(error) ?? '');
}

/** Reads a file, or returns null if there is none. */
export function readIfThere(path: string): Buffer | null {
  if (!existsSync(path)) return null; // cheaper than catching an error
  return unless(absent, null, () => readFileSync(path));
}

/** Reads a file as trimmed text, or returns null if there is none. */
export function readTextIfThere(path: string): string | null {
  return readIfThere(path)?.toString('utf8').trim() ?? null;
}

/** Lists the names in a folder; none if there is no folder. */
export function listFolder(path: string): string[] {
  if (!existsSync(path)) return [];
  return unless(absent, [], () => readdirSync(path));
}

/** Lists the entries of a folder with their types; none if there is no folder. */
export function readFolder(path: string): Dirent[] {
  if (!existsSync(path)) return [];
  return unless(absent, [], () => readdirSync(path, { withFileTypes: true }));
}

/** Stats a path without following a link; null if nothing is there. */
export function lstatIfThere(path: string): Stats | null {
  return unless(absentOrInvalid, null, () => lstatSync(path, { throwIfNoEntry: false })) ?? null;
}

export function statIfThere(path: string): Stats | null {
  return unless(absentOrInvalid, null, () => statSync(path, { throwIfNoEntry: false })) ?? null;
}

export function realPath(path: string): string {
  return realpathSync(path);
}

/** Reads a file from an offset, with its whole size; null if there is no file. */
export function readFrom(
  path: string,
  offset: number,
  most = Number.POSITIVE_INFINITY,
): { bytes: Buffer; size: number; inode: number } | null {
  const fd = unless(absent, null, () => openSync(path, 'r'));
  if (fd === null) return null;
  try {
    const { size, ino } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(Math.max(0, size - offset), most));
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(fd, bytes, length, bytes.length - length, offset + length);
      if (read === 0) break;
      length += read;
    }
    return { bytes: bytes.subarray(0, length), size, inode: ino };
  } finally {
    closeSync(fd);
  }
}

/** Removes a file that may already be gone, and tells whether it did. */
export function removeIfThere(disk: Disk, path: string): boolean {
  return unless(absent, false, () => {
    disk.unlink(path);
    return true;
  });
}

/** Removes an empty folder that may already be gone. */
export function removeFolderIfThere(disk: Disk, path: string): void {
  unless(absent, undefined, () => disk.rmdir(path));
}

/** Writes all bytes or fails: a disk that fills up may take only some of them without an error. */
export function writeAll(disk: Disk, fd: number, bytes: Uint8Array): void {
  const written = disk.write(fd, bytes);
  if (written !== bytes.length) {
    throw Object.assign(new Error(`only ${written} of ${bytes.length} bytes were written`), {
      code: 'ENOSPC',
    });
  }
}

/**
 * Waits until a folder's entries are on disk. Does nothing if the system cannot open folders, or if this one is gone:
 * git removes a folder after packing everything in it.
 */
export async function syncFolder(disk: Disk, path: string): Promise<void> {
  const fd = unless([...absent, 'EISDIR', 'EPERM', 'EACCES'], null, () => disk.open(path, 'r'));
  if (fd === null) return;
  try {
    await disk.sync(fd);
  } catch (error) {
    if (!['EINVAL', 'EBADF', 'EPERM'].includes(systemCode(error) ?? '')) throw error;
  } finally {
    disk.close(fd);
  }
}

/** Makes a folder that another process may make at the same time. */
export function makeIfMissing(disk: Disk, path: string): void {
  unless(['EEXIST'], undefined, () => disk.mkdir(path));
}

/** Makes a folder and its missing parents, and syncs them. */
export async function makeFolder(disk: Disk, path: string): Promise<void> {
  const made: string[] = [];
  for (let missing = path; statIfThere(missing) === null; missing = dirname(missing)) made.unshift(missing);
  for (const folder of made) makeIfMissing(disk, folder);
  await Promise.all(made.map((folder) => syncFolder(disk, dirname(folder))));
}

/** Makes a folder and runs `work` in it. Retries if the folder disappears, because git removes empty folders. */
export async function withFolder<T>(disk: Disk, folder: string, work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      await makeFolder(disk, folder);
      const isGone = statIfThere(folder) === null; // it may disappear during the sync
      if (isGone) makeIfMissing(disk, folder);
      const result = work();
      if (isGone) await syncFolder(disk, dirname(folder));
      return result;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || attempt >= 10) throw error;
    }
  }
}

/** Writes a file that may be lost in a crash: nothing waits for the disk. */
export function writeUnsynced(disk: Disk, path: string, content: string): void {
  const fd = disk.open(path, 'w', 0o644);
  try {
    writeAll(disk, fd, Buffer.from(content));
  } finally {
    disk.close(fd);
  }
}

export type WritePorts = { readonly disk: Disk; readonly random: Random };

export type WriteOptions = {
  /** Whether to wait for the disk; true by default. */
  readonly isDurable?: boolean;
  readonly mode?: number;
};

/** Replaces a file by renaming a synced temporary one over it: readers see the old content or the new. */
export async function writeAtomically(
  { disk, random }: WritePorts,
  path: string,
  content: Uint8Array | string,
  { isDurable = true, mode = 0o644 }: WriteOptions = {},
): Promise<void> {
  const folder = dirname(path);
  await makeFolder(disk, folder);
  const temporary = join(folder, `.tmp-${random.id(8)}`);
  const fd = disk.open(temporary, 'wx', mode);
  await moveIntoPlace(disk, { fd, temporary, path }, async () => {
    writeAll(disk, fd, Buffer.from(content));
    if (isDurable) await disk.sync(fd);
  });
  if (isDurable) await syncFolder(disk, folder);
}

/** Writes a file that must not exist yet, whole and synced; returns false if it does. */
export async function writeNew(
  { disk, random }: WritePorts,
  path: string,
  content: string,
): Promise<boolean> {
  const folder = dirname(path);
  await makeFolder(disk, folder);
  const temporary = join(folder, `.tmp-${random.id(8)}`);
  const fd = disk.open(temporary, 'wx', 0o644);
  try {
    try {
      writeAll(disk, fd, Buffer.from(content));
      await disk.sync(fd);
    } finally {
      disk.close(fd);
    }
    // Unlike a rename, a link never replaces what is there.
    disk.link(temporary, path);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    removeIfThere(disk, temporary);
  }
  await syncFolder(disk, folder);
  return true;
}

/** Fills a temporary file and gives it its name; leaves nothing behind if that fails. */
async function moveIntoPlace(
  disk: Disk,
  { fd, temporary, path }: { readonly fd: number; readonly temporary: string; readonly path: string },
  fill: () => Promise<void>,
): Promise<void> {
  try {
    await fill().finally(() => disk.close(fd));
    disk.rename(temporary, path);
  } catch (error) {
    removeIfThere(disk, temporary);
    throw error;
  }
}

/** No write takes longer: an older temporary file was left by a process that died. */
const longestWrite: Millis = 60_000;

/**
 * Replaces one of the user's files in one step and keeps its mode and owner, but only if it still holds the expected
 * bytes (null: does not exist). Returns whether it did.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  { expected, bytes }: { readonly expected: Uint8Array | null; readonly bytes: Uint8Array },
  random: string,
): Promise<boolean> {
  const before = statIfThere(path);
  if ((before === null) !== (expected === null)) return false;
  const temporary = `${temporaryPrefix(path)}${random}`;
  let isReplaced = false;
  try {
    await writeLike(disk, temporary, bytes, before);
    // No await between the check and the rename: another writer has the shortest possible time to be overwritten.
    if (expected === null ? statIfThere(path) === null : readIfThere(path)?.equals(expected)) {
      disk.rename(temporary, path);
      isReplaced = true;
    }
  } finally {
    if (!isReplaced) removeIfThere(disk, temporary);
  }
  if (isReplaced) await syncFolder(disk, dirname(path));
  return isReplaced;
}

/** Removes the temporary files of processes that died while they replaced a file. */
export function removeLeftovers(disk: Disk, path: string, now: Millis): void {
  const folder = dirname(path);
  const prefix = basename(temporaryPrefix(path));
  for (const name of listFolder(folder).filter((one) => one.startsWith(prefix))) {
    const age = now - (statIfThere(join(folder, name))?.mtimeMs ?? now);
    if (age > longestWrite) removeIfThere(disk, join(folder, name));
  }
}

function temporaryPrefix(path: string): string {
  return join(dirname(path), `.${basename(path)}.orch-`);
}

async function writeLike(disk: Disk, path: string, bytes: Uint8Array, model: Stats | null): Promise<void> {
  const fd = disk.open(path, 'wx', model ? 0o600 : 0o666);
  try {
    if (model) {
      const { uid, gid } = fstatSync(fd);
      // The owner first, because changing it clears mode bits.
      if (uid !== model.uid || gid !== model.gid) fchownSync(fd, model.uid, model.gid);
      fchmodSync(fd, model.mode & 0o7777);
    }
    writeAll(disk, fd, bytes);
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}

/**
 * Writes a file with a modification time in the future: a shell that compares it with a file of its own knows whether
 * that time has come, without starting a process. Not synced.
 */
export async function writeExpiring(
  disk: Disk,
  path: string,
  text: string,
  lasts: Millis,
  random: string,
): Promise<void> {
  const temporary = `${path}.${random}`;
  const fd = await withFolder(disk, dirname(path), () => disk.open(temporary, 'wx', 0o644));
  await moveIntoPlace(disk, { fd, temporary, path }, async () => {
    writeAll(disk, fd, Buffer.from(text));
    const until = (Date.now() + lasts) / 1_000;
    futimesSync(fd, until, until);
  });
}
