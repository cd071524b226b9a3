import type { Task } from '../plan.ts';
import { linkNeeds, orderTasks } from './graph.ts';
import { openWaitingTasks } from './waiting-tasks.ts';

export type ScheduledTask = Pick<Task, 'id' | 'needs' | 'when' | 'files'>;
export type TaskEnd = 'succeeded' | 'failed' | 'skipped';

/** Decides which tasks a run starts next. */
type Schedule<T> = {
  /** Returns the tasks that can start now, and those that are skipped because of how the tasks they need ended. */
  next(): { readonly ready: readonly T[]; readonly skipped: readonly T[] };
  /** Takes note that a started task has ended. */
  finish(id: string, end: TaskEnd): void;
};

/**
 * Opens the schedule of a plan's tasks, some of which may be done. At most `jobs` tasks run together, and none that may
 * touch the same files. The cost of a step depends on what changes, not on the length of the plan.
 */
export function openSchedule<T extends ScheduledTask>(
  tasks: readonly T[],
  done: ReadonlySet<string>,
  jobs: number,
): Schedule<T> {
  const order = orderTasks(tasks);
  const ranks = new Map(order.map(({ id }, rank) => [id, rank]));
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const { waitsFor, neededBy } = linkNeeds(tasks);
  // Tasks that failed, or that come after a failure anywhere before them.
  const tainted = new Set<string>();
  const running = new Set<string>();
  // As with make, a task that names no files runs beside any other.
  const waiting = openWaitingTasks<T>({ rankOf: ({ id }) => ranks.get(id) ?? 0, isExclusive: () => false });
  const toSkip: T[] = [];

  const isAfterFailure = ({ needs }: T) => needs.some((need) => tainted.has(need));

  /** Once everything a task needs has ended, it is known whether the task runs at all. */
  function addOrSkip(task: T): void {
    const { when } = task;
    const mayRun = when === 'always' || (when === 'failure') === isAfterFailure(task);
    if (mayRun) waiting.add(task);
    else toSkip.push(task);
  }

  function finish(id: string, end: TaskEnd): void {
    const task = byId.get(id);
    if (task === undefined) return;
    running.delete(id);
    waiting.release(task);
    if (end === 'failed' || isAfterFailure(task)) tainted.add(id);
    for (const next of neededBy.get(id) ?? []) {
      const left = (waitsFor.get(next.id) ?? 0) - 1;
      waitsFor.set(next.id, left);
      if (left === 0 && !done.has(next.id)) addOrSkip(next);
    }
  }

  function skipTasks(): T[] {
    const skipped: T[] = [];
    for (let task = toSkip.shift(); task !== undefined; task = toSkip.shift()) {
      skipped.push(task);
      finish(task.id, 'skipped');
    }
    return skipped;
  }

  function takeReady(): T[] {
    const ready: T[] = [];
    while (running.size < jobs) {
      const task = waiting.take();
      if (task === null) break;
      running.add(task.id);
      ready.push(task);
    }
    return ready;
  }

  for (const task of order) if (waitsFor.get(task.id) === 0 && !done.has(task.id)) addOrSkip(task);
  for (const { id } of order) if (done.has(id)) finish(id, 'succeeded');
  return { next: () => ({ skipped: skipTasks(), ready: takeReady() }), finish };
}
