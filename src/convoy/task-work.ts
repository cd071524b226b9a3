import { readCommit } from '../git/objects/read-objects.ts';
import { readWorkTree } from '../git/snapshot/snapshot.ts';
import { findMergeBase, readBranch } from '../git/worktree/merge-commits.ts';
import { parseOid } from '../ids.ts';
import type { Orch } from '../orch.ts';
import type { EpicId, Oid } from '../types.ts';
import { using } from '../where.ts';
import { mergedBranch } from './names.ts';
import type { ConvoyTask } from './show-convoy.ts';

/** What a task has changed so far: two trees or commits to compare; null if it has not begun. */
export type TaskWork = { readonly from: Oid; readonly to: Oid };

/** Finds what a task has changed, with what is not committed yet. */
export async function readTaskWork(orch: Orch, convoy: EpicId, task: ConvoyTask): Promise<TaskWork | null> {
  const { repository } = orch;
  if (task.commit !== null) {
    const commit = parseOid(task.commit);
    const { parents } = await readCommit(orch.git, commit);
    return { from: parents[0] ?? commit, to: commit };
  }
  const own = await readBranch(repository, task.branch);
  const merged = await readBranch(repository, mergedBranch(convoy));
  if (own === null || merged === null) return null;
  const from = (await findMergeBase(repository, own, merged)) ?? merged;
  if (task.worktree === null) return { from, to: own };
  const { maxFileBytes } = await orch.readSettings();
  const { tree } = await using({ cwd: task.worktree }, (there) => readWorkTree(there, maxFileBytes));
  return { from, to: tree };
}
