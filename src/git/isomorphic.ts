import fs from 'node:fs';
import { dirname, join } from 'node:path';
import isomorphicGit from 'isomorphic-git';
import { OrchError } from '../errors.ts';
import type { Oid } from '../types.ts';
import { parseCommit } from './commit.ts';
import { damaged, type GitEngine, type GitObject } from './engine.ts';
import type { EnginePorts } from './native.ts';
import { bringBack } from './object-hold.ts';
import { keepLooseObjects, readOrBringBack, releaseHeld } from './object-keep.ts';
import { rememberObjects } from './object-memory.ts';
import {
  checkObject,
  findAlternates,
  hashObject,
  readLooseObject,
  setAsideDamaged,
  writeLooseObjects,
} from './objects.ts';
import { moveFileRefs } from './ref-lock.ts';
import { listFileRefs, readFileHead, readFileRef } from './refs.ts';
import type { Repository } from './repository.ts';
import { isInHistory, readShallow, takeFirst, walkByDate } from './walk.ts';

/** Extensions that change nothing of what is read or written here. */
const harmless = [
  'noop',
  'preciousobjects',
  'worktreeconfig',
  'relativeworktrees',
  'partialclone',
  'objectformat',
];

/** Git without the git binary: isomorphic-git reads the packs, the rest is read and written as files. */
export function openIsomorphicEngine({ repository, disk, clock, random }: EnginePorts): GitEngine {
  refuseUnreadable(repository);
  const { commonDir, format } = repository;
  const folder = join(commonDir, 'objects');
  const folders = [folder, ...findAlternates(folder)];
  const cache = {};
  const store = { folder, format, disk, clock, random };
  // Without git, packs are not looked through for this: one that is packed too does no harm.
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
  const memory = rememberObjects(readOrBringBack(store, readStored, findMissing));
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
    keepObjects: (written) => keepLooseObjects(store, written, findMissing),
    bringBackObjects: () => bringBack(store, findMissing),
    releaseObjects: () => releaseHeld(store, findMissing),
    setAside: (oid, target) => setAsideDamaged(store, oid, target),
    moveRefs: (updates) => moveFileRefs(disk, commonDir, updates),
    estimateLoose: () => 0,
    tidy: async () => {}, // needs git itself
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
  const strange = extensions.filter((name) => !harmless.includes(name));
  const problem =
    format !== 'sha1'
      ? 'SHA-256 objects'
      : refStorage !== 'files'
        ? 'reftable refs'
        : strange.length > 0
          ? `the extension ${strange[0]}`
          : null;
  if (problem === null) return;
  throw new OrchError(
    'REPOSITORY_UNSUPPORTED',
    `the repository uses ${problem}, which the isomorphic engine cannot read`,
    {
      hint: 'Install git, and leave ORCH_ENGINE at auto',
    },
  );
}
