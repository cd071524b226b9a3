import * as z from 'zod/mini';
import { isRecord } from '../checks.ts';
import { list, oneOf, readTaskId, readWhole, readWord, taskId, value } from '../config/yaml/yaml-values.ts';

/* The shapes of a spec's files. Other keys belong to other tools and are left alone. */

export const text = value('a text', readWord);
export const textOrNone = value('a text', (given) => (given == null ? null : readWord(given)));
export const listOrNone = <Item extends z.core.$ZodType>(allowed: string, item: Item) =>
  z.pipe(
    z.transform((given: unknown): unknown => given ?? []),
    list(allowed, item),
  );
const needs = listOrNone('a list of task ids', taskId);

export type TaskStatus = 'pending' | 'in_progress' | 'completed';

/**
 * The three words of the format, and how people and other tools commonly spell them, in any case, with spaces or
 * dashes. Any other word, such as blocked or cancelled, is an error: guessing could start or skip work.
 */
const statusWords: ReadonlyMap<string, TaskStatus> = new Map([
  ['pending', 'pending'],
  ['todo', 'pending'],
  ['open', 'pending'],
  ['not_started', 'pending'],
  ['in_progress', 'in_progress'],
  ['doing', 'in_progress'],
  ['started', 'in_progress'],
  ['completed', 'completed'],
  ['complete', 'completed'],
  ['done', 'completed'],
]);

const status = value('pending, in_progress, completed', (given): TaskStatus | undefined => {
  if (given == null) return 'pending';
  return typeof given === 'string'
    ? statusWords.get(
        given
          .trim()
          .toLowerCase()
          .replace(/[\s-]+/g, '_'),
      )
    : undefined;
});

/** A mapping that may have other keys. A missing key is read as undefined, so that its own shape reports what is allowed. */
export function row<Shape extends z.core.$ZodShape>(shape: Shape) {
  const missing = Object.fromEntries(Object.keys(shape).map((key) => [key, undefined]));
  return z.pipe(
    value(`a mapping with ${Object.keys(shape).join(', ')}`, (given) =>
      isRecord(given) ? { ...missing, ...given } : undefined,
    ),
    z.looseObject(shape),
  );
}

/** A commit's short id may look like a number. */
const commitId = value('the id of a commit', (given) =>
  typeof given === 'number' ? String(given) : readWord(given),
);

const evidence = z.pipe(
  z.transform((given: unknown): unknown => given ?? {}),
  row({ commits: listOrNone('a list of commits', commitId), files: listOrNone('a list of paths', text) }),
);

export const tasksFile = row({
  spec: textOrNone,
  tasks: list('a list of tasks, each with an id and its content', z.unknown()),
});

const files = value('a path, or a list of paths', (given) => {
  const paths = [given ?? []].flat().map(readWord);
  return paths.every((path) => path !== undefined) ? paths : undefined;
});

/** A task has a content, a name, or both; then the name is the short form. */
export const taskRow = z.pipe(
  z.transform((given: unknown): unknown =>
    isRecord(given) && given.content == null && given.name != null
      ? { ...given, content: given.name }
      : given,
  ),
  row({ id: taskId, content: text, name: textOrNone, status, depends_on: needs, file: files, evidence }),
);

export const dependenciesFile = row({
  phases: list('a list of phases, each with its tasks', row({ tasks: list('a list of tasks', z.unknown()) })),
  // Each is a list of ids, or a mapping with the list under `tasks`.
  batches: listOrNone(
    'a list of batches',
    z.pipe(
      z.transform((given: unknown): unknown => (isRecord(given) ? given.tasks : given)),
      list('a list of task ids', taskId),
    ),
  ),
});

export const orderRow = row({
  id: taskId,
  depends_on: needs,
  file: files,
});

export const severities = ['critical', 'high', 'medium', 'low'] as const;

const numberOrZero = value('a number', (given) => (given == null ? 0 : readWhole(given, 0, 1_000_000)));

/** YAML reads a handwritten id that consists of digits as a number. */
const commitOrNone = value('the id of a commit', (given) => {
  if (given == null) return null;
  const id = typeof given === 'number' ? String(given) : given;
  return typeof id === 'string' && /^[0-9a-f]{4,64}$/i.test(id) ? id.toLowerCase() : undefined;
});

const issue = { severity: oneOf(severities), description: text, location: textOrNone };

export const foundIssue = row(issue);

const task = value('a task with its id', (given) => readTaskId(isRecord(given) ? given.id : given));

/** What orch needs from a checkpoint.yaml, its own or not. */
export const checkpointFile = row({
  checkpoint: row({
    branch: textOrNone,
    last_batch: numberOrZero,
    last_commit: commitOrNone,
    tasks: row({ completed: listOrNone('a list of tasks, each with its id', task) }),
    deferred_issues: listOrNone('a list of issues', row({ ...issue, batch: numberOrZero })),
    review_config: z.unknown(),
  }),
});
