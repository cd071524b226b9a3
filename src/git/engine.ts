import { OrchError } from '../errors.ts';
import type { Clock, Random } from '../system/clock.ts';
import type { Disk } from '../system/disk.ts';
import type { Millis, Oid } from '../types.ts';
import type { Repository } from './repository.ts';

export type EnginePorts = {
  readonly repository: Repository;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
};

export type ObjectKind = 'blob' | 'tree' | 'commit' | 'tag';
export type ObjectFormat = 'sha1' | 'sha256';
export type GitObject = { readonly kind: ObjectKind; readonly bytes: Buffer };

export type Commit = {
  readonly oid: Oid;
  readonly tree: Oid;
  readonly parents: readonly Oid[];
  readonly authoredAt: Millis;
  readonly committedAt: Millis;
  readonly message: string;
};

export type Head = { readonly commit: Oid | null; readonly branch: string | null };

/** Moves a ref from one value to another; null means that it does not exist. */
export type RefUpdate = { readonly ref: string; readonly from: Oid | null; readonly to: Oid | null };

/**
 * Everything orch needs from git. Each implementation passes the suite in test/conformance.
 * Reading a missing or damaged object fails with `INTEGRITY`.
 */
export type GitEngine = {
  readonly name: 'native' | 'isomorphic' | 'memory';
  readonly format: ObjectFormat;
  readHead(): Promise<Head>;
  readRef(ref: string): Promise<Oid | null>;
  /** Lists the refs below a prefix that ends with a slash. */
  listRefs(prefix: string): Promise<ReadonlyMap<string, Oid>>;
  /** An object of more than `most` bytes also fails with `INTEGRITY`, if possible before it is read into memory. */
  readObject(oid: Oid, most?: number): Promise<GitObject>;
  /** Walks back from a commit, newest first. Stops working when the caller stops reading. */
  walk(from: Oid, most?: number): AsyncIterable<Commit>;
  /** Tells whether one commit can be reached from another; every commit can be reached from itself. */
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** Writes objects and syncs them. */
  writeObjects(objects: readonly GitObject[]): Promise<void>;
  /**
   * Makes sure that objects still exist after their ref was moved: a `git gc --prune=now` that read the refs earlier
   * removes new objects. Rewrites these, and restores others that a prune removed.
   */
  ensureObjects(objects: readonly GitObject[]): Promise<void>;
  /** Restores those objects of the last minutes that a prune removed, and returns them. */
  restorePrunedObjects(): Promise<readonly Oid[]>;
  /** Stops protecting recent objects, so that a prune can remove what orch deleted. */
  releaseHeldObjects(): Promise<void>;
  /** Moves all refs or none, each from its expected value, else fails with `REF_CONFLICT`. Synced. */
  moveRefs(updates: readonly RefUpdate[]): Promise<void>;
  /** Moves a damaged loose object to a folder, because `git gc` fails while it exists. Leaves intact ones alone. */
  moveDamagedObject(oid: Oid, folder: string): void;
  /** Estimates how many loose objects could be packed; cheap enough for every checkpoint. */
  estimateLoose(): number;
  /** Packs loose objects in the background; prunes nothing. */
  packLooseObjects(): Promise<void>;
  close(): void;
};

/** Far more than anything orch writes: larger foreign objects are not read into memory. */
export const maxObjectBytes = 64 * 1024 * 1024;

export function tooLarge(oid: Oid, most: number): OrchError {
  return damaged(oid, `larger than ${most} bytes, the limit for its kind`);
}

export function damaged(oid: Oid, problem: string, cause?: unknown): OrchError {
  return new OrchError('INTEGRITY', `git object ${oid} is ${problem}`, {
    hint: 'See what is affected with: orch checkpoint verify',
    data: { object: oid },
    cause,
  });
}

/** The ref has moved since it was read. */
export function refConflict(update: RefUpdate, actual: Oid | null): OrchError {
  const { ref, from } = update;
  return new OrchError('REF_CONFLICT', `another process moved ${ref}`, {
    hint: 'Nothing was overwritten. Run the same command again.',
    data: { ref, expected: from, actual },
  });
}

/** The ref's lock file exists: a git is working, or one died. */
export function refLocked(ref: string, lock: string, cause?: unknown): OrchError {
  return new OrchError('REF_CONFLICT', `${ref} is locked by another process`, {
    hint: 'Nothing was changed. Run the same command again in a moment.',
    data: { ref, lock },
    cause,
  });
}
