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
  const batch: T[] = [];
  const claims = openClaims();
  for (const task of readyTasks(tasks, statuses)) {
    if (batch.length >= most) break;
    if (claims.isFree(task.files)) {
      claims.add(task.files);
      batch.push(task);
    }
    if (batch[0]?.files.length === 0) break;
  }
  return batch;
}

/** All batches, one after the other, as they would come if every task succeeded. */
export function listBatches<T extends BatchTask>(
  tasks: readonly T[],
  most = Number.POSITIVE_INFINITY,
): T[][] {
  const done = new Set<string>();
  const batches: T[][] = [];
  for (let left = orderTasks(tasks); left.length > 0; left = left.filter(({ id }) => !done.has(id))) {
    const batch = nextBatch(left, done, most);
    if (batch.length === 0) return batches; // a circle: parsing has refused it
    for (const { id } of batch) done.add(id);
    batches.push(batch);
  }
  return batches;
}
