import {
  chmodSync,
  closeSync,
  type Dirent,
  existsSync,
  fstatSync,
  fsync,
  fsyncSync,
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
import { dirname, join } from 'node:path';
import { systemCode } from '../errors.ts';
import type { Millis } from '../types.ts';

/**
 * The few file operations everything durable is made of.
 * Tests put one between orch and the disk that dies at the n-th operation.
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
  /** Makes a folder; its parent must be there. */
  mkdir(path: string): void;
  /** Removes a folder, which must be empty. */
  rmdir(path: string): void;
};

/** Past this, waiting for several at once is worth the threads it takes. */
const slowSync: Millis = 1.5;
/** What a wait for this disk takes, smoothed: one slow answer is no slow disk. */
let usualSync: Millis = 0;

/** A fast disk answers sooner than a thread could be asked to wait for it. */
async function sync(fd: number): Promise<void> {
  const began = process.hrtime();
  if (usualSync < slowSync) fsyncSync(fd);
  else
    await new Promise<void>((resolve, reject) => fsync(fd, (error) => (error ? reject(error) : resolve())));
  const [seconds, nanoseconds] = process.hrtime(began);
  usualSync = 0.8 * usualSync + 0.2 * (seconds * 1_000 + nanoseconds / 1_000_000);
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
    // In a repository that several users share, what one makes the others must be able to write.
    const { mode } = statSync(dirname(path));
    if (mode & 0o020) unless(absent, undefined, () => chmodSync(path, mode & 0o7777));
  },
};

/** Runs `work`; a system error of one of these codes gives `otherwise` instead. */
function unless<T, O>(codes: readonly string[], otherwise: O, work: () => T): T | O {
  try {
    return work();
  } catch (error) {
    if (codes.includes(systemCode(error) ?? '')) return otherwise;
    throw error;
  }
}

/** What the system says of a path that is not there, or no longer; the last one on a network file system. */
const absent: readonly string[] = ['ENOENT', 'ENOTDIR', 'ESTALE'];
/** The same of a path that nothing can have: a name that is too long, or that holds a NUL. Others may have given it. */
const impossible: readonly string[] = [...absent, 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'];

/** Does an error say that a path is gone? Another process may remove what this one has just seen. */
export function saysGone(error: unknown): boolean {
  return absent.includes(systemCode(error) ?? '');
}

/** A file's bytes, or null where there is none. */
export function readIfThere(path: string): Buffer | null {
  if (!existsSync(path)) return null; // an error that is caught costs more than this look
  return unless(absent, null, () => readFileSync(path));
}

/** A file's text without the white space around it, or null where there is none. */
export function readTextIfThere(path: string): string | null {
  return readIfThere(path)?.toString('utf8').trim() ?? null;
}

/** The names in a folder; none where there is no folder. */
export function listFolder(path: string): string[] {
  if (!existsSync(path)) return [];
  return unless(absent, [], () => readdirSync(path));
}

/** What is in a folder, with what each entry is; nothing where there is no folder. */
export function readFolder(path: string): Dirent[] {
  if (!existsSync(path)) return [];
  return unless(absent, [], () => readdirSync(path, { withFileTypes: true }));
}

/** The same for a path itself, and for a link rather than what it leads to; null where there is nothing. */
export function lstatIfThere(path: string): Stats | null {
  return unless(impossible, null, () => lstatSync(path, { throwIfNoEntry: false })) ?? null;
}

export function statIfThere(path: string): Stats | null {
  return unless(impossible, null, () => statSync(path, { throwIfNoEntry: false })) ?? null;
}

export function realPath(path: string): string {
  return realpathSync(path);
}

/** What stands in a file from a byte on, and how long the file is; null where there is none. */
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

/** Removes a file that may be gone already. */
export function removeIfThere(disk: Disk, path: string): boolean {
  return unless(absent, false, () => {
    disk.unlink(path);
    return true;
  });
}

/** Removes an empty folder that may be gone already. */
export function removeFolderIfThere(disk: Disk, path: string): void {
  unless(absent, undefined, () => disk.rmdir(path));
}

/** Writes all of it: a disk that fills up may take a part without an error. */
export function writeAll(disk: Disk, fd: number, bytes: Uint8Array): void {
  const written = disk.write(fd, bytes);
  if (written !== bytes.length) {
    throw Object.assign(new Error(`only ${written} of ${bytes.length} bytes were written`), {
      code: 'ENOSPC',
    });
  }
}

/**
 * Waits until a folder's own entries are on disk. A no-op where the system cannot open a folder, and where it is gone:
 * git removes a folder when it has packed all that was in it.
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

/** Makes a folder that somebody else may make at the same time. */
export function makeIfMissing(disk: Disk, path: string): void {
  unless(['EEXIST'], undefined, () => disk.mkdir(path));
}

/** Makes a folder and its parents; the ones made are on disk when this returns. */
export async function makeFolder(disk: Disk, path: string): Promise<void> {
  const made: string[] = [];
  for (let missing = path; statIfThere(missing) === null; missing = dirname(missing)) made.unshift(missing);
  for (const folder of made) makeIfMissing(disk, folder);
  await Promise.all(made.map((folder) => syncFolder(disk, dirname(folder))));
}

/** Makes a folder and works in it; again if the folder went in between, because git removes folders it finds empty. */
export async function inFolder<T>(disk: Disk, folder: string, work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      await makeFolder(disk, folder);
      const isGone = statIfThere(folder) === null; // while we waited for the disk
      if (isGone) makeIfMissing(disk, folder);
      const result = work();
      if (isGone) await syncFolder(disk, dirname(folder));
      return result;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || attempt >= 10) throw error;
    }
  }
}

/** Writes a new file, waits for the disk, and puts it in its place in one step: readers see the old or the new. */
export async function writeAtomically(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  random: string,
): Promise<void> {
  const folder = dirname(path);
  await makeFolder(disk, folder);
  const temporary = join(folder, `.tmp-${random}`);
  try {
    const fd = disk.open(temporary, 'wx', 0o644);
    try {
      writeAll(disk, fd, bytes);
      await disk.sync(fd);
    } finally {
      disk.close(fd);
    }
    disk.rename(temporary, path);
  } catch (error) {
    removeIfThere(disk, temporary);
    throw error;
  }
  await syncFolder(disk, folder);
}
