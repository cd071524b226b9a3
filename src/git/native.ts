import { dirname, join } from 'node:path';
import type { Random } from '../system/clock.ts';
import { type Disk, statIfThere, syncFolder } from '../system/files.ts';
import type { Oid } from '../types.ts';
import type { CatFile } from './cat-file.ts';
import type { Commit, GitEngine, GitObject } from './engine.ts';
import { checkObject, readLooseObject, rememberObjects, writeLooseObjects } from './objects.ts';
import { moveFileRefs } from './ref-lock.ts';
import { listFileRefs, readFileHead, readFileRef } from './refs.ts';
import type { Repository } from './repository.ts';

export type EnginePorts = { readonly repository: Repository; readonly disk: Disk; readonly random: Random };

/**
 * Git with the git binary at hand. What is a plain file is read and written by this process (loose objects, refs and
 * their locks, by git's own protocol): starting a git costs more than all the rest of a checkpoint. Git itself is
 * asked for what only it does well: packs, long histories, other storage of refs.
 */
export function openNativeEngine({ repository, disk, random }: EnginePorts): GitEngine {
  const { commonDir, format } = repository;
  const inFiles = repository.refStorage === 'files';
  const objects = { folder: join(commonDir, 'objects'), format, disk, random };
  const git = () => import('./native-process.ts');
  let catFile: CatFile | null = null;

  const readPacked = async (oid: Oid): Promise<GitObject> => {
    const { openCatFile } = await git();
    catFile ??= openCatFile(repository);
    return catFile.read(oid);
  };
  const readRef = async (ref: string): Promise<Oid | null> =>
    inFiles ? readFileRef(commonDir, ref) : ((await (await git()).askRefs(repository, ref)).get(ref) ?? null);

  return {
    name: 'native',
    format,
    readRef,
    readHead: async () => (inFiles ? readFileHead(repository) : (await git()).askHead(repository, readRef)),
    listRefs: async (prefix) =>
      inFiles ? listFileRefs(commonDir, prefix) : (await git()).askRefs(repository, prefix),
    readObject: rememberObjects(async (oid) =>
      checkObject(oid, readLooseObject(objects.folder, oid) ?? (await readPacked(oid)), format),
    ),
    walk: async function* (from): AsyncGenerator<Commit> {
      yield* (await git()).walkLog(repository, from);
    },
    isAncestor: async (ancestor, descendant) => (await git()).isAncestor(repository, ancestor, descendant),
    writeObjects: (written) => writeLooseObjects(objects, written),
    moveRefs: async (updates) => {
      // Taking a ref away may mean to rewrite packed-refs, which is git's own.
      if (inFiles && updates.every(({ to }) => to !== null)) return moveFileRefs(disk, commonDir, updates);
      await (await git()).updateRefs(repository, updates, readRef);
      const folders = updates.map(({ ref }) => dirname(join(commonDir, ref)));
      const existing = [...new Set([commonDir, ...folders])].filter((folder) => statIfThere(folder));
      await Promise.all(existing.map((folder) => syncFolder(disk, folder)));
    },
    tidy: async () => (await git()).tidy(repository),
    close: () => catFile?.close(),
  };
}
