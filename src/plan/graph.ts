import { openClaims } from './claims.ts';

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
 * What can be done side by side next: ready tasks that share no files, at most so many of them.
 * A task that does not say which files it works on is alone. None are left when nothing is ready.
 */
export function nextBatch<T extends BatchTask>(
  tasks: readonly T[],
  done: ReadonlySet<string>,
  most = Number.POSITIVE_INFINITY,
): T[] {
  const statuses = new Map([...done].map((id): [string, GraphStatus] => [id, 'succeeded']));
  return chooseTogether(readyTasks(tasks, statuses), most);
}

function chooseTogether<T extends BatchTask>(ready: readonly T[], most: number): T[] {
  const batch: T[] = [];
  const claims = openClaims();
  for (const task of ready) {
    if (batch.length >= most) break;
    if (claims.isFree(task.files)) {
      claims.add(task.files);
      batch.push(task);
    }
    if (batch[0]?.files.length === 0) break;
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
  most = Number.POSITIVE_INFINITY,
): T[][] {
  const order = orderTasks(tasks);
  const ranks = new Map(order.map((task, rank) => [task, rank]));
  const { waitsFor, neededBy } = linkNeeds(order);
  const batches: T[][] = [];
  let ready = order.filter(({ id }) => waitsFor.get(id) === 0);
  while (ready.length > 0) {
    const batch = new Set(chooseTogether(ready, most));
    batches.push([...batch]);
    const freed: T[] = [];
    for (const { id } of batch)
      for (const next of neededBy.get(id) ?? []) {
        const left = (waitsFor.get(next.id) ?? 0) - 1;
        waitsFor.set(next.id, left);
        if (left === 0) freed.push(next);
      }
    ready = ready.filter((task) => !batch.has(task));
    if (freed.length > 0)
      ready = [...ready, ...freed].sort((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
  }
  return batches;
}
