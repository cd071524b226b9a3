import { join } from 'node:path';
import type { Repository } from '../../git/repository.ts';
import { findOperation } from '../../git/repository-facts.ts';
import { askGit, runGit } from '../../git/run-git.ts';
import { isClean } from '../../git/worktree/ignored-files.ts';
import {
  currentBranch,
  isAncestor,
  isMerging,
  listUnmerged,
  readCommit,
} from '../../git/worktree/merge-commits.ts';
import { pinned } from '../../git/worktree/merge-tree.ts';
import { lstatIfThere, readTextIfThere } from '../../system/disk.ts';
import type { Oid } from '../../types.ts';

/* A merge that a worker resolves in its files, though its sandbox or its permissions may keep it from running git. */

/** Begins the merge of a commit into a branch, if it conflicts: the worker finds both sides in its files. */
export async function beginMerge(worktree: Repository, branch: string, commit: Oid): Promise<void> {
  if (findOperation(worktree) !== null || (await currentBranch(worktree)) !== branch) return;
  if (!(await isClean(worktree)) || (await isAncestor(worktree, commit, await readCommit(worktree)))) return;
  // What rerere has seen resolved once it resolves again, without anyone looking at it.
  const settings = [...pinned, '-c', 'rerere.enabled=false'];
  await askGit(worktree, [...settings, 'merge', '--no-commit', '--no-ff', '--quiet', commit]);
  const isForWorker = (await listUnmerged(worktree)).length > 0;
  if (!isForWorker && isMerging(worktree)) await runGit(worktree, ['merge', '--abort']);
}

const markers = /^(?:<{7,} |>{7,} |\|{7,} |={7}\r?$)/m;

/**
 * Stages the files in conflict that a worker has plainly resolved: both sides have the file, and its content is neither
 * side's and has no conflict markers. Returns the others.
 */
export async function stageResolved(worktree: Repository): Promise<string[]> {
  const resolved = new Set<string>();
  const unmerged = await listUnmerged(worktree);
  if (unmerged.length === 0) return [];
  const entries = (await runGit(worktree, ['ls-files', '--unmerged', '-z'])).split('\0').filter(Boolean);
  for (const path of unmerged) {
    const sides = entries.filter((entry) => entry.slice(entry.indexOf('\t') + 1) === path);
    const both = sides.filter((entry) => /^100\d{3} [0-9a-f]+ [23]\t/.test(entry));
    const file = join(worktree.worktree ?? '.', path);
    const isPlain = both.length === 2 && lstatIfThere(file)?.isFile();
    if (!isPlain || markers.test(readTextIfThere(file) ?? '')) continue;
    const id = (await runGit(worktree, ['hash-object', '--', path])).trim();
    if (both.every((entry) => entry.split(' ')[1] !== id)) resolved.add(path);
  }
  if (resolved.size > 0)
    await runGit(worktree, ['add', '--', ...[...resolved].map((path) => `:(top,literal)${path}`)]);
  return unmerged.filter((path) => !resolved.has(path));
}
