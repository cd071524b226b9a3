import type { infer as Infer, ZodMiniType } from 'zod/mini';
import { cleanLine } from '../text.ts';
import { isMapping, readTaskId } from '../yaml-values.ts';
import { dependenciesFile, orderRow, type TaskStatus, taskRow, tasksFile } from './spec-shape.ts';
import { type FileMistake, findSlips, openPage, type Page } from './yaml-page.ts';

/* A spec: a folder with tasks.yaml, which says what is to be done, and dependencies.yaml, which says in which order. */

export type { TaskStatus };
export const tasksName = 'tasks.yaml';
export const dependenciesName = 'dependencies.yaml';

export type Evidence = { readonly commits: readonly string[]; readonly files: readonly string[] };

export type SpecTask = {
  readonly id: string;
  readonly name: string;
  readonly status: TaskStatus;
  /** What both files say it depends on. */
  readonly needs: readonly string[];
  readonly files: readonly string[];
  readonly evidence: Evidence;
  /** Its place among the tasks of tasks.yaml, from 0. */
  readonly index: number;
};

export type Spec = {
  readonly name: string;
  readonly tasks: readonly SpecTask[];
  /** Where the user laid them out; null where they follow from the dependencies. */
  readonly batches: readonly (readonly string[])[] | null;
};

/** A spec as far as it could be read, and all that is wrong with it. */
export type ReadSpec = {
  readonly spec: Spec;
  readonly mistakes: readonly FileMistake[];
  /** Says that something is wrong with a task, at its place in tasks.yaml. */
  mistakeAt(task: string, message: string): FileMistake;
  /** The same of a batch, by its number, at its place in dependencies.yaml. */
  mistakeInBatch(number: number, message: string): FileMistake;
};

/** The texts of the two files; `folder` is where they are, as messages say it. */
export type SpecTexts = { readonly folder: string; readonly tasks: string; readonly dependencies: string };

/** Reads a spec. What only its graph can tell, such as a cycle, is not looked at here. */
export function parseSpec(texts: SpecTexts): ReadSpec {
  const { folder } = texts;
  const tasksPage = openPage(`${folder}/${tasksName}`, texts.tasks);
  const orderPage = openPage(`${folder}/${dependenciesName}`, texts.dependencies);
  const top = tasksPage.read([], tasksPage.value, tasksFile);
  const order = orderPage.read([], orderPage.value, dependenciesFile);
  const rows = readRows(tasksPage, ['tasks'], top?.tasks ?? [], taskRow);
  const orders = (order?.phases ?? []).flatMap(({ tasks }, phase) =>
    readRows(orderPage, ['phases', phase, 'tasks'], tasks, orderRow),
  );
  // A task with something else wrong is known all the same: nobody is to hear of it twice.
  const known = new Set(
    (top?.tasks ?? []).flatMap((row) => (isMapping(row) ? (readTaskId(row.id) ?? []) : [])),
  );
  const { mistakeAt } = tasksPage;
  const strangers =
    top === null
      ? []
      : [
          ...orders
            .filter(({ id }) => !known.has(id))
            .map(({ id, path }) => orderPage.mistakeAt([...path, 'id'], `${id} is no task of ${tasksName}`)),
          ...findUnknown(tasksPage, rows, known),
          ...findUnknown(orderPage, orders, known),
        ];
  const orderOf = new Map(orders.map((each) => [each.id, each]));
  const indexOf = new Map(rows.map(({ id, path }) => [id, Number(path[1])]));
  return {
    spec: {
      name: cleanLine(top?.spec ?? folder.split('/').at(-1) ?? folder, 200),
      tasks: rows.map((row) => makeTask(row, orderOf.get(row.id))),
      batches: order && order.batches.length > 0 ? order.batches : null,
    },
    mistakes: [
      ...tasksPage.mistakes,
      ...orderPage.mistakes,
      ...strangers,
      ...findWrongRows(tasksPage, rows, [
        'id',
        'content',
        'name',
        'status',
        'depends_on',
        'file',
        'evidence',
      ]),
      ...findWrongRows(orderPage, orders, ['id', 'file', 'depends_on']),
    ],
    mistakeAt: (task, message) => mistakeAt(['tasks', indexOf.get(task) ?? 0], message),
    mistakeInBatch: (number, message) => orderPage.mistakeAt(['batches', number - 1], message),
  };
}

type Row<T> = T & { readonly path: readonly (string | number)[] };
type TaskRow = Row<Infer<typeof taskRow>>;
type OrderRow = Row<Infer<typeof orderRow>>;

function readRows<T>(
  page: Page,
  path: Row<T>['path'],
  rows: readonly unknown[],
  shape: ZodMiniType<T>,
): Row<T>[] {
  return rows.flatMap((raw, index) => {
    const at = [...path, index];
    const row = page.read(at, raw, shape);
    return row === null ? [] : [{ ...row, path: at }];
  });
}

function makeTask(row: TaskRow, order: OrderRow | undefined): SpecTask {
  const { id, content, name, status, depends_on, file, evidence, path } = row;
  return {
    id,
    name: cleanLine(name ?? content),
    status,
    needs: [...new Set([...depends_on, ...(order?.depends_on ?? [])])],
    files: [...new Set([...file, ...(order?.file ?? [])])],
    evidence: { commits: evidence.commits, files: evidence.files },
    index: Number(path.at(-1)),
  };
}

/** Ids that are there twice, and keys that are probably slips. */
function findWrongRows(
  page: Page,
  rows: readonly (TaskRow | OrderRow)[],
  known: readonly string[],
): FileMistake[] {
  const seen = new Set<string>();
  return rows.flatMap(({ path, ...row }) => {
    const wrong = findSlips(Object.keys(row), known).map((slip) => page.mistakeAt(path, slip));
    if (seen.has(row.id)) wrong.push(page.mistakeAt([...path, 'id'], `${row.id} is there twice`));
    seen.add(row.id);
    return wrong;
  });
}

function findUnknown(
  page: Page,
  rows: readonly (TaskRow | OrderRow)[],
  known: ReadonlySet<string>,
): FileMistake[] {
  return rows.flatMap(({ id, depends_on, path }) =>
    depends_on.flatMap((needed, index) =>
      known.has(needed)
        ? []
        : [page.mistakeAt([...path, 'depends_on', index], `${id} depends on ${needed}, which is no task`)],
    ),
  );
}
