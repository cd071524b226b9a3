import * as z from 'zod/mini';
import { isRecord } from '../checks.ts';
import {
  command,
  duration,
  entry,
  lineOfText,
  list,
  longestTimer,
  oneOf,
  readWord,
  section,
  value,
  whole,
} from '../config/yaml/yaml-values.ts';
import { parseUsd } from '../units.ts';
import { readFilePath } from './file-path.ts';

/* The keys of a plan whose tasks are prompts for agents. */

export const complexities = ['trivial', 'simple', 'standard', 'complex'] as const;
export type Complexity = (typeof complexities)[number];

/** What an agent is asked to do: the text, or the file that has it. */
export type GivenPrompt = string | { readonly file: string };

const prompt = value<GivenPrompt>(
  'what an agent is to do, as text, or { file: tasks/login.md }',
  (given) => {
    if (!isRecord(given)) return readWord(given);
    const file = Object.keys(given).length === 1 ? readFilePath(given.file) : undefined;
    return file === undefined ? undefined : { file };
  },
  (given) => (isRecord(given) ? 'found a mapping without the path of a file' : null),
  {
    anyOf: [
      { type: 'string' },
      {
        type: 'object',
        properties: { file: { type: 'string' } },
        required: ['file'],
        additionalProperties: false,
      },
    ],
  },
);

/** The most characters a label may have. */
export const longestLabel = 128;

/** Is it one line of text, short enough to be a label? */
export function isLabel(given: unknown): given is string {
  return (
    readWord(given) !== undefined &&
    typeof given === 'string' &&
    given.length <= longestLabel &&
    !/[\p{Control}\u2028\u2029]/u.test(given)
  );
}

const label = value(
  `a label on one line, at most ${longestLabel} long`,
  (given) => {
    const text = typeof given === 'number' ? String(given) : given;
    return isLabel(text) ? text : undefined;
  },
  () => null,
  { type: ['string', 'number'], maxLength: longestLabel },
);

const dollars = value(
  'dollars above 0, up to 999999999.999999, such as 3 or 2.50',
  (given) => {
    const micros = typeof given === 'string' || typeof given === 'number' ? parseUsd(String(given)) : null;
    return micros !== null && micros > 0 ? micros : undefined;
  },
  () => null,
  { type: ['number', 'string'], exclusiveMinimum: 0 },
);

const model = value<string | readonly string[]>(
  'auto, the name of a model, or a list of names: the next one after each failed attempt',
  (given) => {
    if (Array.isArray(given))
      return given.length > 0 && given.every((name) => readWord(name) !== undefined) ? given : undefined;
    return readWord(given);
  },
  () => null,
  { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }] },
);

const word = value('text', readWord, () => null, { type: 'string', minLength: 1 });

const workerShape = {
  agent: z.optional(command),
  model: z.optional(model),
  args: z.optional(list('a list of arguments for the agent', word)),
  setup: z.optional(command),
  copy: z.optional(list('a list of paths and globs, such as [.env]', word)),
  attempts: z.optional(whole(1, 100)),
  budget: z.optional(dollars),
  timeout: z.optional(duration('2h', '1ms', longestTimer)),
  tests: z.optional(oneOf(['first'])),
};
const worker = entry(workerShape);

/** How a prompt is done. A key that is missing has its default, or the plan's value if a task has it. */
export type Worker = z.infer<typeof worker>;

const mergeGates = value<'auto' | 'none' | readonly string[]>(
  'auto, none, or a list of names of gates',
  (given) => {
    if (given === 'auto' || given === 'none') return given;
    const isList = Array.isArray(given) && given.every((name) => readWord(name) !== undefined);
    return isList ? given : undefined;
  },
  () => null,
  { anyOf: [{ enum: ['auto', 'none'] }, { type: 'array', items: { type: 'string' } }] },
);

const merge = section({
  into: z.optional(z.nullable(lineOfText)),
  batch: z.optional(whole(1, 100)),
  gates: z.optional(mergeGates),
});

const review = section({
  by: z.optional(list('a list of agents or commands', command)),
  required: z.optional(whole(0, 100)),
});

/** What happens when two workers change the same places: both are told, or the later one waits too. */
export const collisionChoices = ['warn', 'hold'] as const;

/** The keys of a task in a convoy, besides those of every task. */
export const convoyTaskShape = {
  prompt: z.optional(prompt),
  labels: z.optional(list('a list of labels', label)),
  complexity: z.optional(oneOf(complexities)),
  worker: z.optional(worker),
};

/** The keys of a convoy's plan, besides those of every plan. */
export const convoyPlanShape = {
  workers: z.optional(whole(1, 1_000)),
  budget: z.optional(dollars),
  worker: z.optional(worker),
  merge: z.optional(merge),
  review: z.optional(review),
  collisions: z.optional(oneOf(collisionChoices)),
  spec: z.optional(lineOfText),
};

const convoyTask = entry(convoyTaskShape);
const convoyPlan = entry(convoyPlanShape);
export type GivenConvoyTask = z.infer<typeof convoyTask>;
export type GivenConvoyPlan = z.infer<typeof convoyPlan>;
