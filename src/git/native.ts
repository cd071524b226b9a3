import { dirname, join } from 'node:path';
import { hasCode } from '../errors.ts';
import type { Clock, Random } from '../system/clock.ts';
import { type Disk, statIfThere } from '../system/files.ts';
import { syncFolders } from '../system/many-files.ts';
import type { Oid } from '../types.ts';
import type { CatFile } from './cat-file.ts';
import { formatCommit, parseCommit } from './commit.ts';
import { type Commit, damaged, type GitEngine, type GitObject } from './engine.ts';
import { bringBack } from './object-hold.ts';
import { estimateLoose, keepLooseObjects, readOrBringBack, releaseHeld } from './object-keep.ts';
import { rememberObjects } from './object-memory.ts';
import { checkObject, hashObject, readLooseObject, setAsideDamaged, writeLooseObjects } from './objects.ts';
import { moveFileRefs } from './ref-lock.ts';
import { listFileRefs, readFileHead, readFileRef } from './refs.ts';
import type { Repository } from './repository.ts';
import { readShallow, walkByDate } from './walk.ts';

export type EnginePorts = {
  readonly repository: Repository;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
};

/**
 * Git with the git binary at hand. What is a plain file is read and written by this process (loose objects, refs and
 * their locks, by git's own protocol): starting a git costs more than all the rest of a checkpoint. Git itself is
 * asked for what only it does well: packs, long histories, other storage of refs.
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
    (await import('./storage.ts')).findMissing(repository, oids);
  /** Was it a prune's doing that something is missing, and is it there again? */
  const isUndone = async () => (await bringBack(objects, findMissing)).length > 0;
  const readStored = async (oid: Oid, most: number) =>
    checkObject(oid, readLooseObject(objects.folder, oid, most) ?? (await readPacked(oid, most)), format);
  const memory = rememberObjects(readOrBringBack(objects, readStored, findMissing));
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
      // Taking a ref away may mean to rewrite packed-refs, which is git's own.
      if (inFiles && updates.every(({ to }) => to !== null)) return moveFileRefs(disk, commonDir, updates);
      await (await git()).updateRefs(repository, updates, readRef);
      const folders = updates.map(({ ref }) => dirname(join(commonDir, ref)));
      const existing = [...new Set([commonDir, ...folders])].filter((folder) => statIfThere(folder));
      await syncFolders(disk, existing);
    },
    keepObjects: (written) => keepLooseObjects(objects, written, findMissing),
    bringBackObjects: () => bringBack(objects, findMissing),
    releaseObjects: () => releaseHeld(objects, findMissing),
    setAside: (oid, folder) => setAsideDamaged(objects, oid, folder),
    estimateLoose: () => estimateLoose(objects.folder),
    tidy: async () => (await git()).tidy(repository),
    close: () => catFile?.close(),
  };
}

/**
 * What `git log` says, checked, and gone on with where it gives up: it reads a commit's parents before it prints the
 * commit, so a damaged one would hide the one above it.
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
      // One of ours can be made again from what the log says; any other is read.
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
