import type { Orch } from '../orch.ts';
import { countTasks, readRun } from '../plan/run/known-runs.ts';
import type { TaskRecord } from '../state/runs.ts';
import type { KnownConvoy } from './find-convoy.ts';
import type { ConvoySummary, ConvoyTask } from './show-convoy.ts';
import { readTaskState, type TaskState } from './work/task-transition.ts';

/* How many tasks of a convoy are in each state. */

/** A convoy with more tasks is described by what matters in it. */
export const fewTasks = 200;

export function sizeOf({ run }: KnownConvoy, counts: ConvoySummary['counts']): number {
  return Math.max(
    run.head.tasks ?? 0,
    Object.values(counts).reduce((sum, each) => sum + each, 0),
  );
}

export function countBy(tasks: readonly ConvoyTask[]): ConvoySummary['counts'] {
  const counts: { [S in TaskState]?: number } = {};
  for (const { status } of tasks) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Counts a convoy's tasks without reading them all: what is open is in the document, the rest has been counted. */
export async function countStates(orch: Orch, convoy: KnownConvoy): Promise<ConvoySummary['counts']> {
  const { view, run } = convoy;
  // Of a few tasks, each is looked at: what was cancelled is counted as skipped.
  if ((run.head.tasks ?? 0) <= fewTasks) {
    const { tasks } = await readRun(orch.git, view, run);
    const counts: { [S in TaskState]?: number } = {};
    for (const record of Object.values(tasks)) {
      const state = readTaskState(record, true);
      counts[state] = (counts[state] ?? 0) + 1;
    }
    const waiting = (run.head.tasks ?? 0) - Object.keys(tasks).length;
    return waiting > 0 ? { ...counts, waiting: (counts.waiting ?? 0) + waiting } : counts;
  }
  const byStatus = await countTasks(orch.git, view, run);
  const counts: { [S in TaskState]?: number } = {};
  const add = (state: TaskState, amount: number) => {
    if (amount > 0) counts[state] = (counts[state] ?? 0) + amount;
  };
  const open = Object.values(run.inDocument.tasks);
  for (const record of open) add(readTaskState(record, true), 1);
  const openOf = (status: TaskRecord['status']) => open.filter((each) => each.status === status).length;
  add('done', (byStatus.succeeded ?? 0) - openOf('succeeded'));
  add('failed', (byStatus.failed ?? 0) - openOf('failed'));
  add('skipped', (byStatus.skipped ?? 0) - openOf('skipped'));
  add('working', (byStatus.running ?? 0) - openOf('running'));
  const begun = Object.values(counts).reduce((sum, each) => sum + each, 0);
  add('waiting', (run.head.tasks ?? 0) - begun);
  return counts;
}
