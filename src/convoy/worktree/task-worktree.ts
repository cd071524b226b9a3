import { join } from 'node:path';
import { OrchError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { askGit, runGit } from '../../git/run-git.ts';
import { findCaseCollisions } from '../../git/worktree/case-collisions.ts';
import {
  commitLeftovers,
  currentBranch,
  findMergeBase,
  isAncestor,
  listEmbedded,
  moveBranch,
  readBranch,
} from '../../git/worktree/merge-commits.ts';
import {
  addWorktree,
  fillWorktree,
  listOwnWorktrees,
  type OwnWorktree,
  openWorktree,
  removeStaleLocks,
  removeWorktree,
  restoreLink,
  switchWorktree,
} from '../../git/worktree/own-worktrees.ts';
import { chooseWorktreesFolder } from '../../git/worktree/worktrees-folder.ts';
import type { Orch } from '../../orch.ts';
import { listFolder, statIfThere } from '../../system/disk.ts';
import type { EpicId, Oid } from '../../types.ts';
import { refuseCheckedOut } from '../merge/merged-branch.ts';
import { stageResolved } from '../merge/pending-merge.ts';
import { mergedBranch, mergedName, taskBranch, worktreeName } from '../names.ts';
import { refuseFullDisk } from './disk-space.ts';
import { closeWorktree, isFreeWorktree, removeTaskWorktree, takeFreeWorktree } from './free-worktrees.ts';
import {
  nothingPrepared,
  type Prepared,
  type PrepareRequest,
  preparedPath,
  prepareWorktree,
  type SetupKind,
} from './setup.ts';
import { freeSlot } from './slots.ts';

/* The worktree of each task: made beside the checkout, on a branch of its own, and removed only once its work is merged. */

export type TaskWorktree = {
  readonly own: OwnWorktree;
  readonly branch: string;
  readonly base: Oid;
  /** How it got what its worker needs; null if it had that already. */
  readonly setup: SetupKind | null;
};

type OpenRequest = Omit<PrepareRequest, 'timeout' | 'shared'> & {
  readonly base: Oid;
  /** Does the task begin anew? Then what is left of an earlier run decides where it begins. */
  readonly isNew: boolean;
};

/** Finds the worktree of a task, or makes it at the merged branch. */
export async function openTaskWorktree(orch: Orch, request: OpenRequest): Promise<TaskWorktree> {
  const { convoy, task, base, isNew } = request;
  const name = worktreeName(convoy, task);
  const branch = taskBranch(convoy, task);
  const { own, earlier, isEmpty } = await findOrMake(orch, request, name);
  const worktree = openWorktree(own);
  let setup: SetupKind | null = null;
  if (statIfThere(preparedPath(worktree)) === null) {
    // Until a worktree is on its branch no worker was in it.
    if ((await currentBranch(worktree)) !== branch) {
      await refuseCheckedOut(orch, branch);
      const known = await readBranch(orch.repository, branch);
      await (isEmpty ? fillWorktree : switchWorktree)(orch, worktree, known ?? base);
      if (known === null) await moveBranch(orch.repository, branch, base, null, `convoy: begin ${task}`);
      await putOnBranch(worktree, branch);
    }
    setup = await prepareWorktree(orch, own, request, earlier);
  }
  return { own, branch, base: isNew ? await findStart(worktree, branch, base) : base, setup };
}

/** The task's own worktree, else a free one of the convoy, else a new one. */
async function findOrMake(
  orch: Orch,
  { convoy, task, base }: OpenRequest,
  name: string,
): Promise<{ readonly own: OwnWorktree; readonly earlier: Prepared; readonly isEmpty: boolean }> {
  const reason = `orch convoy ${convoy}: ${task}`;
  const known = await findOwn(orch, name);
  if (known !== null && !isFreeWorktree(known))
    return { own: known, earlier: nothingPrepared, isEmpty: false };
  const free = await takeFreeWorktree(orch, { convoy, name, reason });
  if (free !== null) return { ...free, isEmpty: false };
  const why = known === null ? null : await removeTaskWorktree(orch, known);
  if (why !== null)
    throw new OrchError('GIT_FAILED', `the worktree of an earlier round is in the way: ${why}`, {
      hint: `Take what you need out of it, then continue: orch convoy resume ${convoy}`,
      data: { worktree: known?.path },
    });
  return { own: await makeNew(orch, name, base, reason), earlier: nothingPrepared, isEmpty: true };
}

async function makeNew(orch: Orch, name: string, commit: Oid, reason: string): Promise<OwnWorktree> {
  const folder = await findWorktreesFolder(orch);
  await refuseFullDisk(orch.repository, folder, commit);
  return addWorktree(orch, { name, commit, branch: null, reason, folder });
}

/** Where a worktree is, or would be made: one made under an earlier setting stays where it is. */
export function locateWorktree(orch: Orch, folder: string, name: string): string {
  return listOwnWorktrees(orch, name).find((own) => own.name === name)?.path ?? join(folder, name);
}

/** The folder for worktrees, as the config has it. */
export async function findWorktreesFolder(orch: Orch): Promise<string> {
  return chooseWorktreesFolder(orch.repository, (await orch.readConfig()).worktrees);
}

/** Finds a worktree of ours that still has its folder. */
async function findOwn(orch: Orch, name: string): Promise<OwnWorktree | null> {
  const known = listOwnWorktrees(orch, name).find((each) => each.name === name);
  if (known === undefined) return null;
  if (statIfThere(known.path)?.isDirectory()) {
    restoreLink(orch, known);
    if (listFolder(known.path).length > 0) return known;
  }
  await removeWorktree(orch, known);
  return null;
}

/** Where a task begins: at what is merged, or, if an earlier run left work that is not merged, where that began. */
async function findStart(worktree: Repository, branch: string, base: Oid): Promise<Oid> {
  const commit = await readBranch(worktree, branch);
  if (commit === null || (await isAncestor(worktree, base, commit))) return base;
  if ((await isAncestor(worktree, commit, base)) && (await currentBranch(worktree)) === branch) {
    await runGit(worktree, ['merge', '--quiet', '--ff-only', base]);
    return base;
  }
  return (await findMergeBase(worktree, commit, base)) ?? base;
}

/** The worktree in which the merged branch is tried. */
export async function openMergedWorktree(orch: Orch, convoy: EpicId): Promise<OwnWorktree> {
  const name = worktreeName(convoy, mergedName);
  const known = await findOwn(orch, name);
  if (known !== null) return known;
  const commit = await readBranch(orch.repository, mergedBranch(convoy));
  if (commit === null) throw new Error(`${mergedBranch(convoy)} does not exist`);
  const own = await makeNew(orch, name, commit, `orch convoy ${convoy}: merges`);
  const { status } = await askGit(orch.repository, ['cat-file', '-e', `${commit}:.gitmodules`]);
  if (status === 0)
    orch.report(
      'submodules are empty in worktrees; if workers need them, let setup: fetch them: git submodule update --init',
    );
  return own;
}

/** Puts a worktree on a branch whose files it has; a checkout would look at each of them again. */
async function putOnBranch(worktree: Repository, branch: string): Promise<void> {
  await runGit(worktree, ['symbolic-ref', '-m', `orch: ${branch}`, 'HEAD', `refs/heads/${branch}`]);
}

export type Finished =
  | { readonly kind: 'commit'; readonly commit: Oid }
  /** What the worker did cannot be merged as it is. */
  | { readonly kind: 'refused'; readonly feedback: string };

/** Commits what a worker left uncommitted, and checks that its branch continues from where it began. */
export async function collectWork(
  orch: Orch,
  { own, branch, base }: TaskWorktree,
  { task, title, trailers }: { readonly task: string; readonly title: string; readonly trailers: string },
): Promise<Finished> {
  if (statIfThere(own.path)?.isDirectory() !== true)
    return {
      kind: 'refused',
      feedback: `The worktree was deleted or moved away while you worked in it. What you had committed is on ${branch}.`,
    };
  restoreLink(orch, own);
  removeStaleLocks(orch, own);
  const worktree = openWorktree(own);
  const on = await currentBranch(worktree);
  if (on !== branch) {
    const where = on === null ? 'no branch' : `branch ${on}`;
    return {
      kind: 'refused',
      feedback: `The worktree is on ${where}. Go back to yours: git switch ${branch}`,
    };
  }
  const unmerged = await stageResolved(worktree);
  if (unmerged.length > 0)
    return {
      kind: 'refused',
      feedback: `A merge is not finished, in ${unmerged.join(', ')}. Resolve it so that neither side loses anything, and commit.`,
    };
  const embedded = await listEmbedded(worktree, base);
  if (embedded.length > 0)
    return {
      kind: 'refused',
      feedback: `There are git repositories in the worktree, whose files would be lost: ${embedded.join(', ')}. Move them out, let git ignore them, or remove their .git.`,
    };
  await commitLeftovers(worktree, `${task}: ${title}\n\n${trailers}`);
  const commit = await readBranch(worktree, branch);
  if (commit === null) return { kind: 'refused', feedback: `The branch ${branch} is gone.` };
  if (!(await isAncestor(worktree, base, commit)))
    return {
      kind: 'refused',
      feedback: `The branch ${branch} no longer contains ${base.slice(0, 10)}, from which it began. To bring it back without losing what you did: git reset --soft ${base.slice(0, 10)}, then commit.`,
    };
  if (commit === base) return { kind: 'refused', feedback: 'Nothing was changed.' };
  const [alike] = await findCaseCollisions(worktree, base, commit);
  if (alike !== undefined)
    return {
      kind: 'refused',
      feedback: `${alike.join(' and ')} differ only in upper and lower case; macOS and Windows can have only one of them. Rename or merge the new one.`,
    };
  return { kind: 'commit', commit };
}

/** Gives up the worktree of a task whose work is merged, and its slot. Left alone if a process still works there. */
export async function closeTaskWorktree(
  orch: Orch,
  { own }: Pick<TaskWorktree, 'own'>,
  epic?: EpicId,
): Promise<void> {
  if (epic !== undefined) freeSlot(orch, epic);
  await closeWorktree(orch, own);
}
