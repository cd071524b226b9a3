import { relative, resolve } from 'node:path';
import type { Checkpoint } from '../checkpoint/list.ts';
import { OrchError } from '../errors.ts';
import { commitForUser } from '../git/worktree/user-commit.ts';
import type { Orch } from '../orch.ts';
import type { Outcome } from '../record/record.ts';
import { rememberEpic } from '../record/which/last-used.ts';
import { type Destination, resolveDestination } from '../record/which/which-session.ts';
import { describeRecorded, type RecordedEntry } from '../session/recorded-entry.ts';
import { readIfThere, realPath } from '../system/disk.ts';
import type { Oid } from '../types.ts';
import { using, type Where } from '../where.ts';
import { type BatchCommit, checkCommit, planCommit } from './commit-batch.ts';
import { type CompleteOptions, completeBatch as complete } from './complete-batch.ts';
import {
  type BatchStatus,
  describeNext,
  type NextBatch,
  readStatus,
  recoverFromGit,
  type TaskFromGit,
} from './describe-batch.ts';
import { chooseSpec } from './read-spec.ts';
import { requireWorktree } from './situation.ts';
import { type DeferredIssue, type FoundIssue, parseFoundIssues } from './spec-checkpoint.ts';
import { startBatch as start } from './start-batch.ts';

/* Working through a spec batch by batch: show the next one, start it, complete it, show the status. */

export type SpecOptions = {
  /** The spec's folder, from the top of the working tree, or its name; the only one in `specs/active` by default. */
  readonly spec?: string;
};

/** Returns the current batch of a spec and what waits for it. Read-only. */
export async function nextBatch(options: SpecOptions = {}, where: Where = {}): Promise<NextBatch> {
  const { spec, total, batch, blocked, differs } = await batchStatus(options, where);
  return { spec, total, batch, blocked, differs };
}

/** Returns how far a spec is, and what has changed since its last batch. Read-only. */
export async function batchStatus(options: SpecOptions = {}, where: Where = {}): Promise<BatchStatus> {
  return using(where, async (orch) => readStatus(orch, findSpec(orch, options.spec ?? null).path));
}

/** Returns the status with the tasks that commits of this branch completed; `write` marks them in tasks.yaml. */
export async function recoverBatches(
  orch: Orch,
  spec: FoundSpec,
  { write }: { readonly write: boolean },
): Promise<BatchStatus & { readonly fromGit: readonly TaskFromGit[] }> {
  const { status, fromGit } = await recoverFromGit(orch, spec.path, write);
  return { ...status, fromGit };
}

export type CompleteBatchOptions = SpecOptions &
  CompleteOptions & {
    /** The epic to record it on; by default that of a session running here, or the one named after the spec. */
    readonly epicId?: string;
  };

export type CompletedBatch = {
  readonly spec: NextBatch['spec'];
  /** The batch of these tasks. */
  readonly batch: { readonly number: number; readonly total: number };
  readonly completed: readonly string[];
  /** Tasks that were already completed. */
  readonly alreadyCompleted: readonly string[];
  readonly next: NextBatch['batch'];
  readonly deferredIssues: readonly DeferredIssue[];
  /** Null if everything was recorded before, or the policy wants none. */
  readonly checkpoint: Checkpoint | null;
  /** The commit of the batch, with its id once it is made; null if nothing is left to commit. */
  readonly commit: (BatchCommit & { readonly oid: Oid | null }) | null;
  /** The commit of the tasks' work, made before that of the spec's files; null if this call made none. */
  readonly work: Oid | null;
  readonly differs: NextBatch['differs'];
};

/** Completes tasks of a spec, in its files and in the epic, with a checkpoint. Repeating it does what is missing. */
export async function completeBatch(
  options: CompleteBatchOptions = {},
  where: Where = {},
): Promise<CompletedBatch> {
  return using(where, async (orch) => {
    const spec = findSpec(orch, options.spec ?? null);
    return (await completeBatchIn(orch, await findDestination(orch, spec, options.epicId), spec, options))
      .completed;
  });
}

