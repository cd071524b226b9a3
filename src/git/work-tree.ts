import { join } from 'node:path';
import { statIfThere } from '../system/files.ts';
import type { Oid } from '../types.ts';
import { damaged } from './engine.ts';
import type { Repository } from './repository.ts';
import {
  applyByGit,
  applyToTree,
  type Reading,
  type WorkTree,
  type WorkTreePorts,
} from './work-tree-apply.ts';
import {
  decideChanges,
  type Known,
  type LeftOut,
  type Listing,
  nothingKnown,
  pathsToLookAt,
} from './work-tree-changes.ts';
import { isGitFailure, isStored, listChanges, settleConflicts } from './work-tree-git.ts';
import {
  copyIndex,
  discardCopy,
  isStillKept,
  type KeptIndex,
  readBasis,
  readKeptIndex,
} from './work-tree-index.ts';
import { lookAt } from './work-tree-look.ts';
import { lookForSecrets, unstageSecrets } from './work-tree-secrets.ts';
import { findSubmodules, listDirtySubmodules } from './work-tree-submodules.ts';

export type { WorkTree, WorkTreePorts };

export type Wanted = {
  readonly worktree: string;
  /** A file that is larger is left out. */
  readonly maxFileBytes: number;
  /** A tree a ref leads to, of which nobody need ask whether it was pruned. */
  readonly reachable: Oid | null;
  /** Is everything to be stored again, because git removed some of it meanwhile? */
  readonly isAfresh?: boolean;
};

/** So often a kept index that another snapshot replaced meanwhile is read again. */
const maxReadings = 3;

/**
 * Writes the working tree as a tree object, untracked files and deletions included, and says what it left out.
 * On disk to stay when it returns, though nothing refers to it yet.
 */
export async function writeWorkTree(ports: WorkTreePorts, wanted: Wanted): Promise<WorkTree> {
  for (let reading = 0; reading < maxReadings && !wanted.isAfresh; reading++) {
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
  const work = await copyIndex(ports, kept);
  try {
    const listed = await list(ports.repository, kept.path, kept);
    const reading = await decide(ports, listed, wanted, kept);
    const isSame = isStillKept(kept) && readBasis(ports, wanted.maxFileBytes) === kept.basis;
    if (!isSame || work.copied !== kept.mark) return null;
    if (reading === null) return await beginAnew(ports, wanted);
    // A tree that is there has all that is in it: git prunes none without the other.
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

/** What this process remembers of a tree does not tell whether it is still there. */
async function refuseIfPruned({ repository, git }: WorkTreePorts, tree: Oid): Promise<void> {
  const loose = join(repository.commonDir, 'objects', tree.slice(0, 2), tree.slice(2));
  if (statIfThere(loose) === null && !(await isStored(repository, tree))) throw damaged(tree, 'missing');
  await git.readObject(tree);
}

/** The tree by what differs from the user's own index. */
async function beginAnew(ports: WorkTreePorts, wanted: Wanted, hasConflicts = false): Promise<WorkTree> {
  const work = await copyIndex(ports, null);
  try {
    if (hasConflicts) await settleConflicts(ports.repository, { GIT_INDEX_FILE: work.path });
    const basis = readBasis(ports, wanted.maxFileBytes, work.copied);
    const submodules = await findSubmodules(ports, work.path);
    const listAll = () => list(ports.repository, work.path, { untracked: new Set(), submodules });
    const [hadSecrets, listed] = await Promise.all([unstageSecrets(ports, work.path), listAll()]);
    const reading = await decide(ports, hadSecrets ? await listAll() : listed, wanted, nothingKnown);
    const result = reading && (await applyByGit(ports, work.path, basis, reading));
    if (result) return result;
  } finally {
    discardCopy(ports, work.path);
  }
  if (hasConflicts) throw new Error('conflicts were settled, and are still there');
  return beginAnew(ports, wanted, true);
}

/** Looks at what was listed, and decides; null where it cannot be had from this index. */
async function decide(
  ports: WorkTreePorts,
  { listing, unseen, submodules }: Listed,
  { worktree, maxFileBytes }: Wanted,
  known: Known,
): Promise<Reading | null> {
  const there = lookAt(worktree, pathsToLookAt(listing, known));
  const found = await lookForSecrets(ports, worktree, there, maxFileBytes);
  const changes = decideChanges(listing, found, known, maxFileBytes);
  return changes && { changes, unseen, submodules };
}

type Listed = Omit<Reading, 'changes'> & { readonly listing: Listing };

/** From here on two gits that share the looking are faster than one, and keep two cores busy. */
const manyBytes = 200_000;

function isLarge(index: string): boolean {
  return (statIfThere(index)?.size ?? 0) > manyBytes;
}

/** What differs from an index, what git cannot look into, and what it does not: inside of submodules. */
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

/**
 * Where the index holds untracked files of an earlier snapshot, it cannot tell which of them are ignored by now:
 * the user's own is asked for the untracked ones, at the same time.
 */
async function listFiles(
  repository: Repository,
  index: string,
  known: ReadonlySet<string>,
): Promise<{ listing: Listing; unreadable: LeftOut[] }> {
  const ours = { GIT_INDEX_FILE: index };
  if (known.size === 0 && !isLarge(index)) return listChanges(repository, ['changed', 'untracked'], ours);
  const [changed, untracked] = await Promise.all([
    listChanges(repository, ['changed'], ours),
    listChanges(repository, ['untracked'], known.size === 0 ? ours : {}),
  ]);
  return {
    listing: { changed: changed.listing.changed, untracked: untracked.listing.untracked },
    unreadable: untracked.unreadable,
  };
}
