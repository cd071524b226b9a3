import { runGit } from '../../git/run-git.ts';
import { commitLeftovers, readBranch } from '../../git/worktree/merge-commits.ts';
import { openWorktree } from '../../git/worktree/own-worktrees.ts';
import type { Oid } from '../../types.ts';
import type { TaskWorktree } from './task-worktree.ts';

/** Puts a task's worktree back to what is merged. What was done so far stays on a branch of its own. */
export async function startAfresh(
  { own, branch, setup }: TaskWorktree,
  tip: Oid,
  kept: string,
): Promise<TaskWorktree> {
  const worktree = openWorktree(own);
  await commitLeftovers(worktree, `What was done before ${branch} began anew\n`);
  const commit = await readBranch(worktree, branch);
  if (commit !== null && commit !== tip) await runGit(worktree, ['branch', '--force', kept, commit]);
  await runGit(worktree, ['checkout', '--quiet', '--force', '-B', branch, tip]);
  return { own, branch, base: tip, setup };
}
