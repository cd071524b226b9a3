import type { Checkpoint } from '../checkpoint/list.ts';
import type { DeferredIssue, FoundIssue } from '../integration/spec-checkpoint.ts';
import type { Orch } from '../orch.ts';
import { type BatchStatus, describeNext, type NextBatch, readStatus } from '../plan/batch.ts';
import { type BatchCommit, checkCommit, commitWork, planCommit, runCommit } from '../plan/batch-commit.ts';
import { requireWorktree } from '../plan/batch-situation.ts';
import { completeBatch as complete } from '../plan/complete-batch.ts';
import { chooseSpec } from '../plan/spec-folder.ts';
import { startBatch as start } from '../plan/start-batch.ts';
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
  /** The epic it is recorded for; that of a session that runs here, or of the spec's name, by default. */
  readonly epicId?: string;
  /** Although the branch or the commit is another than that of the last batch, or nothing changed for its tasks. */
  readonly anyway?: boolean;
  /** Commit it on the user's branch: the tasks' files and what is staged, then the spec's files. */
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
  /** The commit of the tasks' work, which comes before that of the spec's files; null where this call made none. */
  readonly work: Oid | null;
  readonly differs: NextBatch['differs'];
};

/** Completes tasks of a spec: in its files, and in the epic with a checkpoint. Run again, it finishes what is missing. */
export async function completeBatch(
  options: CompleteBatchOptions = {},
  where: Where = {},
): Promise<CompletedBatch> {
  return using(where, async (orch) => {
    const folder = findSpec(orch, options.spec ?? null);
    const place = await placeOfSpec(orch, folder, options.epicId);
    return (await completeIn(orch, place, folder, options)).completed;
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
  const done = await complete(orch, place, {
    folder,
    tasks: tasks ?? null,
    found: deferred,
    anyway,
    commitWork: commit ? (situation, worked) => commitWork(orch, situation, worked) : null,
  });
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
    work: done.work?.oid ?? null,
    differs: differences,
  };
  return { completed, outcome };
}

export type StartedBatch = {
  readonly spec: NextBatch['spec'];
  readonly batch: NextBatch['batch'];
  readonly total: number;
  readonly started: readonly string[];
  /** In progress before. */
  readonly alreadyStarted: readonly string[];
  readonly differs: NextBatch['differs'];
};

/** Begins tasks of a spec, those of the current batch by default: they are in progress in its files and in the epic. */
export function startBatch(
  options: Pick<CompleteBatchOptions, 'spec' | 'tasks' | 'epicId'> = {},
  where: Where = {},
): Promise<StartedBatch> {
  return using(where, async (orch) => {
    const folder = findSpec(orch, options.spec ?? null);
    return (
      await startIn(orch, await placeOfSpec(orch, folder, options.epicId), folder, options.tasks ?? null)
    ).started;
  });
}

/** The same for a place that is known, with what came of recording it. */
export async function startIn(
  orch: Orch,
  place: Place,
  folder: string,
  tasks: readonly string[] | null,
): Promise<{ readonly started: StartedBatch; readonly outcome: Outcome | null }> {
  const { situation, newly, already, differences, outcome } = await start(orch, place, { folder, tasks });
  const { spec, total, batch, differs } = describeNext(situation, differences);
  const started = newly.map(({ id }) => id);
  return { started: { spec, batch, total, started, alreadyStarted: already, differs }, outcome };
}

/** Where what is done of a spec is recorded: its epic is called as its folder, where none is named. */
async function placeOfSpec(orch: Orch, folder: string, epicId: string | undefined): Promise<Place> {
  const question = { given: epicId, name: nameOfSpec(folder), create: true, agent: null };
  return (await resolvePlace(orch, question)).place;
}

/** `specs/active/auth-system` → `auth-system`. */
export function nameOfSpec(folder: string): string {
  return folder.split('/').at(-1) ?? folder;
}

/** The folder of a spec, as git names it. */
export function findSpec(orch: Orch, given: string | null, cwd?: string): string {
  const worktree = requireWorktree(orch);
  return chooseSpec(worktree, given, cwd ?? worktree);
}
