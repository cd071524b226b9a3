import {
  damaged,
  type GitEngine,
  type GitObject,
  type Head,
  type RefUpdate,
  refConflict,
} from '../../src/git/engine.ts';
import { parseCommit } from '../../src/git/objects/commit-object.ts';
import { hashObject } from '../../src/git/objects/loose-objects.ts';
import { isInHistory, takeFirst, walkByDate } from '../../src/git/objects/walk-history.ts';
import type { Oid } from '../../src/types.ts';

export type MemoryRepository = {
  readonly objects: Map<Oid, GitObject>;
  readonly refs: Map<string, Oid>;
  head: Head;
};

export function makeMemoryRepository(): MemoryRepository {
  return { objects: new Map(), refs: new Map(), head: { commit: null, branch: 'main' } };
}

/** Git as it ought to be: the model the real engines are compared with. */
export function openMemoryEngine(repository: MemoryRepository): GitEngine {
  const { objects, refs } = repository;
  const readObject = async (oid: Oid): Promise<GitObject> => {
    const found = objects.get(oid);
    if (found === undefined) throw damaged(oid, 'missing');
    return found;
  };
  const walk = (from: Oid) => walkByDate(from, async (oid) => parseCommit(oid, await readObject(oid)));
  return {
    name: 'memory',
    format: 'sha1',
    readHead: async () => repository.head,
    readRef: async (ref) => refs.get(ref) ?? null,
    listRefs: async (prefix) =>
      new Map([...refs].filter(([ref]) => ref.startsWith(prefix)).sort(([a], [b]) => (a < b ? -1 : 1))),
    readObject,
    walk: (from, most) => takeFirst(walk(from), most),
    isAncestor: (ancestor, descendant) => isInHistory(ancestor, walk(descendant)),
    writeObjects: async (written) => {
      for (const object of written) objects.set(hashObject(object, 'sha1'), object);
    },
    moveRefs: async (updates: readonly RefUpdate[]) => {
      for (const update of updates) {
        const actual = refs.get(update.ref) ?? null;
        if (actual !== update.from) throw refConflict(update, actual);
      }
      for (const { ref, to } of updates) {
        if (to === null) refs.delete(ref);
        else refs.set(ref, to);
      }
    },
    ensureObjects: async () => {},
    restorePrunedObjects: async () => [],
    releaseHeldObjects: async () => {},
    moveDamagedObject: () => {},
    estimateLoose: () => 0,
    packLooseObjects: async () => {},
    close: () => {},
  };
}
