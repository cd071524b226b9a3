import { dirname, join } from 'node:path';
import { hasCode } from '../errors.ts';
import { statIfThere } from '../system/disk.ts';
import { syncFolders } from '../system/files-in-bulk.ts';
import type { Oid } from '../types.ts';
import { type Commit, damaged, type EnginePorts, type GitEngine, type GitObject } from './engine.ts';
import type { CatFile } from './objects/cat-file.ts';
import { formatCommit, parseCommit } from './objects/commit-object.ts';
import {
  estimateLoose,
  keepLooseObjects,
  readOrRestore,
  releaseHeld,
  restorePruned,
} from './objects/held-objects.ts';
import {
  checkObject,
  hashObject,
  moveDamaged,
  readLooseObject,
  writeLooseObjects,
} from './objects/loose-objects.ts';
import { rememberObjects } from './objects/read-objects.ts';
import { readShallow, walkByDate } from './objects/walk-history.ts';
import { listFileRefs, readFileHead, readFileRef } from './refs/file-refs.ts';
import { moveFileRefs } from './refs/move-refs.ts';
import type { Repository } from './repository.ts';

/**
 * Opens an engine that uses the git program. Plain files (loose objects, refs and their locks) are read and written by
 * this process, following git's own protocol: starting git costs more than the rest of a checkpoint. Git itself handles
 * packs, long histories and other ref storage.
 */
export function openNativeEngine({ repository, disk, clock, random }: EnginePorts): GitEngine {
  const { commonDir, format } = repository;
  const inFiles = repository.refStorage === 'files';
  const objects = { folder: join(commonDir, 'objects'), format, disk, clock, random };
  const git = () => import('./native-process.ts');
  let catFile: CatFile | null = null;

  const readPacked = async (oid: Oid, most: number): Promise<GitObject> => {
    const { openCatFile } = await git();
    catFile ??= openCatFile(repository);
    return catFile.read(oid, most);
  };
  const findMissing = async (oids: readonly Oid[]) =>
    (await import('./objects/reachable.ts')).findMissing(repository, oids);
  /** Restores pruned objects, and tells whether there were any. */
  const isUndone = async () => (await restorePruned(objects, findMissing)).length > 0;
  const readStored = async (oid: Oid, most: number) =>
    checkObject(oid, readLooseObject(objects.folder, oid, most) ?? (await readPacked(oid, most)), format);
  const memory = rememberObjects(readOrRestore(objects, readStored, findMissing));
  const readRef = async (ref: string): Promise<Oid | null> =>
    inFiles ? readFileRef(commonDir, ref) : ((await (await git()).askRefs(repository, ref)).get(ref) ?? null);

  return {
    name: 'native',
    format,
    readRef,
    readHead: async () => (inFiles ? readFileHead(repository) : (await git()).askHead(repository, readRef)),
    listRefs: async (prefix) =>
      inFiles ? listFileRefs(commonDir, prefix) : (await git()).askRefs(repository, prefix),
    readObject: memory.get,
    walk: async function* (from, most) {
      const log = (await git()).walkLog(repository, from, most);
      yield* walkHistory(log, from, memory.get, repository, isUndone);
    },
    isAncestor: async (ancestor, descendant) => {
      const { isAncestor } = await git();
      const ask = () => isAncestor(repository, ancestor, descendant);
      return ask().catch(async (error) => {
        if (!hasCode(error, 'INTEGRITY') || !(await isUndone())) throw error;
        return ask();
      });
    },
    writeObjects: async (written) => {
      await writeLooseObjects(objects, written);
      for (const object of written) memory.add(hashObject(object, format), object);
    },
    moveRefs: async (updates) => {
      // Deleting a ref may rewrite packed-refs, which is left to git.
      if (inFiles && updates.every(({ to }) => to !== null)) return moveFileRefs(disk, commonDir, updates);
      await (await git()).updateRefs(repository, updates, readRef);
      const folders = updates.map(({ ref }) => dirname(join(commonDir, ref)));
      const existing = [...new Set([commonDir, ...folders])].filter((folder) => statIfThere(folder));
      await syncFolders(disk, existing);
    },
    ensureObjects: (written) => keepLooseObjects(objects, written, findMissing),
    restorePrunedObjects: () => restorePruned(objects, findMissing),
    releaseHeldObjects: () => releaseHeld(objects, findMissing),
    moveDamagedObject: (oid, folder) => moveDamaged(objects, oid, folder),
    estimateLoose: () => estimateLoose(objects.folder),
    packLooseObjects: async () => (await git()).packLooseObjects(repository),
    close: () => catFile?.close(),
  };
}

/**
 * Checks the output of `git log`, and continues without git if it fails: it reads a commit's parents before it prints
 * the commit, so a damaged parent would hide its child.
 */
async function* walkHistory(
  log: AsyncIterable<Commit>,
  from: Oid,
  readObject: (oid: Oid) => Promise<GitObject>,
  { commonDir, format }: Repository,
  isUndone: () => Promise<boolean>,
): AsyncGenerator<Commit> {
  const read = async (oid: Oid) => parseCommit(oid, await readObject(oid));
  const seen = new Set<Oid>();
  try {
    for await (const commit of log) {
      if (seen.size === 0 && commit.oid !== from) throw damaged(from, 'not a commit');
      // A commit of ours can be verified from the log alone; any other is read.
      if (hashObject(formatCommit(commit), format) !== commit.oid) await read(commit.oid);
      seen.add(commit.oid);
      yield commit;
    }
    if (seen.size === 0) throw damaged(from, 'not a commit');
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    const isWholeAgain = await isUndone();
    const shallow = readShallow(commonDir);
    for await (const commit of walkByDate(from, read, (oid) => shallow.has(oid))) {
      if (!seen.has(commit.oid)) yield commit;
    }
    if (!isWholeAgain) throw error;
  }
}
