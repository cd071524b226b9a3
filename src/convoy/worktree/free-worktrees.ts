import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { isClean } from '../../git/worktree/ignored-files.ts';
import { readCommit } from '../../git/worktree/merge-commits.ts';
import {
  listOwnWorktrees,
  moveWorktree,
  type OwnWorktree,
  openWorktree,
  removeWorktree,
  restoreLink,
} from '../../git/worktree/own-worktrees.ts';
import { holdOnBranch, isLikeNew, leaveBranch, removeIgnored } from '../../git/worktree/reset-worktree.ts';
import type { Orch } from '../../orch.ts';
import { removeIfThere, statIfThere } from '../../system/disk.ts';
import { writeJson } from '../../system/json-file.ts';
import { formatProcesses } from '../../system/process/process-table.ts';
import { findWorkingIn } from '../../system/process/process-tree.ts';
import type { EpicId } from '../../types.ts';
import { areTied } from './dependencies.ts';
import { nothingPrepared, type Prepared, preparedPath, readPrepared } from './setup.ts';

/*
 * The worktree of a task that is merged is free for another task of the convoy: with 20,000 files, bringing it to another
 * commit takes a tenth to a half of the time of a new one, and what the setup installed is there already.
 */

const freeMark = (gitDir: string) => join(gitDir, 'orch-free');

/** Is a worktree left over from a task, for the next one? */
export function isFreeWorktree(own: OwnWorktree): boolean {
  try {
    return statIfThere(freeMark(openWorktree(own).gitDir)) !== null;
  } catch {
    return false; // it is no worktree any more
  }
}

/** Secures what is in the worktree of a task that is merged, and frees it; removes it if another task could not use it. */
export async function closeWorktree(orch: Orch, own: OwnWorktree): Promise<void> {
  const why = await secure(orch, own);
  if (why !== null) return orch.report(`${own.path} was kept: ${why}`);
  const worktree = openWorktree(own);
  if (!(await isLikeNew(worktree))) return void (await removeWorktree(orch, own));
  const prepared = readPrepared(preparedPath(worktree));
  await leaveBranch(worktree, await readCommit(worktree));
  removeIfThere(orch.disk, preparedPath(worktree));
  // Last, because from here on another task may take it.
  await writeJson(orch, freeMark(worktree.gitDir), prepared);
}

/** Removes the worktree of a task, once a ref holds all of it and no process works there. Returns why it stays. */
export async function removeTaskWorktree(orch: Orch, own: OwnWorktree): Promise<string | null> {
  const why = await secure(orch, own);
  if (why !== null) return why;
  const working = await removeWorktree(orch, own);
  return working.length > 0 ? `it is in use by ${formatProcesses(working)}` : null;
}

/** Removes the worktrees of a convoy that no task has. Reports what stays. */
export async function removeFreeWorktrees(orch: Orch, convoy: EpicId): Promise<void> {
  for (const own of listOwnWorktrees(orch, `${convoy}/`).filter(isFreeWorktree)) {
    const why = await removeTaskWorktree(orch, own).catch(messageOf);
    if (why !== null) orch.report(`${own.path} was kept: ${why}`);
  }
}

/** Returns why a worktree cannot be given up yet; null if it can. */
async function secure(orch: Orch, own: OwnWorktree): Promise<string | null> {
  const working = findWorkingIn(own.path);
  if (working.length > 0) return `it is in use by ${formatProcesses(working)}`;
  // One that was deleted by hand has nothing to lose.
  if (statIfThere(own.path) === null) return null;
  restoreLink(orch, own);
  return holdOnBranch(openWorktree(own), `${own.name}: what was left in its worktree`);
}

/**
 * Takes a free worktree of the convoy for a task, with the files of the earlier one but without its ignored files, apart
 * from what its setup made. Null if there is none.
 */
export async function takeFreeWorktree(
  orch: Orch,
  { convoy, name, reason }: { readonly convoy: EpicId; readonly name: string; readonly reason: string },
): Promise<{ readonly own: OwnWorktree; readonly earlier: Prepared } | null> {
  const free = listOwnWorktrees(orch, `${convoy}/`).filter(isFreeWorktree);
  // A later round of a loop gets its own again.
  const found = free.find((own) => own.name === name) ?? free[0];
  if (found === undefined || findWorkingIn(found.path).length > 0) return null;
  try {
    // Someone may have looked into it, and changed something, since all of it was on a branch.
    if (!(await isClean(openWorktree(found)))) return null;
    const before = readPrepared(freeMark(openWorktree(found).gitDir));
    const isStale = found.name !== name && (await areTied(found.path, before.made));
    const own = await moveWorktree(orch, found, name, reason);
    const worktree = openWorktree(own);
    const earlier = isStale ? nothingPrepared : before;
    await removeIgnored(worktree, earlier.made);
    removeIfThere(orch.disk, freeMark(worktree.gitDir));
    return { own, earlier };
  } catch (error) {
    orch.report(`${found.path} could not be used again: ${messageOf(error)}`);
    return null;
  }
}
