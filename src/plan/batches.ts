import type { ReadSpec, SpecTask } from '../integration/spec.ts';
import { type FileMistake, planInvalid } from '../integration/yaml-page.ts';
import { openClaims } from './claims.ts';
import { findCycles, listBatches } from './graph.ts';

/* In which batches the tasks of a spec are done, and where among them the work stands. Pure. */

/** The batches of a spec: as the user laid them out, or as they follow from the dependencies. */
export function layOutBatches(read: ReadSpec): SpecTask[][] {
  const { spec, mistakes, mistakeAt } = read;
  const circles = findCycles(spec.tasks).map((cycle) =>
    mistakeAt(
      cycle[0] ?? '',
      cycle.length === 2
        ? `${cycle[0]} depends on itself`
        : `tasks that wait for one another: ${cycle.join(' → ')}`,
    ),
  );
  const all = [...mistakes, ...circles, ...findBatchMistakes(read)];
  if (all.length > 0) throw planInvalid(all);
  if (spec.batches === null) return listBatches(spec.tasks);
  const byId = new Map(spec.tasks.map((task) => [task.id, task]));
  return spec.batches.map((ids) => ids.flatMap((id) => byId.get(id) ?? []));
}

/** Each task is in exactly one batch, and what it depends on is in an earlier one. */
function findBatchMistakes({ spec, mistakeInBatch, mistakeAt }: ReadSpec): FileMistake[] {
  if (spec.batches === null) return [];
  const byId = new Map(spec.tasks.map((task) => [task.id, task]));
  const numbers = new Map<string, number>();
  const wrong: FileMistake[] = [];
  for (const [index, ids] of spec.batches.entries()) {
    const number = index + 1;
    if (ids.length === 0) wrong.push(mistakeInBatch(number, `batch ${number} has no tasks`));
    for (const id of ids) {
      if (!byId.has(id)) wrong.push(mistakeInBatch(number, `${id} is no task of tasks.yaml`));
      const before = numbers.get(id);
      if (before !== undefined) wrong.push(mistakeInBatch(number, `${id} is in batch ${before} already`));
      else numbers.set(id, number);
    }
  }
  for (const { id, needs } of spec.tasks) {
    const number = numbers.get(id);
    if (number === undefined) wrong.push(mistakeAt(id, `${id} is in no batch of dependencies.yaml`));
    else
      for (const need of needs)
        if ((numbers.get(need) ?? 0) >= number)
          wrong.push(mistakeInBatch(number, `${id} depends on ${need}, which is in no earlier batch`));
  }
  return wrong;
}

/** What is to be done next, of which a part may be done already. */
export type CurrentBatch = {
  readonly number: number;
  /** What is left of it. */
  readonly tasks: readonly SpecTask[];
  readonly completed: readonly SpecTask[];
  /** Can what is left be done side by side? */
  readonly parallel: boolean;
};

export type Blocked = { readonly task: SpecTask; readonly waitsFor: readonly string[] };

/** Where the work on a spec stands. */
export type Position = {
  readonly total: number;
  /** How many batches are completed, from the first on. */
  readonly lastBatch: number;
  /** Null when all is done. */
  readonly batch: CurrentBatch | null;
  readonly blocked: readonly Blocked[];
};

/** Where the work stands, by the tasks' own words: a batch that was left in the middle is gone on with. */
export function findPosition(batches: readonly (readonly SpecTask[])[]): Position {
  const tasks = batches.flat();
  const done = completedOf(tasks);
  const index = batches.findIndex((batch) => batch.some(({ id }) => !done.has(id)));
  const current = batches[index];
  const left = current?.filter(({ id }) => !done.has(id)) ?? [];
  const blocked = tasks.flatMap((task) => {
    const waitsFor = done.has(task.id) ? [] : task.needs.filter((need) => !done.has(need));
    return waitsFor.length > 0 ? [{ task, waitsFor }] : [];
  });
  return {
    total: batches.length,
    lastBatch: current === undefined ? batches.length : index,
    batch: current
      ? {
          number: index + 1,
          tasks: left,
          completed: current.filter(({ id }) => done.has(id)),
          parallel: canRunTogether(left),
        }
      : null,
    blocked,
  };
}

export function completedOf(tasks: readonly SpecTask[]): Set<string> {
  return new Set(tasks.filter(({ status }) => status === 'completed').map(({ id }) => id));
}

/** Of batches that the user laid out nobody says that their files are disjoint. */
function canRunTogether(tasks: readonly SpecTask[]): boolean {
  const claims = openClaims<SpecTask>();
  const areDisjoint = tasks.every((task) => {
    const isFree = task.files.length > 0 && claims.findConflict(task.files) === null;
    claims.add(task, task.files);
    return isFree;
  });
  return tasks.length > 1 && areDisjoint;
}

/** The number of the batch a task is in. */
export function batchOf(batches: readonly (readonly SpecTask[])[], id: string): number {
  return batches.findIndex((batch) => batch.some((task) => task.id === id)) + 1;
}

/** `2/4`: which of the batches these tasks are of; `1-2/4` where they are of several. */
export function nameBatches(
  batches: readonly (readonly SpecTask[])[],
  tasks: readonly Pick<SpecTask, 'id'>[],
): string {
  const numbers = tasks.map(({ id }) => batchOf(batches, id)).filter((number) => number > 0);
  const last = findPosition(batches).lastBatch;
  const [from, to] = numbers.length === 0 ? [last, last] : [Math.min(...numbers), Math.max(...numbers)];
  return `${from === to ? from : `${from}-${to}`}/${batches.length}`;
}