/** Completes tasks in a known destination, and returns what was recorded. */
export async function completeBatchIn(
  orch: Orch,
  place: Destination,
  { path: folder }: FoundSpec,
  options: CompleteOptions,
): Promise<{ readonly completed: CompletedBatch; readonly recorded: RecordedEntry | null }> {
  if (options.commit) await checkCommit(orch, folder);
  const done = await complete(orch, place, folder, options);
  const { situation, newly, already, number, outcome, differences } = done;
  const plan = await planCommit(orch, done);
  const oid = plan && options.commit ? await commitForUser(orch.repository, plan.commands) : null;
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
  return { completed, recorded: await describeOutcome(orch, place, outcome) };
}

export type StartedBatch = {
  readonly spec: NextBatch['spec'];
  readonly batch: NextBatch['batch'];
  readonly total: number;
  readonly started: readonly string[];
  /** Tasks that were already in progress. */
  readonly alreadyStarted: readonly string[];
  readonly differs: NextBatch['differs'];
};

/** Starts tasks of a spec, the current batch by default: marks them in progress in its files and in the epic. */
export function startBatch(
  options: Pick<CompleteBatchOptions, 'spec' | 'tasks' | 'epicId'> = {},
  where: Where = {},
): Promise<StartedBatch> {
  return using(where, async (orch) => {
    const spec = findSpec(orch, options.spec ?? null);
    const place = await findDestination(orch, spec, options.epicId);
    return (await startBatchIn(orch, place, spec, options.tasks ?? null)).started;
  });
}

/** Starts tasks in a known destination, and returns what was recorded. */
export async function startBatchIn(
  orch: Orch,
  place: Destination,
  { path: folder }: FoundSpec,
  tasks: readonly string[] | null,
): Promise<{ readonly started: StartedBatch; readonly recorded: RecordedEntry | null }> {
  const { situation, newly, already, differences, outcome } = await start(orch, place, { folder, tasks });
  const { spec, total, batch, differs } = describeNext(situation, differences);
  const started = newly.map(({ id }) => id);
  return {
    started: { spec, batch, total, started, alreadyStarted: already, differs },
    recorded: await describeOutcome(orch, place, outcome),
  };
}

async function describeOutcome(
  orch: Orch,
  place: Destination,
  outcome: Outcome | null,
): Promise<RecordedEntry | null> {
  if (outcome === null) return null;
  if (place.kind === 'calls') await rememberEpic(orch, place.epic);
  return describeRecorded(place.epic, outcome);
}

/** Finds where to record a spec's progress: if no epic is named, on the one named after its folder. */
async function findDestination(
  orch: Orch,
  { name }: FoundSpec,
  epicId: string | undefined,
): Promise<Destination> {
  return (await resolveDestination(orch, { given: epicId, name, create: true, agent: null })).destination;
}

/** A spec's folder, as git names it, and its name: `specs/active/auth-system`, `auth-system`. */
export type FoundSpec = { readonly path: string; readonly name: string };

/** Finds a spec by its folder or name, or from the folder the search starts in. */
export function findSpec(orch: Orch, given: string | null, cwd?: string): FoundSpec {
  const worktree = requireWorktree(orch);
  const path = chooseSpec(worktree, given, cwd ?? worktree);
  return { path, name: path.split('/').at(-1) ?? path };
}

/** Reads a review's issues from a YAML or JSON file. */
export function readFoundIssues(file: string, cwd: string): FoundIssue[] {
  const bytes = readIfThere(resolve(cwd, file));
  if (bytes === null)
    throw new OrchError('USAGE', `there is no file ${JSON.stringify(file.slice(0, 200))}`, {
      hint: 'The file is a list: - {severity: medium, description: "…", location: "src/a.py:45"}',
    });
  return parseFoundIssues(file, bytes.toString('utf8'));
}

/** Returns the path from a folder to the top of the working tree, which a batch's commit paths are relative to. */
export function pathToTop({ repository }: Orch, cwd: string): string {
  return relative(realPath(cwd), repository.worktree ?? '');
}
