import { openWaiting, type Waiting } from './waiting.ts';

/** What the graph has to know of a task. What it needs and nobody has is as good as not needed: parsing refuses it. */
export type GraphTask = { readonly id: string; readonly needs: readonly string[] };
export type BatchTask = GraphTask & { readonly files: readonly string[] };

/** The tasks in an order in which each comes after what it needs, and otherwise as they were written. */
export function orderTasks<T extends GraphTask>(tasks: readonly T[]): T[] {
  return walk(tasks).order;
}

/** Every circle in which tasks wait for one another, as their ids; the first stands at the end again. */
export function findCycles(tasks: readonly GraphTask[]): string[][] {
  return walk(tasks).cycles;
}

/**
 * Visits each task after what it needs. With a stack of its own: a plan may be a chain of any length,
 * and that of the language is not.
 */
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

/** Has a task come to its end, one way or another? */
export type GraphStatus = 'running' | 'succeeded' | 'failed' | 'skipped';

/** The tasks that nobody began, and whose needs have all ended. */
export function readyTasks<T extends GraphTask>(
  tasks: readonly T[],
  statuses: ReadonlyMap<string, GraphStatus>,
): T[] {
  const ids = new Set(tasks.map(({ id }) => id));
  const isOver = (id: string) => {
    const status = statuses.get(id);
    return !ids.has(id) || (status !== undefined && status !== 'running');
  };
  return tasks.filter(({ id, needs }) => !statuses.has(id) && needs.every(isOver));
}

/**
 * What can be done side by side next: ready tasks that share no files, at most so many of them. None are left when
 * nothing is ready.
 */
export function nextBatch<T extends BatchTask>(
  tasks: readonly T[],
  done: ReadonlySet<string>,
  { most = Number.POSITIVE_INFINITY, isAlone = namesNoFiles }: BatchRules<T> = {},
): T[] {
  const statuses = new Map([...done].map((id): [string, GraphStatus] => [id, 'succeeded']));
  const ready = readyTasks(tasks, statuses);
  const waiting = openBatchWaiting(ready, isAlone);
  for (const task of ready) waiting.add(task);
  return takeBatch(waiting, most);
}

export type BatchRules<T> = {
  /** How many tasks a batch has at the most. */
  readonly most?: number;
  /** By default, a task that does not say which files it works on is alone: it may work on any. */
  readonly isAlone?: (task: T) => boolean;
};

function namesNoFiles({ files }: BatchTask): boolean {
  return files.length === 0;
}

function openBatchWaiting<T extends BatchTask>(
  order: readonly T[],
  isAlone: (task: T) => boolean,
): Waiting<T> {
  const ranks = new Map(order.map((task, rank) => [task, rank]));
  return openWaiting<T>({ rankOf: (task) => ranks.get(task) ?? 0, isAlone });
}

function takeBatch<T>(waiting: Waiting<T>, most: number): T[] {
  const batch: T[] = [];
  while (batch.length < most) {
    const task = waiting.take();
    if (task === null) break;
    batch.push(task);
  }
  return batch;
}

/** How many tasks each one waits for, and by which ones it is needed. */
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

/** All batches, one after the other, as they would come if every task succeeded. */
export function listBatches<T extends BatchTask>(
  tasks: readonly T[],
  { most = Number.POSITIVE_INFINITY, isAlone = namesNoFiles }: BatchRules<T> = {},
): T[][] {
  const order = orderTasks(tasks);
  const { waitsFor, neededBy } = linkNeeds(order);
  const waiting = openBatchWaiting(order, isAlone);
  for (const task of order) if (waitsFor.get(task.id) === 0) waiting.add(task);
  const batches: T[][] = [];
  while (!waiting.isEmpty()) {
    const batch = takeBatch(waiting, most);
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
