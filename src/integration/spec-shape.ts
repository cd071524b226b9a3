import * as z from 'zod/mini';
import { isMapping, list, readWord, taskId, value } from '../yaml-values.ts';

/* What a spec's files look like. Keys that are not here are other tools': they are left alone. */

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
 * dashes. Any other word, such as blocked or cancelled, is refused: guessing could start or skip work.
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

/** A mapping in which other keys may be. A key that is missing is a value that is: whoever reads it says what is allowed. */
export function row<Shape extends z.core.$ZodShape>(shape: Shape) {
  const missing = Object.fromEntries(Object.keys(shape).map((key) => [key, undefined]));
  return z.pipe(
    value(`a mapping with ${Object.keys(shape).join(', ')}`, (given) =>
      isMapping(given) ? { ...missing, ...given } : undefined,
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

/** What a task is about is its content, or its name; of one that has both, the name is the short one. */
export const taskRow = z.pipe(
  z.transform((given: unknown): unknown =>
    isMapping(given) && given.content == null && given.name != null
      ? { ...given, content: given.name }
      : given,
  ),
  row({ id: taskId, content: text, name: textOrNone, status, depends_on: needs, file: files, evidence }),
);

export const dependenciesFile = row({
  phases: list('a list of phases, each with its tasks', row({ tasks: list('a list of tasks', z.unknown()) })),
  // Each a list of ids, or a mapping that has them as its tasks.
  batches: listOrNone(
    'a list of batches',
    z.pipe(
      z.transform((given: unknown): unknown => (isMapping(given) ? given.tasks : given)),
      list('a list of task ids', taskId),
    ),
  ),
});

export const orderRow = row({
  id: taskId,
  depends_on: needs,
  file: files,
});
