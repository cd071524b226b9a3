import { join, relative, sep } from 'node:path';
import type { infer as Infer, ZodMiniType } from 'zod/mini';
import { isRecord } from '../checks.ts';
import { type FileMistake, findMisspelt, openYaml, type YamlFile } from '../config/yaml/yaml-page.ts';
import { readTaskId } from '../config/yaml/yaml-values.ts';
import { OrchError } from '../errors.ts';
import { locateFile } from '../record/which/file-path.ts';
import { listFolder, realPath, statIfThere } from '../system/disk.ts';
import { cleanLine } from '../text.ts';
import { dependenciesFile, orderRow, type TaskStatus, taskRow, tasksFile } from './spec-shape.ts';

/* A spec is a folder with tasks.yaml, which lists the work, and dependencies.yaml, which orders it. */

export type { TaskStatus };
export const tasksName = 'tasks.yaml';
export const dependenciesName = 'dependencies.yaml';

export type Evidence = { readonly commits: readonly string[]; readonly files: readonly string[] };

export type SpecTask = {
  readonly id: string;
  readonly name: string;
  readonly status: TaskStatus;
  /** What it depends on, from both files. */
  readonly needs: readonly string[];
  readonly files: readonly string[];
  readonly evidence: Evidence;
  /** Its position in tasks.yaml, from 0. */
  readonly index: number;
};

export type Spec = {
  readonly name: string;
  readonly tasks: readonly SpecTask[];
  /** As the user laid them out; null if they are derived from the dependencies. */
  readonly batches: readonly (readonly string[])[] | null;
};

/** A spec as far as it could be read, with every mistake in it. */
export type ReadSpec = {
  readonly spec: Spec;
  readonly mistakes: readonly FileMistake[];
  /** Makes a mistake about a task, at its place in tasks.yaml. */
  mistakeAt(task: string, message: string): FileMistake;
  /** Makes a mistake about a batch, at its place in dependencies.yaml. */
  mistakeInBatch(number: number, message: string): FileMistake;
};

/** The texts of the two files, and their folder for messages. */
type SpecTexts = { readonly folder: string; readonly tasks: string; readonly dependencies: string };

/** Parses a spec. Mistakes that only its graph shows, such as cycles, are found in `layOutBatches`. */
export function parseSpec(texts: SpecTexts): ReadSpec {
  const { folder } = texts;
  const tasksYaml = openYaml(`${folder}/${tasksName}`, texts.tasks);
  const orderYaml = openYaml(`${folder}/${dependenciesName}`, texts.dependencies);
  const top = tasksYaml.read([], tasksYaml.value, tasksFile);
  const order = orderYaml.read([], orderYaml.value, dependenciesFile);
  const rows = readRows(tasksYaml, ['tasks'], top?.tasks ?? [], taskRow);
  const orders = (order?.phases ?? []).flatMap(({ tasks }, phase) =>
    readRows(orderYaml, ['phases', phase, 'tasks'], tasks, orderRow),
  );
  // A task with another mistake still counts as known, so that it is not reported twice.
  const known = new Set(
    (top?.tasks ?? []).flatMap((row) => (isRecord(row) ? (readTaskId(row.id) ?? []) : [])),
  );
  const { mistakeAt } = tasksYaml;
  const unknown =
    top === null
      ? []
      : [
          ...orders
            .filter(({ id }) => !known.has(id))
            .map(({ id, path }) => orderYaml.mistakeAt([...path, 'id'], `${tasksName} has no task ${id}`)),
          ...findUnknownNeeds(tasksYaml, rows, known),
          ...findUnknownNeeds(orderYaml, orders, known),
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
      ...tasksYaml.mistakes,
      ...orderYaml.mistakes,
      ...unknown,
      ...findRowMistakes(tasksYaml, rows, [
        'id',
        'content',
        'name',
        'status',
        'depends_on',
        'file',
        'evidence',
      ]),
      ...findRowMistakes(orderYaml, orders, ['id', 'file', 'depends_on']),
    ],
    mistakeAt: (task, message) => mistakeAt(['tasks', indexOf.get(task) ?? 0], message),
    mistakeInBatch: (number, message) => orderYaml.mistakeAt(['batches', number - 1], message),
  };
}

type Row<T> = T & { readonly path: readonly (string | number)[] };
type TaskRow = Row<Infer<typeof taskRow>>;
type OrderRow = Row<Infer<typeof orderRow>>;

function readRows<T>(
  file: YamlFile,
  path: Row<T>['path'],
  rows: readonly unknown[],
  shape: ZodMiniType<T>,
): Row<T>[] {
  return rows.flatMap((raw, index) => {
    const at = [...path, index];
    const row = file.read(at, raw, shape);
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

/** Finds ids used twice, and keys that are probably typos. */
function findRowMistakes(
  file: YamlFile,
  rows: readonly (TaskRow | OrderRow)[],
  known: readonly string[],
): FileMistake[] {
  const seen = new Set<string>();
  return rows.flatMap(({ path, ...row }) => {
    const wrong = findMisspelt(Object.keys(row), known).map((message) => file.mistakeAt(path, message));
    if (seen.has(row.id)) wrong.push(file.mistakeAt([...path, 'id'], `the id ${row.id} is used twice`));
    seen.add(row.id);
    return wrong;
  });
}

function findUnknownNeeds(
  file: YamlFile,
  rows: readonly (TaskRow | OrderRow)[],
  known: ReadonlySet<string>,
): FileMistake[] {
  return rows.flatMap(({ id, depends_on, path }) =>
    depends_on.flatMap((needed, index) =>
      known.has(needed)
        ? []
        : [file.mistakeAt([...path, 'depends_on', index], `${id} depends on ${needed}, which is not a task`)],
    ),
  );
}

/** The folder of the specs that are being worked on. */
const active = 'specs/active';

/** Chooses a spec's folder, as git names it: the one given, the one around `cwd`, or the only one in `specs/active`. */
export function chooseSpec(worktree: string, given: string | null, cwd: string): string {
  if (given !== null) return locateSpec(worktree, given, cwd);
  const names = listSpecs(worktree);
  const around = relative(worktree, realPath(cwd)).split(sep).join('/');
  const inside = names.find((name) => `${around}/`.startsWith(`${active}/${name}/`));
  if (inside !== undefined) return `${active}/${inside}`;
  const [only, ...others] = names;
  if (only === undefined)
    throw new OrchError('USAGE', `there is no spec in ${active}`, {
      hint: 'Name its folder with --spec DIR. A spec has a tasks.yaml and a dependencies.yaml',
    });
  if (others.length > 0)
    throw new OrchError('USAGE', `there are ${names.length} specs: ${names.join(', ')}`, {
      hint: `Name one, such as: --spec ${only}`,
      data: { specs: names },
    });
  return `${active}/${only}`;
}

function listSpecs(worktree: string): string[] {
  return listFolder(join(worktree, active))
    .filter((name) => !name.startsWith('.') && isFolder(join(worktree, active, name)))
    .sort();
}

function isFolder(path: string): boolean {
  return statIfThere(path)?.isDirectory() === true;
}

function locateSpec(worktree: string, given: string, cwd: string): string {
  const path = locateFile(given, realPath(cwd), worktree);
  if (isFolder(join(worktree, path))) return path;
  if (listSpecs(worktree).includes(given)) return `${active}/${given}`;
  const names = listSpecs(worktree);
  throw new OrchError('USAGE', `there is no spec ${JSON.stringify(given.slice(0, 200))}`, {
    hint: names.length === 0 ? 'Name its folder' : `Specs in ${active}: ${names.join(', ')}`,
    data: { specs: names },
  });
}
