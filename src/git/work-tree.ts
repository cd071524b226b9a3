import { join } from 'node:path';
import { statIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import type { GitEngine } from './engine.ts';
import { openQuarantine } from './quarantine.ts';
import type { Repository } from './repository.ts';
import {
  type Changes,
  decideChanges,
  describe,
  type LeftOut,
  type Listing,
  pathsToLookAt,
} from './work-tree-changes.ts';
import {
  isGitFailure,
  listChanges,
  removeFromIndex,
  settleConflicts,
  updateIndex,
  writeTree,
} from './work-tree-git.ts';
import {
  copyIndex,
  discardCopy,
  type IndexPorts,
  isStillKept,
  type KeptIndex,
  keepIndex,
  readBasis,
  readKeptIndex,
} from './work-tree-index.ts';
import { lookAt } from './work-tree-look.ts';

/*
 * The working tree as a tree object. A bundle of its own: only what takes a snapshot loads what starts a git.
 */

export type WorkTreePorts = IndexPorts & { readonly git: GitEngine };

export type WorkTree = { readonly tree: Oid; readonly leftOut: readonly LeftOut[] };

export type Wanted = {
  readonly worktree: string;
  /** A file that is larger is left out. */
  readonly maxFileBytes: number;
  /** A tree a ref leads to, of which nobody need ask whether it was pruned. */
  readonly reachable: Oid | null;
};

/** One reading of the working tree: what changed against an index, and what to do to the index. */
type Reading = { readonly changes: Changes; readonly unreadable: readonly LeftOut[] };

/** So often a kept index that another snapshot replaced meanwhile is read again. */
const maxReadings = 3;

/**
 * Writes the working tree as a tree object, untracked files and deletions included, and says what it left out.
 * On disk to stay when it returns, though nothing refers to it yet.
 */
export async function writeWorkTree(ports: WorkTreePorts, wanted: Wanted): Promise<WorkTree> {
  for (let reading = 0; reading < maxReadings; reading++) {
    const kept = readKeptIndex(ports, wanted.maxFileBytes);
    if (kept === null) break;
    try {
      const result = await continueFrom(ports, wanted, kept);
      if (result !== null) return result;
    } catch (error) {
      if (!isGitFailure(error)) throw error;
      break; // the kept index, or what it refers to, is damaged: the user's own is asked
    }
  }
  return beginAnew(ports, wanted);
}

/** The tree by what changed since the last snapshot; null where that cannot be told from the kept index. */
async function continueFrom(ports: WorkTreePorts, wanted: Wanted, kept: KeptIndex): Promise<WorkTree | null> {
  const reading = await read(ports, wanted, kept.path, kept.untracked);
  const isSame = isStillKept(kept) && readBasis(ports, wanted.maxFileBytes) === kept.basis;
  if (reading === null) return isSame ? beginAnew(ports, wanted) : null;
  if (!isSame) return null;
  const { store, remove, removeBlindly, leftOut } = reading.changes;
  if (store.length + remove.length + removeBlindly.length === 0) {
    // A tree that is there has all that is in it: git prunes none without the other.
    if (kept.tree !== wanted.reachable) await ports.git.readObject(kept.tree);
    return { tree: kept.tree, leftOut: [...leftOut, ...reading.unreadable] };
  }
  const work = await copyIndex(ports, kept);
  try {
    return work.copied === kept.mark ? await apply(ports, work.path, kept.basis, reading) : null;
  } finally {
    discardCopy(ports, work.path);
  }
}

/** The tree by what differs from the user's own index. */
async function beginAnew(ports: WorkTreePorts, wanted: Wanted, hasConflicts = false): Promise<WorkTree> {
  const work = await copyIndex(ports, null);
  try {
    if (hasConflicts) await settleConflicts(ports.repository, { GIT_INDEX_FILE: work.path });
    const basis = readBasis(ports, wanted.maxFileBytes, work.copied);
    const reading = await read(ports, wanted, work.path, new Set());
    const result = reading && (await apply(ports, work.path, basis, reading));
    if (result) return result;
  } finally {
    discardCopy(ports, work.path);
  }
  if (hasConflicts) throw new Error('conflicts were settled, and are still there');
  return beginAnew(ports, wanted, true);
}

async function read(
  { repository }: WorkTreePorts,
  { worktree, maxFileBytes }: Wanted,
  index: string,
  known: ReadonlySet<string>,
): Promise<Reading | null> {
  const { listing, unreadable } = await list(repository, index, known);
  const found = lookAt(worktree, pathsToLookAt(listing, known));
  const changes = decideChanges(listing, found, known, maxFileBytes);
  return changes && { changes, unreadable };
}

/** From here on two gits that share the looking are faster than one. */
const manyBytes = 200_000;

/**
 * Where the index holds untracked files of an earlier snapshot, it cannot tell which of them are ignored by now:
 * the user's own is asked for the untracked ones, at the same time.
 */
async function list(
  repository: Repository,
  index: string,
  known: ReadonlySet<string>,
): Promise<{ listing: Listing; unreadable: LeftOut[] }> {
  const ours = { GIT_INDEX_FILE: index };
  const isLarge = (statIfThere(index)?.size ?? 0) > manyBytes;
  if (known.size === 0 && !isLarge) return listChanges(repository, ['changed', 'untracked'], ours);
  const [changed, untracked] = await Promise.all([
    listChanges(repository, ['changed'], ours),
    listChanges(repository, ['untracked'], known.size === 0 ? ours : {}),
  ]);
  return {
    listing: { changed: changed.listing.changed, untracked: untracked.listing.untracked },
    unreadable: untracked.unreadable,
  };
}

/** Carries the changes out on a private index, and writes its tree; null where the index holds conflicts. */
async function apply(
  ports: WorkTreePorts,
  work: string,
  basis: string,
  { changes, unreadable }: Reading,
): Promise<WorkTree | null> {
  const { repository } = ports;
  const quarantine = await openQuarantine(ports, join(repository.commonDir, 'objects'));
  try {
    const environment = { ...quarantine.environment, GIT_INDEX_FILE: work };
    if (changes.removeBlindly.length > 0)
      await removeFromIndex(repository, changes.removeBlindly, environment);
    // Removals first: a file must be gone before a folder can take its name.
    const refused = await updateIndex(repository, [...changes.remove, ...changes.store], environment);
    const [tree] = await Promise.all([writeTree(repository, environment), quarantine.sync()]);
    if (tree === null) return null;
    await quarantine.release();
    const untracked = new Set(changes.untracked);
    for (const { path } of refused) untracked.delete(path);
    keepIndex(ports, work, { basis, tree, untracked });
    const notTaken = refused.map(({ path, reason }) => describe(path, reason));
    return { tree, leftOut: [...changes.leftOut, ...unreadable, ...notTaken] };
  } finally {
    quarantine.close();
  }
}
