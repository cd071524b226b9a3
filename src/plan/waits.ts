import { mayOverlap } from './files.ts';
import { orderTasks } from './graph.ts';
import type { Task } from './types.ts';

/** Why a task does not begin at once: another it needs, the one before it, or one that works on the same files. */
export type Wait = {
  readonly task: string;
  readonly because: 'needs' | 'order' | 'files';
  /** What both work on. */
  readonly files: readonly string[];
};

type WaitingTask = Pick<Task, 'id' | 'needs' | 'isInOrder' | 'files'>;

/** Why each task has to wait, by its id, where several may run at once. */
export function findWaits(tasks: readonly WaitingTask[]): Map<string, Wait[]> {
  const order = orderTasks(tasks);
  const ids = new Set(order.map(({ id }) => id));
  const before = new Map<string, Set<string>>();
  const waits = new Map<string, Wait[]>();
  for (const [index, task] of order.entries()) {
    const needs = task.needs.filter((need) => ids.has(need));
    const all = new Set(needs.flatMap((need) => [need, ...(before.get(need) ?? [])]));
    before.set(task.id, all);
    const because = task.isInOrder ? 'order' : 'needs';
    const shared = order.slice(0, index).flatMap((other): Wait[] => {
      const files = task.files.filter((mine) => other.files.some((theirs) => mayOverlap(mine, theirs)));
      const isFree = all.has(other.id) || files.length === 0;
      return isFree ? [] : [{ task: other.id, because: 'files', files }];
    });
    waits.set(task.id, [...needs.map((need): Wait => ({ task: need, because, files: [] })), ...shared]);
  }
  return waits;
}
