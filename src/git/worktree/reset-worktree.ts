import { join } from 'node:path';
import { statIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';
import type { Repository } from '../repository.ts';
import { findOperation } from '../repository-facts.ts';
import { askGit, runGit, withoutMonitor } from '../run-git.ts';
import { isClean } from './ignored-files.ts';
import { commitLeftovers, currentBranch, listEmbedded, readCommit } from './merge-commits.ts';

/* Giving up a worktree, or giving it to another task: first a ref has to hold everything that is in it. */

/**
 * Commits what is left in a worktree on its branch. Returns why not everything in it is on a ref then; null if it is.
 * Ignored files do not count.
 */
export async function holdOnBranch(worktree: Repository, message: string): Promise<string | null> {
  const branch = await currentBranch(worktree);
  if (!(await isClean(worktree))) {
    if (branch === null) return 'it has uncommitted changes and is on no branch';
    const operation = findOperation(worktree);
    if (operation !== null) return `a ${operation} is not finished there`;
    const embedded = await listEmbedded(worktree, await readCommit(worktree));
    if (embedded.length > 0) return `there are git repositories in it: ${embedded.join(', ')}`;
    await commitLeftovers(worktree, message);
  }
  const submodules = await listSubmoduleWork(worktree);
  if (submodules.length > 0) return `only it has the work in its submodules: ${submodules.join(', ')}`;
  if (branch !== null || (await isHeld(worktree))) return null;
  return 'its commits are on no branch';
}

/**
 * Lists the submodules with changes, or with commits that no remote of theirs has. Git keeps the repository of a submodule
 * in the folder of the worktree, and removes both together.
 */
async function listSubmoduleWork(worktree: Repository): Promise<string[]> {
  if (worktree.worktree === null || statIfThere(join(worktree.worktree, '.gitmodules')) === null) return [];
  const own = 'git rev-list --max-count=1 --branches --glob=refs/stash HEAD --not --remotes --tags';
  const look = `test -z "$(git status --porcelain; ${own})" || printf '%s\\n' "$displaypath"`;
  const listed = await runGit(worktree, ['submodule', '--quiet', 'foreach', '--recursive', look]);
  return listed.split('\n').filter(Boolean);
}

async function isHeld(worktree: Repository): Promise<boolean> {
  const args = ['for-each-ref', '--contains=HEAD', '--count=1', '--format=%(refname)', 'refs/'];
  return (await runGit(worktree, args)).trim() !== '';
}

/** State of git that a checkout of another commit would leave behind. */
const leftBehind = [
  ...['sequencer', 'config.worktree', 'BISECT_START', 'rebase-merge', 'rebase-apply'],
  ...['refs/bisect', 'refs/worktree', 'info/sparse-checkout'],
];

/** Can another task begin in a worktree as in a new one, once its files are brought to another commit? */
export async function isLikeNew(worktree: Repository): Promise<boolean> {
  if (findOperation(worktree) !== null) return false;
  if (leftBehind.some((name) => statIfThere(join(worktree.gitDir, name)) !== null)) return false;
  // Marks on files by which git would not see that they changed: lowercase, or S.
  const listed = await askGit(worktree, [...withoutMonitor, 'ls-files', '-v']);
  return listed.status === 0 && !/^[a-zS] /m.test(listed.stdout);
}

/** Takes a worktree off its branch, without touching a file. */
export async function leaveBranch(worktree: Repository, commit: Oid): Promise<void> {
  await runGit(worktree, ['update-ref', '--no-deref', '-m', 'orch: free', 'HEAD', commit]);
}

/** Removes the ignored files of a worktree, apart from these. */
export async function removeIgnored(worktree: Repository, keep: readonly string[]): Promise<void> {
  const kept = keep.flatMap((path) => ['-e', `/${path.replace(/[\\*?[\]!# ]/g, '\\$&')}`]);
  await runGit(worktree, ['clean', '--quiet', '-ffdx', ...kept]);
}
