import { OrchError } from '../errors.ts';
import type { Millis, Oid } from '../types.ts';

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

/** A ref from one value to another; null stands for "is not there". */
export type RefUpdate = { readonly ref: string; readonly from: Oid | null; readonly to: Oid | null };

/**
 * What orch needs of git, and all it uses of it. Each implementation passes the suite in test/conformance.
 * Reading a missing or damaged object is `INTEGRITY`, never an empty answer.
 */
export type GitEngine = {
  readonly name: 'native' | 'isomorphic' | 'memory';
  readonly format: ObjectFormat;
  /** Where the user's worktree stands. */
  readHead(): Promise<Head>;
  readRef(ref: string): Promise<Oid | null>;
  /** The refs below a prefix that ends with a slash. */
  listRefs(prefix: string): Promise<ReadonlyMap<string, Oid>>;
  /** One of more than `most` bytes is `INTEGRITY` too, and is not read into memory where that can be avoided. */
  readObject(oid: Oid, most?: number): Promise<GitObject>;
  /** From a commit back, newest first, `most` of them or all. Ends the work when the caller stops asking. */
  walk(from: Oid, most?: number): AsyncIterable<Commit>;
  /** Can one commit be reached from another? Every commit can be reached from itself. */
  isAncestor(ancestor: Oid, descendant: Oid): Promise<boolean>;
  /** Returns once the objects are on disk to stay. */
  writeObjects(objects: readonly GitObject[]): Promise<void>;
  /**
   * Has objects still be there once a ref leads to them: a `git gc --prune=now` that looked at the refs before removes
   * what was written for them. Writes again what is gone, and brings back what was removed earlier.
   */
  keepObjects(objects: readonly GitObject[]): Promise<void>;
  /** Brings back what a prune removed of the objects written in the last minutes, and says which. */
  bringBackObjects(): Promise<readonly Oid[]>;
  /** Brings back none of them from now on: what orch deletes, a prune must be able to remove for good. */
  releaseObjects(): Promise<void>;
  /** All or none, each only from its expected value, else `REF_CONFLICT`. On disk when it returns. */
  moveRefs(updates: readonly RefUpdate[]): Promise<void>;
  /**
   * Moves a damaged loose object out of git's way, into a folder: as long as it is there, `git gc` fails.
   * One that is whole, or not loose, stays.
   */
  setAside(oid: Oid, folder: string): void;
  /** About how many loose objects there are that `tidy` could pack; cheap enough for every checkpoint. */
  estimateLoose(): number;
  /** Packs loose objects in the background; prunes nothing. */
  tidy(): Promise<void>;
  /** Lets go of what it holds open. */
  close(): void;
};

/** Nothing orch writes comes near this; a foreign object that does is not read into memory. */
export const maxObjectBytes = 64 * 1024 * 1024;

export function tooLarge(oid: Oid, most: number): OrchError {
  return damaged(oid, `larger than the ${most} bytes that orch reads of its kind`);
}

export function damaged(oid: Oid, problem: string, cause?: unknown): OrchError {
  return new OrchError('INTEGRITY', `git object ${oid} is ${problem}`, {
    hint: 'See what is affected with: orch checkpoint verify',
    data: { object: oid },
    cause,
  });
}

/** A ref is not where it was when it was read. */
export function refConflict(update: RefUpdate, actual: Oid | null): OrchError {
  const { ref, from } = update;
  return new OrchError('REF_CONFLICT', `${ref} was moved by another process meanwhile`, {
    hint: 'Nothing was overwritten. Run the same command again.',
    data: { ref, expected: from, actual },
  });
}

/** A ref's own lock file is held: by a git that is at work, or by one that died. */
export function refLocked(ref: string, lock: string, cause?: unknown): OrchError {
  return new OrchError('REF_CONFLICT', `${ref} is locked by another process`, {
    hint: 'Nothing was changed. Run the same command again in a moment.',
    data: { ref, lock },
    cause,
  });
}
