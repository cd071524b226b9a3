import { dirname, join } from 'node:path';
import { systemCode, writeFailed } from '../errors.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, inFolder, listFolder, removeIfThere, syncFolder } from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';

type Ports = { readonly disk: Disk; readonly random: Random };

/** A folder for new objects beside the repository's own, as git itself uses one for what is pushed to it. */
export type Quarantine = {
  /** Sends the objects a git writes there; it sees all others too. */
  readonly environment: Environment;
  /** Moves the objects to the repository's own; on disk to stay when it returns. */
  release(): Promise<void>;
  /** Takes the folder away, with what is still in it. */
  remove(): void;
};

/**
 * Opens a folder for the objects of one snapshot. It tells which objects are new, so that this process can wait for
 * the disk, all files at once and the folders too, which no git does; and a snapshot that fails leaves nothing behind.
 * After a crash, git's own pruning removes it by its name.
 */
export function openQuarantine({ disk, random }: Ports, objects: string): Quarantine {
  const folder = join(objects, `tmp_objdir-orch-${random.id(8)}`);
  disk.mkdir(folder);
  return {
    environment: {
      GIT_OBJECT_DIRECTORY: folder,
      GIT_ALTERNATE_OBJECT_DIRECTORIES: quotePath(objects),
    },
    release: () => releaseObjects(disk, folder, objects),
    remove: () => removeFolder(disk, folder),
  };
}

/** A quoted path in a list that is separated by colons may hold a colon itself. */
function quotePath(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

async function releaseObjects(disk: Disk, folder: string, objects: string): Promise<void> {
  const names = listFolder(folder)
    .filter((first) => /^[0-9a-f]{2}$/.test(first))
    .flatMap((first) => listFolder(join(folder, first)).map((rest) => join(first, rest)))
    .filter((name) => !name.includes('tmp_'));
  const open: number[] = [];
  try {
    for (const name of names) open.push(disk.open(join(folder, name), 'r'));
    await Promise.all(open.map((fd) => disk.sync(fd)));
    for (const name of names) {
      const target = join(objects, name);
      await inFolder(disk, dirname(target), () => disk.rename(join(folder, name), target));
    }
    const folders = new Set(names.map((name) => dirname(join(objects, name))));
    await Promise.all([...folders].map((changed) => syncFolder(disk, changed)));
  } catch (error) {
    throw writeFailed('the snapshot could not be written', error);
  } finally {
    for (const fd of open) disk.close(fd);
  }
}

function removeFolder(disk: Disk, folder: string): void {
  try {
    for (const first of listFolder(folder)) {
      for (const rest of listFolder(join(folder, first))) removeIfThere(disk, join(folder, first, rest));
      disk.rmdir(join(folder, first));
    }
    disk.rmdir(folder);
  } catch (error) {
    // A pruning git was faster, or will be.
    if (!['ENOENT', 'ENOTEMPTY', 'ENOTDIR'].includes(systemCode(error) ?? '')) throw error;
  }
}
