import type { Millis } from '../types.ts';

/* When a convoy will probably be done, from how long its tasks have taken so far. */

export type TimedTask = {
  readonly id: string;
  readonly needs: readonly string[];
  readonly isDone: boolean;
  readonly startedAt: Millis | null;
  readonly endedAt: Millis | null;
};

/** So many tasks are an experience. */
const enough = 3;

/**
 * Expects the end of a convoy at work: the tasks that are left, each as long as the median of those that are done, one
 * after another on so many workers, and no task before what it needs. Null without enough experience.
 */
export function expectEnd(tasks: readonly TimedTask[], workers: number, now: Millis): Millis | null {
  const took = tasks.flatMap(({ isDone, startedAt, endedAt }) =>
    isDone && startedAt !== null && endedAt !== null ? [Math.max(0, endedAt - startedAt)] : [],
  );
  if (took.length < enough) return null;
  took.sort((a, b) => a - b);
  const usual = took[Math.floor(took.length / 2)] ?? 0;
  const ends = new Map<string, Millis>(tasks.filter(({ isDone }) => isDone).map(({ id }) => [id, now]));
  const free = Array.from({ length: Math.max(1, workers) }, () => now);
  const open = tasks.filter(({ isDone }) => !isDone);
  // Those that have begun first: they have their workers.
  const left = [
    ...open.filter(({ startedAt }) => startedAt !== null),
    ...open.filter(({ startedAt }) => startedAt === null),
  ];
  while (left.length > 0) {
    const next = left.findIndex(({ needs }) =>
      needs.every((need) => ends.has(need) || !isAmong(tasks, need)),
    );
    // What can never begin has no end.
    if (next < 0) break;
    const [task] = left.splice(next, 1);
    if (task === undefined) break;
    const worker = free.indexOf(Math.min(...free));
    const ready = Math.max(free[worker] ?? now, ...task.needs.map((need) => ends.get(need) ?? now));
    const end = task.startedAt === null ? ready + usual : Math.max(now, task.startedAt + usual);
    free[worker] = end;
    ends.set(task.id, end);
  }
  return Math.max(now, ...ends.values());
}

function isAmong(tasks: readonly TimedTask[], id: string): boolean {
  return tasks.some((task) => task.id === id);
}
