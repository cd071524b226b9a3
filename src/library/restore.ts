import type { Checkpoint } from '../checkpoint/list.ts';
import type { RestorePlan } from '../checkpoint/restore.ts';
import { parseEpicId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { compareSides, readSides, type Side } from '../session/diff.ts';
import { isNothing, type Restored, restore } from '../session/restore.ts';
import { readInterrupted, type Settled } from '../session/restore-interrupted.ts';
import { scopeOf, showPaths } from '../session/restore-paths.ts';
import { proposeRestore } from '../session/restore-plan.ts';
import { findCode, findUndo, type RestoreTarget } from '../session/restore-target.ts';
import { using, type Where } from './where.ts';

export type RestoreInput = {
  readonly epicId: string;
  /** `58`, `latest~2`, `green`, `s7`, `2h ago`, its id or the beginning of it. */
  readonly name: string;
  /** Only these files and folders, from the top of the working tree; all by default. */
  readonly paths?: readonly string[];
  /** Says what it would do, and does nothing. */
  readonly dryRun?: boolean;
};

export type RestoreResult = {
  /** The checkpoint whose code it is; null for an undo. */
  readonly restored: Checkpoint | null;
  /** The files that were written, whether they were there before or not. */
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
  /** What stays as it is though the checkpoint has it otherwise, and why. */
  readonly kept: readonly { readonly path: string; readonly reason: string }[];
  /** The checkpoint that holds what was there before; null where nothing was done. */
  readonly saved: Checkpoint | null;
  /** The commit that undoing goes back to; null where nothing was done. */
  readonly undo: string | null;
  /** What was done first about restores that had been interrupted here, the last one first. */
  readonly settled: readonly Settled[];
};

/** Brings the code of a checkpoint into the working tree; what is there is saved first, and can be brought back. */
export async function restoreCheckpoint(input: RestoreInput, where: Where = {}): Promise<RestoreResult> {
  const epic = parseEpicId(input.epicId);
  return using(where, async (orch) => {
    const scope = input.paths ? scopeOf(orch.repository, orch.repository.worktree ?? '', input.paths) : null;
    return runRestore(orch, { ...(await findCode(orch, epic, input.name)), scope }, input.dryRun ?? false);
  });
}

/** Brings back what was there before the last restore in this worktree; which can itself be undone. */
export async function undoRestore(
  options: Pick<RestoreInput, 'dryRun'> = {},
  where: Where = {},
): Promise<RestoreResult> {
  return using(where, async (orch) => runRestore(orch, await findUndo(orch), options.dryRun ?? false));
}

async function runRestore(orch: Orch, target: RestoreTarget, dryRun: boolean): Promise<RestoreResult> {
  const { plan } = await proposeRestore(orch, target);
  if (dryRun || (isNothing(plan) && (await readInterrupted(orch)) === null))
    return describeRestore(target, plan, null);
  const done = await restore(orch, target);
  return describeRestore(target, done.plan, done);
}

/** What was done, or would be. */
export function describeRestore(
  { source }: RestoreTarget,
  plan: RestorePlan,
  done: Omit<Restored, 'plan'> | null,
): RestoreResult {
  return {
    restored: source.kind === 'checkpoint' ? source.checkpoint : null,
    changed: showPaths(plan.write.keys()),
    deleted: showPaths(plan.remove),
    kept: plan.kept.map(({ path, reason }) => ({ path: showPaths([path])[0] ?? '', reason })),
    saved: done?.saved ?? null,
    undo: done?.undo ?? null,
    settled: done?.settled ?? [],
  };
}

export type DiffInput = {
  readonly epicId: string;
  /** The older side, by its name; `latest` by default. */
  readonly from?: string;
  /** The newer side; the files as they are now by default. */
  readonly to?: string;
  /** Only these files and folders, from the top of the working tree. */
  readonly paths?: readonly string[];
};

export type DiffResult = {
  /** The checkpoint's id; null stands for now. */
  readonly from: string | null;
  readonly to: string | null;
  readonly files: readonly {
    readonly path: string;
    readonly status: 'added' | 'modified' | 'deleted';
    /** Lines; null where it is not text. */
    readonly additions: number | null;
    readonly deletions: number | null;
  }[];
};

/** What differs between the code of two checkpoints, or between one and now. */
export async function diffCheckpoints(input: DiffInput, where: Where = {}): Promise<DiffResult> {
  const epic = parseEpicId(input.epicId);
  return using(where, async (orch) => {
    const [from, to] = await readSides(orch, epic, input.from ?? 'latest', input.to ?? null);
    return describeDiff(orch, from, to, input.paths ?? null);
  });
}

export async function describeDiff(
  orch: Orch,
  from: Side,
  to: Side,
  scope: readonly string[] | null,
): Promise<DiffResult> {
  const changes = await compareSides(orch, from, to, scope);
  const files = changes.map(({ path, change, added, removed }) => ({
    path,
    status: change,
    additions: added,
    deletions: removed,
  }));
  return { from: from.checkpoint?.id ?? null, to: to.checkpoint?.id ?? null, files };
}
