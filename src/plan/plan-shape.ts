import * as z from 'zod/mini';
import { isRecord } from '../checks.ts';
import {
  accepts,
  command,
  describeValue,
  duration,
  entry,
  lineOfText,
  list,
  longestTimer,
  oneOf,
  orMapping,
  readTaskId,
  readWord,
  taskId,
  trueOrFalse,
  value,
  whole,
} from '../config/yaml/yaml-values.ts';
import { isAddress } from './action-text.ts';
import { ConditionMistake, parseCondition, valueName } from './condition.ts';
import { convoyPlanShape, convoyTaskShape } from './convoy-shape.ts';
import { filePath } from './file-path.ts';
import type { When } from './plan.ts';

/** Reads a list of ids; a single id needs no list. */
export function readIds(given: unknown): readonly unknown[] | undefined {
  if (Array.isArray(given)) return given;
  return typeof given === 'string' || typeof given === 'number' ? [given] : undefined;
}

const neededId = value('the id of a task', readTaskId, () => null, { type: ['string', 'integer'] });
const needsAllowed = 'a list of task ids ([] for none)';
const needsShape = z.pipe(value(needsAllowed, readIds), z.array(neededId));
const needs = accepts(needsShape, { kind: 'list', allowed: needsAllowed, item: neededId, orOne: true });

const glob = value('a path or a glob, such as src/**', readWord, () => null, {
  type: 'string',
  minLength: 1,
});

const attempts = whole(1, 100);
const backoff = duration('1s', '0s', '1h');

const retry = entry({ attempts: z.optional(attempts), backoff: z.optional(backoff) });

const plainText = value(
  'text, a number, true or false',
  (given) => {
    const isPlain = ['string', 'number', 'boolean'].includes(typeof given);
    return isPlain && !String(given).includes('\0') ? String(given) : undefined;
  },
  () => null,
  { type: ['string', 'number', 'boolean'] },
);

const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

function texts(allowed: string, isName: (name: string) => boolean) {
  const areNames = (given: object) =>
    Object.keys(given).every((name) => name !== '__proto__' && isName(name));
  const shape = z.pipe(
    value(
      allowed,
      (given) => (given === null ? {} : isRecord(given) && areNames(given) ? given : undefined),
      (given) =>
        isRecord(given)
          ? `found the name ${describeValue(Object.keys(given).find((name) => !isName(name)))}`
          : null,
    ),
    z.record(z.string(), plainText),
  );
  return accepts(shape, { kind: 'record', allowed, item: plainText });
}

