import { runGit } from '../../git/run-git.ts';
import { commitLeftovers, isAncestor, keepBranch, readBranch } from '../../git/worktree/merge-commits.ts';
import { openWorktree } from '../../git/worktree/own-worktrees.ts';
import type { Oid } from '../../types.ts';
import type { TaskWorktree } from './task-worktree.ts';

/** Puts a task's worktree back to what is merged. What was done so far stays on a branch of its own, `kept`. */
export async function startAfresh(
  { own, branch, setup }: TaskWorktree,
  tip: Oid,
): Promise<{ readonly worktree: TaskWorktree; readonly kept: string | null }> {
  const worktree = openWorktree(own);
  await commitLeftovers(worktree, `What was done before ${branch} began anew\n`);
  const commit = await readBranch(worktree, branch);
  const isNews = commit !== null && !(await isAncestor(worktree, commit, tip));
  const kept = isNews ? await keepBranch(worktree, branch, commit) : null;
  await runGit(worktree, ['checkout', '--quiet', '--force', '-B', branch, tip]);
  return { worktree: { own, branch, base: tip, setup }, kept };
}
