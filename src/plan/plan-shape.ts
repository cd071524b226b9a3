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
  readTaskId,
  readWord,
  taskId,
  value,
  whole,
} from '../config/yaml/yaml-values.ts';
import { isAddress } from './action-text.ts';
import { convoyPlanShape, convoyTaskShape } from './convoy-shape.ts';
import { filePath } from './file-path.ts';

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

const effect = entry({
  id: taskId,
  run: z.optional(command),
  request: z.optional(request),
  check: z.optional(command),
});

const task = entry({
  ...convoyTaskShape,
  id: taskId,
  name: z.optional(lineOfText),
  run: z.optional(command),
  needs: z.optional(needs),
  depends_on: z.optional(needs),
  when: z._default(oneOf(['success', 'failure', 'always']), 'success'),
  files: z._default(list('a list of paths and globs', glob), []),
  retry: z.optional(retry),
  timeout: z.optional(duration('10m', '1ms', longestTimer)),
  env: z._default(env, {}),
  artifacts: z._default(list('a list of paths', filePath), []),
  effects: z._default(list('a list of {id, run, check} or {id, request, check}', effect), []),
});

const tasks = list('a list of tasks, such as - { id: build, run: make }', task);

/** The shape of a plan's file. */
export const planShape = entry({
  ...convoyPlanShape,
  name: z.optional(lineOfText),
  tasks: z.optional(tasks),
  steps: z.optional(tasks),
});

export type GivenPlan = z.infer<typeof planShape>;
export type GivenTask = z.infer<typeof task>;
export type GivenEffect = z.infer<typeof effect>;
