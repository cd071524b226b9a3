import type { Checkpoint } from '../checkpoint/list.ts';
import type { DeferredIssue, FoundIssue } from '../integration/spec-checkpoint.ts';
import type { Orch } from '../orch.ts';
import { type BatchStatus, describeNext, type NextBatch, readStatus } from '../plan/batch.ts';
import { type BatchCommit, checkCommit, planCommit, runCommit } from '../plan/batch-commit.ts';
import { requireWorktree } from '../plan/batch-situation.ts';
import { completeBatch as complete } from '../plan/complete-batch.ts';
import { chooseSpec } from '../plan/spec-folder.ts';
import type { Place } from '../session/here.ts';
import type { Outcome } from '../session/record.ts';
import { resolvePlace } from '../session/resolve.ts';
import type { Oid } from '../types.ts';
import { using, type Where } from './where.ts';

export type SpecOptions = {
  /** The spec's folder, from the top of the working tree, or its name; the only one in `specs/active` by default. */
  readonly spec?: string;
};

/** What is to be done next of a spec, and what waits for it. Reads only. */
export async function nextBatch(options: SpecOptions = {}, where: Where = {}): Promise<NextBatch> {
  const { spec, total, batch, blocked, differs } = await batchStatus(options, where);
  return { spec, total, batch, blocked, differs };
}

/** Where a spec stands, and what is not as it was after its last batch. Reads only. */
export async function batchStatus(options: SpecOptions = {}, where: Where = {}): Promise<BatchStatus> {
  return using(where, async (orch) => readStatus(orch, findSpec(orch, options.spec ?? null)));
}

export type CompleteBatchOptions = SpecOptions & {
  /** By their ids; the current batch by default. */
  readonly tasks?: readonly string[];
  /** What a review found: medium and low is carried along, critical and high stands in the way. */
  readonly deferred?: readonly FoundIssue[];
  /** The epic it is recorded for; found as for every command by default. */
  readonly epicId?: string;
  /** Although the branch or the commit is another than that of the last batch. */
  readonly anyway?: boolean;
  /** Commit it on the user's branch: the spec's files, those of the tasks, and what is staged. */
  readonly commit?: boolean;
};

export type CompletedBatch = {
  readonly spec: NextBatch['spec'];
  /** The batch the tasks are of. */
  readonly batch: { readonly number: number; readonly total: number };
  readonly completed: readonly string[];
  /** Named or found, and completed before. */
  readonly alreadyCompleted: readonly string[];
  readonly next: NextBatch['batch'];
  readonly deferredIssues: readonly DeferredIssue[];
  /** Null where all had been recorded before, or the policy wants none. */
  readonly checkpoint: Checkpoint | null;
  /** What is to be committed, and the commit where it was made; null where nothing is left to commit. */
  readonly commit: (BatchCommit & { readonly oid: Oid | null }) | null;
  readonly differs: NextBatch['differs'];
};

/** Completes tasks of a spec: in its files, and in the epic with a checkpoint. Run again, it finishes what is missing. */
export async function completeBatch(
  options: CompleteBatchOptions = {},
  where: Where = {},
): Promise<CompletedBatch> {
  return using(where, async (orch) => {
    const question = { given: options.epicId, create: true, agent: null };
    const { place } = await resolvePlace(orch, question);
    return (await completeIn(orch, place, findSpec(orch, options.spec ?? null), options)).completed;
  });
}

/** The same for a place that is known, with what came of recording it. */
export async function completeIn(
  orch: Orch,
  place: Place,
  folder: string,
  { tasks, deferred = [], anyway = false, commit = false }: CompleteBatchOptions,
): Promise<{ readonly completed: CompletedBatch; readonly outcome: Outcome | null }> {
  if (commit) await checkCommit(orch, folder);
  const done = await complete(orch, place, { folder, tasks: tasks ?? null, found: deferred, anyway });
  const { situation, newly, already, number, outcome, differences } = done;
  const plan = await planCommit(orch, done);
  const oid = plan && commit ? await runCommit(orch, plan) : null;
  const { spec, total, batch: next } = describeNext(situation, differences);
  const completed = {
    spec,
    batch: { number, total },
    completed: newly.map(({ id }) => id),
    alreadyCompleted: already,
    next,
    deferredIssues: done.deferred,
    checkpoint: outcome?.stored?.checkpoint ?? null,
    commit: plan && { ...plan, oid },
    differs: differences,
  };
  return { completed, outcome };
}

/** The folder of a spec, as git names it. */
export function findSpec(orch: Orch, given: string | null, cwd?: string): string {
  const worktree = requireWorktree(orch);
  return chooseSpec(worktree, given, cwd ?? worktree);
}
