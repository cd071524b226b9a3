import { openWaitingTasks } from './waiting-tasks.ts';

/** A task of the graph. Needs that no task has are ignored here: parsing refuses them. */
type GraphTask = { readonly id: string; readonly needs: readonly string[] };
type BatchTask = GraphTask & { readonly files: readonly string[] };

/** Orders tasks so that each comes after what it needs, and otherwise as written. */
export function orderTasks<T extends GraphTask>(tasks: readonly T[]): T[] {
  return walk(tasks).order;
}

/** Finds every cycle of tasks that wait for one another, as ids; the first id is repeated at the end. */
export function findCycles(tasks: readonly GraphTask[]): string[][] {
  return walk(tasks).cycles;
}

/** Visits each task after what it needs. It keeps its own stack because a long chain would overflow the call stack. */
function walk<T extends GraphTask>(
  tasks: readonly T[],
): { readonly order: T[]; readonly cycles: string[][] } {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const order: T[] = [];
  const cycles: string[][] = [];
  const places = new Map<string, 'done' | number>();
  for (const root of tasks) {
    if (places.has(root.id)) continue;
    const path: { readonly task: T; next: number }[] = [{ task: root, next: 0 }];
    places.set(root.id, 0);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const need = top.task.needs[top.next++];
      if (need === undefined) {
        path.pop();
        places.set(top.task.id, 'done');
        order.push(top.task);
        continue;
      }
      const task = byId.get(need);
      const place = places.get(need);
      if (task === undefined || place === 'done') continue;
      if (place !== undefined) {
        cycles.push([...path.slice(place).map((step) => step.task.id), need]);
        continue;
      }
      places.set(need, path.length);
      path.push({ task, next: 0 });
    }
  }
  return { order, cycles };
}

type BatchRules<T> = {
  /** The largest number of tasks in a batch. */
  readonly most?: number;
  /** By default, a task that names no files gets a batch of its own, because it may work on any. */
  readonly isExclusive?: (task: T) => boolean;
};

function namesNoFiles({ files }: BatchTask): boolean {
  return files.length === 0;
}

/** Counts the tasks each one waits for, and lists those that need it. */
export function linkNeeds<T extends GraphTask>(tasks: readonly T[]) {
  const ids = new Set(tasks.map(({ id }) => id));
  const waitsFor = new Map<string, number>();
  const neededBy = new Map<string, T[]>(tasks.map(({ id }) => [id, []]));
  for (const task of tasks) {
    const needs = task.needs.filter((need) => ids.has(need));
    waitsFor.set(task.id, needs.length);
    for (const need of needs) neededBy.get(need)?.push(task);
  }
  return { waitsFor, neededBy };
}

/** Lists the batches in which tasks would run if all of them succeeded. */
export function listBatches<T extends BatchTask>(
  tasks: readonly T[],
  { most = Number.POSITIVE_INFINITY, isExclusive = namesNoFiles }: BatchRules<T> = {},
): T[][] {
  const order = orderTasks(tasks);
  const { waitsFor, neededBy } = linkNeeds(order);
  const ranks = new Map(order.map((task, rank) => [task, rank]));
  const waiting = openWaitingTasks<T>({ rankOf: (task) => ranks.get(task) ?? 0, isExclusive });
  for (const task of order) if (waitsFor.get(task.id) === 0) waiting.add(task);
  const batches: T[][] = [];
  while (!waiting.isEmpty()) {
    const batch: T[] = [];
    while (batch.length < most) {
      const task = waiting.take();
      if (task === null) break;
      batch.push(task);
    }
    batches.push(batch);
    for (const task of batch) waiting.release(task);
    for (const { id } of batch)
      for (const next of neededBy.get(id) ?? []) {
        const left = (waitsFor.get(next.id) ?? 0) - 1;
        waitsFor.set(next.id, left);
        if (left === 0) waiting.add(next);
      }
  }
  return batches;
}
