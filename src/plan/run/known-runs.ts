import { join } from 'node:path';
import { epicRef } from '../../checkpoint/document/names-in-git.ts';
import { archivedRuns } from '../../checkpoint/document/run-files.ts';
import { countRecords } from '../../checkpoint/shards/edit-shards.ts';
import { listRunFolders, readRunRecords } from '../../checkpoint/shards/read-shards.ts';
import type { GitEngine } from '../../git/engine.ts';
import { readInnerPath } from '../../ids.ts';
import { checkLive, readLive } from '../../journal/live.ts';
import type { Keyed } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { type EpicView, readView } from '../../record/view.ts';
import { compareStamps } from '../../state/join.ts';
import type { List, State } from '../../state/lists.ts';
import {
  foldRecord,
  isRecordEvent,
  joinRecords,
  listEffects,
  noRecords,
  type RecordEvent,
  type RunRecords,
} from '../../state/run-records.ts';
import {
  type EffectRecord,
  type RunHead,
  type RunPart,
  readRuns,
  runOf,
  type TaskRecord,
} from '../../state/runs.ts';
import { effectRecord, findShapeProblem, taskRecord } from '../../state/state-shape.ts';
import { statIfThere } from '../../system/disk.ts';
import type { EpicId, WriterId } from '../../types.ts';
import { formatInstant } from '../../units.ts';
import type { ListedRunInfo } from './progress.ts';

/** A run in an epic's list of runs. */
export type ListedRun = {
  readonly id: string;
  readonly head: RunHead;
  /** The clone that worked on it last. */
  readonly writer: WriterId;
  /** What the document has of its records: all of them or, if they are in shards, a few that are open. */
  readonly inDocument: Pick<RunPart, 'tasks' | 'effects'>;
};

/** A run with everything recorded about it. */
export type KnownRun = Omit<ListedRun, 'inDocument'> & {
  readonly tasks: Keyed<TaskRecord>;
  readonly effects: Keyed<EffectRecord>;
  /** What could not be read: the tasks there are unknown. */
  readonly damaged: readonly string[];
};

type Runs = Pick<State, 'runs'>;

/** Lists an epic's runs, newest first. */
export function listRuns(state: Runs): ListedRun[] {
  const writers = readWriters(state);
  const known = [...readRuns(state.runs)].flatMap(([id, { head, ...inDocument }]): ListedRun[] => {
    const writer = writers.get(id);
    return head === null || writer === undefined ? [] : [{ id, head, inDocument, writer }];
  });
  return known.sort((a, b) => b.head.startedAt - a.head.startedAt || (a.id < b.id ? 1 : -1));
}

function readWriters({ runs }: Runs): Map<string, WriterId> {
  const inOrder = Object.entries(runs).sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
  return new Map(inOrder.map(([key, { stamp }]) => [runOf(key), stamp[1]]));
}

/** Lists the newest run of each plan, newest first. */
export function listNewestRuns(state: Runs): ListedRun[] {
  const plans = new Set<string>();
  return listRuns(state).filter(({ head }) => {
    const isNewest = !plans.has(head.plan);
    plans.add(head.plan);
    return isNewest;
  });
}

/** Finds the newest run of a plan, the only one that can be resumed, and reads all its records. */
export async function findRun(git: GitEngine, view: EpicView, plan: string): Promise<KnownRun | null> {
  const listed = listRuns(view.state).find(({ head }) => head.plan === plan);
  return listed ? readRun(git, view, listed) : null;
}

export async function readRun(
  git: GitEngine,
  view: EpicView,
  { inDocument, ...run }: ListedRun,
): Promise<KnownRun> {
  if (run.head.shards === undefined) return { ...run, ...inDocument, damaged: [] };
  let records = noRecords;
  const damaged: string[] = [];
  for (const { tree } of view.tip.parents) {
    const folder = (await listRunFolders(git, tree, view.epic)).get(run.id);
    if (folder === undefined) continue;
    const found = await readRunRecords(git, folder, run.id, view.state.clock);
    records = joinRecords(records, found.records);
    damaged.push(...found.damaged);
  }
  records = eventsOf(view, run.id).reduce(foldRecord, records);
  if (archivedRuns(view.state).has(run.id))
    damaged.push(`they were archived; git log ${epicRef(view.epic)} has them`);
  const wrong = findWrong(records);
  if (wrong !== null) damaged.push(wrong);
  return { ...run, ...listRecords(records), damaged };
}

