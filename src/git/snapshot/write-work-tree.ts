import { join } from 'node:path';
import { statIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';
import { damaged } from '../engine.ts';
import { loosePath } from '../objects/held-objects.ts';
import type { Repository } from '../repository.ts';
import { applyByGit, applyToTree, type Reading, type WorkTree } from './apply-changes.ts';
import { isGitFailure, isStored, listChanges, resolveConflicts } from './index-commands.ts';
import { findSubmodules, listDirtySubmodules } from './index-entries.ts';
import {
  copyIndex,
  discardCopy,
  isStillKept,
  type KeptIndex,
  readBasis,
  readKeptIndex,
} from './kept-index.ts';

import { markSecrets, unstageSecrets, type WorkTreePorts } from './secret-files.ts';
import {
  decideChanges,
  type IndexDifferences,
  inspectPaths,
  type LeftOut,
  type Listing,
  listPathsToInspect,
  noDifferences,
} from './work-tree-changes.ts';

type WorkTreeRequest = {
  readonly worktree: string;
  /** Larger files are left out. */
  readonly maxFileBytes: number;
  /** A tree that a ref leads to, so it cannot have been pruned. */
  readonly reachable: Oid | null;
  /** Store everything again, because git removed some objects. */
  readonly ignoresKept?: boolean;
};

/** How often to retry when other snapshots replace the kept index. */
const maxReadings = 3;

/**
 * Writes the working tree as a tree object, including untracked files and deletions, and lists what it left out.
 * Synced, but no ref leads to it yet.
 */
export async function writeWorkTree(ports: WorkTreePorts, wanted: WorkTreeRequest): Promise<WorkTree> {
  for (let reading = 0; reading < maxReadings && !wanted.ignoresKept; reading++) {
    const kept = readKeptIndex(ports, wanted.maxFileBytes);
    if (kept === null) break;
    try {
      const result = await buildFromKeptIndex(ports, wanted, kept);
      if (result !== null) return result;
    } catch (error) {
      if (!isGitFailure(error)) throw error;
      break; // the kept index or one of its objects is damaged: start from the user's index
    }
  }
  return buildFromUserIndex(ports, wanted);
}

/** Builds the tree from what changed since the last snapshot; null if another snapshot replaced the kept index. */
async function buildFromKeptIndex(
  ports: WorkTreePorts,
  wanted: WorkTreeRequest,
  kept: KeptIndex,
): Promise<WorkTree | null> {
  const work = await copyIndex(ports, kept);
  try {
    const listed = await list(ports.repository, kept.path, kept);
    const reading = await decide(ports, listed, wanted, kept);
    const isSame = isStillKept(kept) && readBasis(ports, wanted.maxFileBytes) === kept.basis;
    if (!isSame || work.copied !== kept.mark) return null;
    if (reading === null) return await buildFromUserIndex(ports, wanted);
    // A tree that exists is complete: git prunes it together with its content.
    if (kept.tree !== wanted.reachable) await refuseIfPruned(ports, kept.tree);
    const { store, remove, removeBlindly, leftOut } = reading.changes;
    if (store.length + remove.length + removeBlindly.length === 0)
      return { tree: kept.tree, leftOut: [...leftOut, ...reading.unseen], written: [] };
    const result = await applyToTree(ports, work.path, kept, reading);
    if (result !== null) return result;
    return await applyByGit(ports, work.path, kept.basis, reading);
  } finally {
    discardCopy(ports, work.path);
  }
}

/** Checks the disk, because this process may have the tree in its cache. */
async function refuseIfPruned({ repository, git }: WorkTreePorts, tree: Oid): Promise<void> {
  const loose = loosePath(join(repository.commonDir, 'objects'), tree);
  if (statIfThere(loose) === null && !(await isStored(repository, tree))) throw damaged(tree, 'missing');
  await git.readObject(tree);
}

/** Builds the tree from what differs from the user's own index. */
async function buildFromUserIndex(
  ports: WorkTreePorts,
  wanted: WorkTreeRequest,
  hasConflicts = false,
): Promise<WorkTree> {
  const work = await copyIndex(ports, null);
  try {
    if (hasConflicts) await resolveConflicts(ports.repository, { GIT_INDEX_FILE: work.path });
    const basis = readBasis(ports, wanted.maxFileBytes, work.copied);
    const submodules = await findSubmodules(ports, work.path);
    const listAll = () => list(ports.repository, work.path, { untracked: new Set(), submodules });
    const [hadSecrets, listed] = await Promise.all([unstageSecrets(ports, work.path), listAll()]);
    const reading = await decide(ports, hadSecrets ? await listAll() : listed, wanted, noDifferences);
    const result = reading && (await applyByGit(ports, work.path, basis, reading));
    if (result) return result;
  } finally {
    discardCopy(ports, work.path);
  }
  if (hasConflicts) throw new Error('the index still has conflicts after they were resolved');
  return buildFromUserIndex(ports, wanted, true);
}

/** Checks the listed files and decides what to change; null if that is impossible with this index. */
async function decide(
  ports: WorkTreePorts,
  { listing, unseen, submodules }: Listed,
  { worktree, maxFileBytes }: WorkTreeRequest,
  known: IndexDifferences,
): Promise<Reading | null> {
  const onDisk = inspectPaths(worktree, listPathsToInspect(listing, known));
  const found = await markSecrets(ports, worktree, onDisk, maxFileBytes);
  const changes = decideChanges(listing, found, known, maxFileBytes);
  return changes && { changes, unseen, submodules };
}

type Listed = Omit<Reading, 'changes'> & { readonly listing: Listing };

/** With a larger index, two gits on two cores are faster than one. */
const manyBytes = 200_000;

/** Lists what differs from an index, what git cannot read, and submodules with changes inside. */
async function list(
  repository: Repository,
  index: string,
  { untracked, submodules }: Pick<KeptIndex, 'untracked' | 'submodules'>,
): Promise<Listed> {
  const [{ listing, unreadable }, dirty] = await Promise.all([
    listFiles(repository, index, untracked),
    listDirtySubmodules(repository, submodules),
  ]);
  return { listing, unseen: [...unreadable, ...dirty], submodules };
}

/** An index with untracked files cannot tell which are now ignored, so those are listed with the user's own index. */
async function listFiles(
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
