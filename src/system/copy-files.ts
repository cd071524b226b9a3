import { constants, type Stats } from 'node:fs';
import { copyFile, cp, lstat, mkdir, readlink, realpath, symlink, unlink, utimes } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, sep } from 'node:path';
import { systemCode } from '../errors.ts';
import { inBatches } from './files-in-bulk.ts';

/**
 * Copies a file or folder. Contents are shared with the original until one is written to, where the file system can do
 * that. Links stay links; sockets and pipes are left out. Fails once the signal aborts.
 */
export async function copyFiles(from: string, to: string, signal?: AbortSignal): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    filter: async (path) => {
      signal?.throwIfAborted();
      const found = await lstat(path);
      return found.isFile() || found.isDirectory() || found.isSymbolicLink();
    },
  });
}

/** Why a file was not copied. */
export type NotCopied = { readonly path: string; readonly why: string };

type CopyRequest = {
  readonly from: string;
  readonly to: string;
  /** Below both folders. */
  readonly paths: readonly string[];
  /** Is what is there kept? Everything else is replaced. */
  readonly isKept: (path: string) => boolean;
  readonly signal?: AbortSignal | undefined;
};

/**
 * Copies files from one folder to the same paths below another, never through a link.
 * A link is copied only if what it points to is below the folder too: the copy would lead back to the original.
 */
export async function copyPaths({ from, to, paths, ...request }: CopyRequest): Promise<NotCopied[]> {
  const top = await realpath(from);
  const folders = new Map<string, Promise<string | null>>();
  const makeFolders = (path: string): Promise<string | null> => {
    if (path === '.' || path === '') return Promise.resolve(null);
    const known =
      folders.get(path) ?? makeFolders(dirname(path)).then((why) => why ?? makeOne(join(to, path)));
    folders.set(path, known);
    return known;
  };
  const left: NotCopied[] = [];
  for (const batch of inBatches(paths)) {
    request.signal?.throwIfAborted();
    const reasons = await Promise.all(
      batch.map(async (path) => {
        if (request.isKept(path)) return 'git tracks it in the worktree';
        const why = await makeFolders(dirname(path));
        return why ?? copyOne(top, path, join(to, path));
      }),
    );
    left.push(...batch.flatMap((path, at) => (reasons[at] ? [{ path, why: reasons[at] }] : [])));
  }
  return left;
}

async function makeOne(folder: string): Promise<string | null> {
  try {
    await mkdir(folder);
    return null;
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    return (await lstat(folder)).isDirectory() ? null : 'a file or link is where its folder would be';
  }
}

async function copyOne(top: string, path: string, to: string): Promise<string | null> {
  const source = join(top, path);
  let found: Stats;
  try {
    found = await lstat(source);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'it is gone';
    throw error;
  }
  if (!found.isFile() && !found.isSymbolicLink()) return 'it is neither a file nor a link';
  if (found.isSymbolicLink() && !(await staysInside(top, source)))
    return 'it is a link to something outside of the checkout';
  try {
    await unlink(to).catch(ignoreMissing);
    if (found.isSymbolicLink()) await symlink(await readlink(source), to);
    else await copyFile(source, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  } catch (error) {
    const code = systemCode(error) ?? '';
    if (['EEXIST', 'EISDIR', 'EPERM'].includes(code)) return 'something else is there';
    if (code === 'EACCES') return 'permission was denied';
    throw error;
  }
  if (found.isFile()) await utimes(to, found.atime, found.mtime);
  return null;
}

function ignoreMissing(error: unknown): void {
  if (systemCode(error) !== 'ENOENT') throw error;
}

/** Both what a link says and where it ends up: a copy of it leads to the copy of that. */
async function staysInside(top: string, link: string): Promise<boolean> {
  const target = await readlink(link);
  if (isAbsolute(target) || leavesFolder(top, join(dirname(link), target))) return false;
  try {
    return !leavesFolder(top, await realpath(link));
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? ''); // it dangles, and so does its copy
  }
}

function leavesFolder(top: string, path: string): boolean {
  const inner = relative(top, path);
  return (
    inner === '..' || inner.startsWith(`..${sep}`) || isAbsolute(inner) || inner.split(sep)[0] === '.git'
  );
}
