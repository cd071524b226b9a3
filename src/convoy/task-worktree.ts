import { join } from 'node:path';
import { explainWrites, OrchError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import { runGit } from '../git/run-git.ts';
import { commitLeftovers, currentBranch, isAncestor, readBranch } from '../git/worktree/merge-commits.ts';
import {
  addWorktree,
  listOwnWorktrees,
  type OwnWorktree,
  openWorktree,
  removeWorktree,
  switchWorktree,
} from '../git/worktree/own-worktrees.ts';
import type { Orch } from '../orch.ts';
import type { Worker } from '../plan/convoy-shape.ts';
import { copyFiles } from '../system/copy-files.ts';
import { statIfThere } from '../system/disk.ts';
import { run } from '../system/process/capture.ts';
import { inheritedEnvironment } from '../system/process/spawn.ts';
import type { EpicId, Oid } from '../types.ts';
import { mergedBranch, mergedName, taskBranch, worktreeName } from './names.ts';

/* The worktree of each task: made beside the checkout, on a branch of its own, and removed only once its work is merged. */

export type TaskWorktree = { readonly own: OwnWorktree; readonly branch: string; readonly base: Oid };

/** Finds the worktree of a task, or makes it at the merged branch. */
export async function openTaskWorktree(
  orch: Orch,
  request: {
    readonly convoy: EpicId;
    readonly task: string;
    readonly worker: Worker;
    readonly base: Oid;
    readonly signal: AbortSignal;
  },
): Promise<TaskWorktree & { readonly isNew: boolean }> {
  const { convoy, task, worker, base, signal } = request;
  const name = worktreeName(convoy, task);
  const branch = taskBranch(convoy, task);
  const known = listOwnWorktrees(orch, name).find((each) => each.name === name);
  if (known && statIfThere(known.path)?.isDirectory()) return { own: known, branch, base, isNew: false };
  if (known) await removeWorktree(orch, known);
  const own = await addWorktree(orch, {
    name,
    commit: base,
    branch: null,
    reason: `orch convoy ${convoy}: ${task}`,
  });
  const worktree = openWorktree(own);
  await switchWorktree(orch, worktree, (await readBranch(orch.repository, branch)) ?? base);
  await putOnBranch(worktree, branch);
  await prepareFiles(orch, own, worker, signal);
  return { own, branch, base, isNew: true };
}

/** The worktree in which the merged branch is tried. */
export async function openMergedWorktree(orch: Orch, convoy: EpicId): Promise<OwnWorktree> {
  const name = worktreeName(convoy, mergedName);
  const known = listOwnWorktrees(orch, name).find((each) => each.name === name);
  if (known && statIfThere(known.path)?.isDirectory()) return known;
  if (known) await removeWorktree(orch, known);
  const commit = await readBranch(orch.repository, mergedBranch(convoy));
  if (commit === null) throw new Error(`${mergedBranch(convoy)} does not exist`);
  return addWorktree(orch, { name, commit, branch: null, reason: `orch convoy ${convoy}: merges` });
}

async function putOnBranch(worktree: Repository, branch: string): Promise<void> {
  await runGit(worktree, ['checkout', '--quiet', '-B', branch]);
}

/** Brings in ignored files that the work needs, and installs what it needs. */
async function prepareFiles(
  orch: Orch,
  own: OwnWorktree,
  { copy = [], setup }: Worker,
  signal: AbortSignal,
): Promise<void> {
  const top = orch.repository.worktree;
  if (top !== null)
    await explainWrites(`files could not be copied into ${own.path}`, async () => {
      for (const path of copy) {
        const from = join(top, path);
        if (statIfThere(from) !== null) await copyFiles(from, join(own.path, path), signal);
      }
    });
  if (setup === undefined) return;
  const output: string[] = [];
  const end = await run({
    command: typeof setup === 'string' ? setup : [...setup],
    cwd: own.path,
    env: inheritedEnvironment(),
    marker: `ORCH_SETUP=${own.name}`,
    timeout: Number.POSITIVE_INFINITY,
    signal,
    onOutput: (text) => output.push(text),
  });
  if (end.how === 'exited' && end.status === 0) return;
  const how = end.how === 'exited' ? `exit status ${end.status}` : end.how.replace('_', ' ');
  throw new OrchError(
    'TASK_FAILED',
    `setup failed in ${own.path}: ${how}\n${output.join('').slice(-1_000)}`,
    {
      hint: 'This is not the fault of the worker. Fix setup: in the plan, then: orch convoy resume',
    },
  );
}

export type Finished =
  | { readonly kind: 'commit'; readonly commit: Oid }
  /** What the worker did cannot be merged as it is. */
  | { readonly kind: 'refused'; readonly feedback: string };

/** Commits what a worker left uncommitted, and checks that its branch continues from where it began. */
export async function collectWork(
  { own, branch, base }: TaskWorktree,
  { task, name, trailers }: { readonly task: string; readonly name: string; readonly trailers: string },
): Promise<Finished> {
  const worktree = openWorktree(own);
  const on = await currentBranch(worktree);
  if (on !== branch) {
    const where = on === null ? 'no branch' : `branch ${on}`;
    return {
      kind: 'refused',
      feedback: `The worktree is on ${where}. Go back to yours: git switch ${branch}`,
    };
  }
  await commitLeftovers(worktree, `${task}: ${name}\n\n${trailers}`);
  const commit = await readBranch(worktree, branch);
  if (commit === null) return { kind: 'refused', feedback: `The branch ${branch} is gone.` };
  if (!(await isAncestor(worktree, base, commit)))
    return {
      kind: 'refused',
      feedback: `The branch ${branch} no longer contains ${base.slice(0, 10)}, from which it began. Do not reset or rebase it.`,
    };
  if (commit === base) return { kind: 'refused', feedback: 'Nothing was changed.' };
  return { kind: 'commit', commit };
}

/** Removes the worktree of a task whose work is merged. Left alone if a process still works there. */
export async function closeTaskWorktree(orch: Orch, { own }: Pick<TaskWorktree, 'own'>): Promise<void> {
  await removeWorktree(orch, own);
}
