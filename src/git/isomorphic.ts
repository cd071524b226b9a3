import fs from 'node:fs';
import { dirname, join } from 'node:path';
import isomorphicGit from 'isomorphic-git';
import { OrchError } from '../errors.ts';
import type { Oid } from '../types.ts';
import { damaged, type EnginePorts, type GitEngine, type GitObject } from './engine.ts';
import { parseCommit } from './objects/commit-object.ts';
import { keepLooseObjects, readOrRestore, releaseHeld, restorePruned } from './objects/held-objects.ts';
import {
  checkObject,
  findAlternates,
  hashObject,
  moveDamaged,
  readLooseObject,
  writeLooseObjects,
} from './objects/loose-objects.ts';
import { rememberObjects } from './objects/read-objects.ts';
import { isInHistory, readShallow, takeFirst, walkByDate } from './objects/walk-history.ts';
import { listFileRefs, readFileHead, readFileRef } from './refs/file-refs.ts';
import { moveFileRefs } from './refs/move-refs.ts';
import type { Repository } from './repository.ts';

/** Extensions that do not affect what is read or written here. */
const harmless = [
  'noop',
  'preciousobjects',
  'worktreeconfig',
  'relativeworktrees',
  'partialclone',
  'objectformat',
];

/** Opens an engine that works without the git program: isomorphic-git reads packs, everything else is plain files. */
export function openIsomorphicEngine({ repository, disk, clock, random }: EnginePorts): GitEngine {
  refuseUnreadable(repository);
  const { commonDir, format } = repository;
  const folder = join(commonDir, 'objects');
  const folders = [folder, ...findAlternates(folder)];
  const cache = {};
  const store = { folder, format, disk, clock, random };
  // Without git, packs are not searched: restoring an object that is also packed does no harm.
  const findMissing = async (oids: readonly Oid[]) => oids;

  const readStored = async (oid: Oid, most: number) => {
    for (const place of folders) {
      const loose = readLooseObject(place, oid, most);
      if (loose) return checkObject(oid, loose, format);
    }
    for (const place of folders) {
      const packed = await readPacked(dirname(place), oid, cache);
      if (packed) return checkObject(oid, packed, format);
    }
    throw damaged(oid, 'missing');
  };
  const memory = rememberObjects(readOrRestore(store, readStored, findMissing));
  const readCommit = async (oid: Oid) => parseCommit(oid, await memory.get(oid));
  const walk = (from: Oid) => {
    const shallow = readShallow(commonDir);
    return walkByDate(from, readCommit, (oid) => shallow.has(oid));
  };

  return {
    name: 'isomorphic',
    format,
    readHead: async () => readFileHead(repository),
    readRef: async (ref) => readFileRef(commonDir, ref),
    listRefs: async (prefix) => listFileRefs(commonDir, prefix),
    readObject: memory.get,
    walk: (from, most) => takeFirst(walk(from), most),
    isAncestor: (ancestor, descendant) => isInHistory(ancestor, walk(descendant)),
    writeObjects: async (written) => {
      await writeLooseObjects(store, written);
      for (const object of written) memory.add(hashObject(object, format), object);
    },
    ensureObjects: (written) => keepLooseObjects(store, written, findMissing),
    restorePrunedObjects: () => restorePruned(store, findMissing),
    releaseHeldObjects: () => releaseHeld(store, findMissing),
    moveDamagedObject: (oid, target) => moveDamaged(store, oid, target),
    moveRefs: (updates) => moveFileRefs(disk, commonDir, updates),
    estimateLoose: () => 0,
    packLooseObjects: async () => {}, // needs git itself
    close: () => {},
  };
}

async function readPacked(gitdir: string, oid: Oid, cache: object): Promise<GitObject | null> {
  try {
    const { type, object } = await isomorphicGit.readObject({ fs, gitdir, oid, format: 'content', cache });
    return { kind: type as GitObject['kind'], bytes: Buffer.from(object as Uint8Array) }; // 'content' is bytes
  } catch (error) {
    if (error instanceof Error && error.name === 'NotFoundError') return null;
    throw damaged(oid, 'damaged', error);
  }
}

function refuseUnreadable({ format, refStorage, extensions }: Repository): void {
  const unknown = extensions.find((name) => !harmless.includes(name));
  const problems = [
    format !== 'sha1' && 'SHA-256 objects',
    refStorage !== 'files' && 'reftable refs',
    unknown !== undefined && `the extension ${unknown}`,
  ];
  const problem = problems.find((each) => each !== false);
  if (!problem) return;
  const message = `the repository uses ${problem}, which the isomorphic engine cannot read`;
  throw new OrchError('REPOSITORY_UNSUPPORTED', message, {
    hint: 'Install git, and leave ORCH_ENGINE at auto',
  });
}
