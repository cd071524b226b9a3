import { shareFiles } from './files.ts';
import { linkNeeds, orderTasks } from './graph.ts';
import type { Task } from './types.ts';

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
  const running = new Map<string, T>();
  const ready: T[] = [];
  const unwanted: T[] = [];

  const rankOf = ({ id }: T) => ranks.get(id) ?? 0;
  const isTainted = ({ needs }: T) => needs.some((need) => tainted.has(need));

  /** All it needs has ended, so it is known whether it runs at all. */
  function addReady(task: T): void {
    if (!mayRun(task.when, isTainted(task))) {
      unwanted.push(task);
      return;
    }
    let [from, to] = [0, ready.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = ready[middle];
      if (other && rankOf(other) < rankOf(task)) from = middle + 1;
      else to = middle;
    }
    ready.splice(from, 0, task);
  }

  function settle(id: string, status: Settled): void {
    const task = byId.get(id);
    if (task === undefined) return;
    running.delete(id);
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
    for (let index = 0; index < ready.length && running.size < jobs; ) {
      const task = ready[index];
      if (task === undefined) break;
      const isFree = [...running.values()].every((other) => !shareFiles(task.files, other.files));
      // One that must be alone is not passed by for ever.
      if (!isFree && task.files.length === 0) break;
      if (isFree) {
        ready.splice(index, 1);
        running.set(task.id, task);
        start.push(task);
      } else index++;
    }
    return start;
  }

  for (const task of order) if (waitsFor.get(task.id) === 0 && !done.has(task.id)) addReady(task);
  for (const { id } of order) if (done.has(id)) settle(id, 'succeeded');
  return {
    next: () => ({ skipped: skipUnwanted(), start: startWhatCan() }),
    settle,
    isOver: () => running.size + ready.length + unwanted.length === 0,
  };
}

/** A task runs after success, after a failure anywhere before it, or always. */
function mayRun(when: Task['when'], isAfterFailure: boolean): boolean {
  return when === 'always' || (when === 'failure') === isAfterFailure;
}
