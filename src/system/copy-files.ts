import { constants } from 'node:fs';
import { cp, lstat, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

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
