import { type FileMistake, planInvalid } from '../config/yaml/yaml-page.ts';
import { OrchError } from '../errors.ts';
import { openClaims } from '../plan/schedule/claims.ts';
import { findCycles, listBatches } from '../plan/schedule/graph.ts';
import { findNearest } from '../text.ts';
import type { ReadSpec, SpecTask } from './read-spec.ts';
import type { Situation } from './situation.ts';

/* The batches of a spec, the current one, and the tasks a call means. Pure. */

/** Lists the batches of a spec: as the user laid them out, or derived from the dependencies. */
export function layOutBatches(read: ReadSpec): SpecTask[][] {
  const { spec, mistakes, mistakeAt } = read;
  const cycles = findCycles(spec.tasks).map((cycle) =>
    mistakeAt(
      cycle[0] ?? '',
      cycle.length === 2
        ? `${cycle[0]} depends on itself`
        : `tasks wait for one another: ${cycle.join(' → ')}`,
    ),
  );
  const all = [...mistakes, ...cycles, ...findBatchMistakes(read)];
  if (all.length > 0) throw planInvalid(all);
  if (spec.batches === null) return listBatches(spec.tasks);
  const byId = new Map(spec.tasks.map((task) => [task.id, task]));
  return spec.batches.map((ids) => ids.flatMap((id) => byId.get(id) ?? []));
}

/** Checks that each task is in exactly one batch, after the batches of the tasks it depends on. */
function findBatchMistakes({ spec, mistakeInBatch, mistakeAt }: ReadSpec): FileMistake[] {
  if (spec.batches === null) return [];
  const byId = new Map(spec.tasks.map((task) => [task.id, task]));
  const numbers = new Map<string, number>();
  const wrong: FileMistake[] = [];
  for (const [index, ids] of spec.batches.entries()) {
    const number = index + 1;
    if (ids.length === 0) wrong.push(mistakeInBatch(number, `batch ${number} has no tasks`));
    for (const id of ids) {
      if (!byId.has(id)) wrong.push(mistakeInBatch(number, `tasks.yaml has no task ${id}`));
      const before = numbers.get(id);
      if (before !== undefined) wrong.push(mistakeInBatch(number, `${id} is already in batch ${before}`));
      else numbers.set(id, number);
    }
  }
  for (const { id, needs } of spec.tasks) {
    const number = numbers.get(id);
    if (number === undefined)
      wrong.push(mistakeAt(id, `${id} is in none of the batches of dependencies.yaml`));
    else
      for (const need of needs)
        if ((numbers.get(need) ?? 0) >= number)
          wrong.push(mistakeInBatch(number, `${id} depends on ${need}, which is not in an earlier batch`));
  }
  return wrong;
}

/** The first batch that is not completed. */
type CurrentBatch = {
  readonly number: number;
  /** The tasks that are left. */
  readonly tasks: readonly SpecTask[];
  readonly completed: readonly SpecTask[];
  /** Whether the tasks that are left can be done at the same time. */
  readonly parallel: boolean;
};

/** How far the work on a spec is. */
export type Position = {
  readonly total: number;
  /** The number of the last completed batch; 0 before the first. */
  readonly lastBatch: number;
  /** Null if all tasks are completed. */
  readonly batch: CurrentBatch | null;
  readonly blocked: readonly { readonly task: SpecTask; readonly waitsFor: readonly string[] }[];
};

/** Finds how far the work is, by the status of the tasks; a partly completed batch is the current one. */
export function findPosition(batches: readonly (readonly SpecTask[])[]): Position {
  const tasks = batches.flat();
  const done = listCompleted(tasks);
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

/** Collects the ids of the completed tasks. */
export function listCompleted(tasks: readonly SpecTask[]): Set<string> {
  return new Set(tasks.filter(({ status }) => status === 'completed').map(({ id }) => id));
}

/** Batches that the user laid out may share files. */
function canRunTogether(tasks: readonly SpecTask[]): boolean {
  const claims = openClaims<SpecTask>();
  const areDisjoint = tasks.every((task) => {
    const isFree = task.files.length > 0 && claims.findConflict(task.files) === null;
    claims.add(task, task.files);
    return isFree;
  });
  return tasks.length > 1 && areDisjoint;
}

/** Returns the number of the batch a task is in; 0 if it is in none. */
export function findBatchNumber(batches: readonly (readonly SpecTask[])[], id: string): number {
  return batches.findIndex((batch) => batch.some((task) => task.id === id)) + 1;
}

/** Names the batches these tasks are in: `2/4`, or `1-2/4` for several. */
export function nameBatches(
  batches: readonly (readonly SpecTask[])[],
  tasks: readonly Pick<SpecTask, 'id'>[],
): string {
  const numbers = tasks.map(({ id }) => findBatchNumber(batches, id)).filter((number) => number > 0);
  const last = findPosition(batches).lastBatch;
  const [from, to] = numbers.length === 0 ? [last, last] : [Math.min(...numbers), Math.max(...numbers)];
  return `${from === to ? from : `${from}-${to}`}/${batches.length}`;
}

/** The tasks a call completes, and those that are already completed. */
type TaskChoice = { readonly newly: readonly SpecTask[]; readonly already: readonly string[] };

/**
 * Chooses the tasks to complete: those named, or else the current batch. Without names, a completion that is not yet in
 * checkpoint.yaml or in a commit comes first: repeating a call that was killed must not complete the next batch.
 */
export function chooseTasks(
  { spec, position, checkpoint }: Pick<Situation, 'spec' | 'position' | 'checkpoint'>,
  committed: ReadonlySet<string>,
  names: readonly string[] | null,
): TaskChoice {
  const done = listCompleted(spec.tasks);
  if (names !== null) return chooseNamed(spec.tasks, done, [...new Set(names)]);
  const listed = new Set(checkpoint?.completed ?? []);
  const unfinished = [...done].filter((id) => !listed.has(id) || !committed.has(id));
  if (unfinished.length > 0) return { newly: [], already: unfinished };
  return { newly: position.batch?.tasks ?? [], already: [] };
}

/** Chooses tasks by id; everything they depend on must be completed. */
export function chooseNamed(
  tasks: readonly SpecTask[],
  done: ReadonlySet<string>,
  names: readonly string[],
): TaskChoice {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const unknown = names.filter((name) => !byId.has(name));
  if (unknown.length > 0) throw unknownTasksError(unknown, [...byId.keys()]);
  const newly = names.filter((name) => !done.has(name)).flatMap((name) => byId.get(name) ?? []);
  const early = newly.flatMap(({ id, needs }) => {
    const open = needs.filter((need) => !done.has(need));
    return open.length > 0 ? [{ id, open }] : [];
  });
  if (early.length > 0)
    throw new OrchError(
      'USAGE',
      early.map(({ id, open }) => `${id} depends on ${open.join(', ')}, which is not completed`).join('; '),
      {
        hint: `Nothing was changed. Complete the dependency first: orch batch complete ${early[0]?.open.join(' ')}`,
        data: { tasks: early },
      },
    );
  return { newly, already: names.filter((name) => done.has(name)) };
}

function unknownTasksError(unknown: readonly string[], known: readonly string[]): OrchError {
  const meant = findNearest(unknown[0] ?? '', known);
  const quoted = unknown.map((name) => JSON.stringify(name.slice(0, 80))).join(', ');
  return new OrchError('USAGE', `tasks.yaml has no task ${quoted}`, {
    hint: meant ? `Did you mean ${meant}?` : 'List the tasks: orch batch status',
    data: { unknown },
  });
}
