import { linkNeeds, orderTasks } from './graph.ts';
import type { Task } from './types.ts';
import { openWaiting } from './waiting.ts';

export type ScheduledTask = Pick<Task, 'id' | 'needs' | 'when' | 'files'>;
export type Settled = 'succeeded' | 'failed' | 'skipped';

/** What is to happen next. */
export type Next<T> = { readonly start: readonly T[]; readonly skipped: readonly T[] };

/** Decides what a run does next; it knows nothing of how. */
export type Schedule<T> = {
  /** What begins now, beside what runs, and what is skipped because of how that which it needs ended. */
  next(): Next<T>;
  /** A task that was begun has ended. */
  settle(id: string, status: Settled): void;
  /** Is there nothing that runs, and nothing that could? */
  isOver(): boolean;
};

/**
 * Opens the schedule of a plan's tasks, of which some are done already. At most `jobs` run together, and none that
 * may touch the same files. Each step costs what changes with it, not what the plan is long.
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
  // After a failure: of a task itself, or of anything before it.
  const tainted = new Set<string>();
  const running = new Set<string>();
  // As with make: a task that names no files runs beside any other.
  const ready = openWaiting<T>({ rankOf: ({ id }) => ranks.get(id) ?? 0, isAlone: () => false });
  const unwanted: T[] = [];

  const isTainted = ({ needs }: T) => needs.some((need) => tainted.has(need));

  /** All it needs has ended, so it is known whether it runs at all. */
  function addReady(task: T): void {
    if (mayRun(task.when, isTainted(task))) ready.add(task);
    else unwanted.push(task);
  }

  function settle(id: string, status: Settled): void {
    const task = byId.get(id);
    if (task === undefined) return;
    running.delete(id);
    ready.release(task);
    if (status === 'failed' || isTainted(task)) tainted.add(id);
    for (const next of neededBy.get(id) ?? []) {
      const left = (waitsFor.get(next.id) ?? 0) - 1;
      waitsFor.set(next.id, left);
      if (left === 0 && !done.has(next.id)) addReady(next);
    }
  }

  function skipUnwanted(): T[] {
    const skipped: T[] = [];
    for (let task = unwanted.shift(); task !== undefined; task = unwanted.shift()) {
      skipped.push(task);
      settle(task.id, 'skipped');
    }
    return skipped;
  }

  function startWhatCan(): T[] {
    const start: T[] = [];
    while (running.size < jobs) {
      const task = ready.take();
      if (task === null) break;
      running.add(task.id);
      start.push(task);
    }
    return start;
  }

  for (const task of order) if (waitsFor.get(task.id) === 0 && !done.has(task.id)) addReady(task);
  for (const { id } of order) if (done.has(id)) settle(id, 'succeeded');
  return {
    next: () => ({ skipped: skipUnwanted(), start: startWhatCan() }),
    settle,
    isOver: () => running.size + unwanted.length === 0 && ready.isEmpty(),
  };
}

/** A task runs after success, after a failure anywhere before it, or always. */
function mayRun(when: Task['when'], isAfterFailure: boolean): boolean {
  return when === 'always' || (when === 'failure') === isAfterFailure;
}