/** The records of a run, in the order they were made. */
export function listRecords(records: RunRecords): Pick<KnownRun, 'tasks' | 'effects'> {
  return { tasks: valuesInOrder(records.tasks), effects: Object.fromEntries(listEffects(records)) };
}

/** What the journals hold about a run's tasks and effects. */
function eventsOf({ pending }: EpicView, run: string): RecordEvent[] {
  return pending.filter(isRecordEvent).filter(({ fact }) => fact.run === run);
}

/** Records may come from other clones. */
function findWrong({ tasks, effects }: RunRecords): string | null {
  for (const [key, { value }] of Object.entries(tasks))
    if (findShapeProblem(taskRecord, value) !== null) return `the record of task ${key}`;
  for (const [key, { value }] of Object.entries(effects))
    if (findShapeProblem(effectRecord, value) !== null) return `the record of effect ${key}`;
  return null;
}

/** The values of a list, in the order they were recorded. */
function valuesInOrder<T>(list: List<T>): Keyed<T> {
  const inOrder = Object.entries(list).sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp));
  return Object.fromEntries(inOrder.map(([key, { value }]) => [key, value]));
}

/** Whether a run was started and has not ended. A failed run has ended. */
export function isUnfinished({ head }: Pick<KnownRun, 'head'>): boolean {
  return head.status === 'running' || head.status === 'resume_needed';
}

/** Lists the ids of a run's acknowledged effects. */
export function listDoneEffects({ effects }: KnownRun): string[] {
  return Object.entries(effects).flatMap(([id, { status }]) => (status === 'acknowledged' ? [id] : []));
}

/** Whether a process in this clone is working on a run, as far as that can be known. */
export function isActive({ home }: { readonly home: string }, run: Pick<KnownRun, 'head'> | null): boolean {
  const live = run && readLive(home, run.head.session);
  return live !== null && checkLive(live) !== 'dead';
}

/** Returns the file of a run's plan if it still exists and is not the file asked for: another plan of the same name. */
export function findNamesake(
  { file, worktree }: { readonly file: string | null; readonly worktree: string },
  run: KnownRun | null,
): string | null {
  const other = readInnerPath(run?.head.file);
  if (file === null || other === null || other === file) return null;
  return statIfThere(join(worktree, other)) === null ? null : other;
}

/** Lists the runs of an epic, or of one plan on it, newest first, each with how many of its tasks succeeded. */
export async function listPlanRuns(
  orch: Orch,
  epic: EpicId,
  plan: string | null = null,
): Promise<
  { readonly run: ListedRunInfo /** Null if it is archived. */; readonly succeeded: number | null }[]
> {
  const view = await readView(orch, epic);
  const newest = new Set(listNewestRuns(view.state).map(({ id }) => id));
  const listed = listRuns(view.state).filter(({ head }) => plan === null || head.plan === plan);
  return Promise.all(
    listed.map(async (run) => {
      const { id, head } = run;
      const isStopped = isUnfinished(run) && !isActive(orch, run);
      // Only the newest run of a plan can be resumed; an older unfinished one was abandoned.
      const stoppedStatus = newest.has(id) ? 'resume_needed' : 'failed';
      return {
        run: {
          id,
          name: head.plan,
          status: isStopped ? stoppedStatus : head.status,
          ...(head.rollback && { rollback: head.rollback === 'done' ? 'done' : 'unfinished' }),
          epicId: epic,
          from: head.from,
          startedAt: formatInstant(head.startedAt),
        },
        succeeded: await countSucceeded(orch.git, view, run),
      };
    }),
  );
}

async function countSucceeded(git: GitEngine, view: EpicView, run: ListedRun): Promise<number | null> {
  if (archivedRuns(view.state).has(run.id)) return null;
  return (await countTasks(git, view, run)).succeeded ?? 0;
}

/** Counts the tasks that a run has recorded by their status, without reading them all. */
export async function countTasks(
  git: GitEngine,
  view: EpicView,
  run: ListedRun,
): Promise<{ readonly [status: string]: number | undefined }> {
  if (run.head.shards === undefined) {
    const counts: { [status: string]: number } = {};
    for (const { status } of Object.values(run.inDocument.tasks)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }
  const [tip] = view.tip.parents;
  const folder = tip ? (await listRunFolders(git, tip.tree, view.epic)).get(run.id) : undefined;
  return (await countRecords(git, folder ?? null, run.id, eventsOf(view, run.id), view.state.clock)).tasks;
}
