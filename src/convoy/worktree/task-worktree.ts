import { join } from 'node:path';
import { explainWrites, OrchError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { runGit } from '../../git/run-git.ts';
import {
  commitLeftovers,
  currentBranch,
  findMergeBase,
  isAncestor,
  listEmbedded,
  listUnmerged,
  readBranch,
} from '../../git/worktree/merge-commits.ts';
import {
  addWorktree,
  listOwnWorktrees,
  type OwnWorktree,
  openWorktree,
  removeStaleLocks,
  removeWorktree,
  restoreLink,
  switchWorktree,
} from '../../git/worktree/own-worktrees.ts';
import type { Orch } from '../../orch.ts';
import type { Worker } from '../../plan/convoy-shape.ts';
import { copyFiles } from '../../system/copy-files.ts';
import { listFolder, statIfThere, writeAtomically } from '../../system/disk.ts';
import { run } from '../../system/process/capture.ts';
import { inheritedEnvironment } from '../../system/process/spawn.ts';
import type { EpicId, Oid } from '../../types.ts';
import { refuseCheckedOut } from '../merge/merged-branch.ts';
import { mergedBranch, mergedName, taskBranch, worktreeName } from '../names.ts';

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
    /** Does the task begin anew? Then what is left of an earlier run decides where it begins. */
    readonly isNew: boolean;
    readonly signal: AbortSignal;
  },
): Promise<TaskWorktree> {
  const { convoy, task, worker, base, isNew, signal } = request;
  const name = worktreeName(convoy, task);
  const branch = taskBranch(convoy, task);
  const reason = `orch convoy ${convoy}: ${task}`;
  const own =
    (await findOwn(orch, name)) ?? (await addWorktree(orch, { name, commit: base, branch: null, reason }));
  const worktree = openWorktree(own);
  const prepared = join(worktree.gitDir, 'orch-prepared');
  if (statIfThere(prepared) === null) {
    // Until a worktree is on its branch no worker was in it.
    if ((await currentBranch(worktree)) !== branch) {
      await refuseCheckedOut(orch, branch);
      await switchWorktree(orch, worktree, (await readBranch(orch.repository, branch)) ?? base);
      await putOnBranch(worktree, branch);
    }
    await prepareFiles(orch, own, worker, signal);
    await writeAtomically(orch, prepared, '');
  }
  return { own, branch, base: isNew ? await findStart(worktree, branch, base) : base };
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
    `setup failed in ${own.path}: ${how}\n${output.join('').slice(-1_000)}`.trim(),
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
  orch: Orch,
  { own, branch, base }: TaskWorktree,
  { task, name, trailers }: { readonly task: string; readonly name: string; readonly trailers: string },
): Promise<Finished> {
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
  const unmerged = await listUnmerged(worktree);
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