const env = texts('a mapping of names (letters, digits, _) to values', (name) => variableName.test(name));
const headers = texts('a mapping of header names to values', (name) => /^[!#$%&'*+.^_`|~\w-]+$/.test(name));

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const method = value(
  'GET, POST, PUT, PATCH or DELETE',
  (given) => methods.find((word) => word === given),
  () => null,
  { enum: methods },
);

const url = value(
  'a URL that starts with http:// or https://, or with a variable',
  (given) => (typeof given === 'string' && isAddress(given) ? given : undefined),
  () => null,
  { type: 'string' },
);

const body = value('text, or any JSON value', (given) => (isJson(given) ? given : undefined));

function isJson(given: unknown): boolean {
  if (typeof given === 'number') return Number.isFinite(given);
  if (Array.isArray(given)) return given.every(isJson);
  if (isRecord(given)) return Object.values(given).every(isJson);
  return given === null || typeof given === 'string' || typeof given === 'boolean';
}

const request = entry({
  method: z._default(method, 'POST'),
  url,
  headers: z._default(headers, {}),
  body: z._default(body, null),
});

/** What takes something back: a command, or a mapping with a request or a check. */
const undo = orMapping(
  command,
  entry({ run: z.optional(command), request: z.optional(request), check: z.optional(command) }),
);

const effect = entry({
  id: taskId,
  run: z.optional(command),
  request: z.optional(request),
  check: z.optional(command),
  undo: z.optional(undo),
});

const whenWords = ['success', 'failure', 'always'] as const;

/** A condition, or one of the words that mean one. */
function condition<Word extends string>(words: readonly Word[], example: string) {
  return value(
    `${words.join(', ')}, or a condition such as ${example}`,
    (given): Word | Exclude<When, string> | undefined => {
      const word = words.find((each) => each === given);
      if (word !== undefined || typeof given !== 'string') return word;
      return readCondition(given) ?? undefined;
    },
    (given) =>
      typeof given === 'string' ? `found ${describeValue(given)}: ${explainCondition(given)}` : null,
    { type: 'string' },
  );
}

function readCondition(text: string) {
  try {
    return parseCondition(text);
  } catch (error) {
    if (error instanceof ConditionMistake) return null;
    throw error;
  }
}

function explainCondition(text: string): string {
  try {
    parseCondition(text);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A loop has a bound, because one that never ends costs money. */
const repeat = entry({
  until: z._default(condition(['success'], "tasks.test.status == 'succeeded'"), 'success'),
  attempts: whole(1, 10_000),
  backoff: z.optional(backoff),
});

/** Far more than a plan needs. */
export const mostItems = 100_000;

const itemsAllowed = `a list of at most ${mostItems} items, or values.NAME of a list that a task before it sets`;

/** The items of a task that is done for each of them, or the name of the value that has them. */
const foreach = value(
  itemsAllowed,
  (given): { readonly items: readonly unknown[] } | { readonly value: string } | undefined => {
    if (Array.isArray(given))
      return given.length <= mostItems && given.every(isItem) ? { items: given } : undefined;
    const [, name = ''] = typeof given === 'string' ? (/^values\.(.+)$/.exec(given) ?? []) : [];
    return valueName.test(name) ? { value: name } : undefined;
  },
  (given) => {
    if (!Array.isArray(given)) return null;
    if (given.length > mostItems) return `found a list of ${given.length} items`;
    const wrong = given.find((item) => !isItem(item));
    return `found the item ${describeValue(wrong)}`;
  },
  {
    anyOf: [
      { type: 'array', maxItems: mostItems },
      { type: 'string', pattern: '^values\\.[A-Za-z_]' },
    ],
  },
);

/** Anything that can be a variable of a command. */
export function isItem(given: unknown): boolean {
  return given !== null && isJson(given) && !(typeof given === 'string' && given.includes('\0'));
}

const taskKeys = {
  ...convoyTaskShape,
  id: taskId,
  name: z.optional(lineOfText),
  run: z.optional(command),
  needs: z.optional(needs),
  depends_on: z.optional(needs),
  when: z._default(condition(whenWords, "tasks.build.status == 'failed'"), 'success'),
  foreach: z.optional(foreach),
  repeat: z.optional(repeat),
  files: z._default(list('a list of paths and globs', glob), []),
  retry: z.optional(retry),
  may_fail: z.optional(trueOrFalse),
  timeout: z.optional(duration('10m', '1ms', longestTimer)),
  env: z._default(env, {}),
  artifacts: z._default(list('a list of paths', filePath), []),
  effects: z._default(list('a list of {id, run, check} or {id, request, check}', effect), []),
  undo: z.optional(undo),
};

/** A task in a group. Groups do not nest. */
const part = entry(taskKeys);

const task = entry({
  ...taskKeys,
  tasks: z.optional(list('a list of tasks, which makes it a group', part)),
});

const tasks = list('a list of tasks, such as - { id: build, run: make }', task);

/** The shape of a plan's file. */
export const planShape = entry({
  ...convoyPlanShape,
  name: z.optional(lineOfText),
  tasks: z.optional(tasks),
  steps: z.optional(tasks),
  on_failure: z.optional(oneOf(['stop', 'rollback'])),
});

export type GivenPlan = z.infer<typeof planShape>;
export type GivenTask = z.infer<typeof task>;
export type GivenPart = z.infer<typeof part>;
export type GivenUndo = z.infer<typeof undo>;
export type GivenEffect = z.infer<typeof effect>;
