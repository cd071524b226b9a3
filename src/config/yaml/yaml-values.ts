import * as z from 'zod/mini';
import { isRecord } from '../../checks.ts';
import { isTaskId } from '../../ids.ts';
import { cutBytes, findNearest } from '../../text.ts';
import { parseDuration } from '../../units.ts';

/** What a shape accepts, for the JSON Schemas that editors use: zod only knows that any value is transformed. */
export type Accepted =
  | { readonly kind: 'value'; readonly allowed: string; readonly json: JsonSchema }
  | { readonly kind: 'mapping'; readonly shape: z.core.$ZodShape; readonly orNothing: boolean }
  | {
      readonly kind: 'list';
      readonly allowed: string;
      readonly item: z.core.$ZodType;
      /** A single item may be written without a list. */
      readonly orOne?: true;
    }
  | { readonly kind: 'record'; readonly allowed: string; readonly item: z.core.$ZodType }
  | { readonly kind: 'auto'; readonly other: z.core.$ZodType }
  | { readonly kind: 'either'; readonly shapes: readonly z.core.$ZodType[] };
export type JsonSchema = { readonly [keyword: string]: unknown };

const accepted = new WeakMap<z.core.$ZodType, Accepted>();

/** Declares what a shape accepts. */
export function accepts<Shape extends z.core.$ZodType>(shape: Shape, what: Accepted): Shape {
  accepted.set(shape, what);
  return shape;
}

/** Returns what a shape was declared to accept; only used to write `templates/schemas`. */
export function findAccepted(shape: z.core.$ZodType): Accepted | null {
  return accepted.get(shape) ?? null;
}

/** Describes a value in a few words. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return JSON.stringify(cutBytes(value, 60));
  return typeof value === 'object' ? 'a mapping' : String(value);
}

/**
 * A single value: `read` returns its meaning, or undefined if it is wrong.
 * The message says what was found and what is allowed; `explain` may say more about a common mistake.
 */
export function value<T>(
  allowed: string,
  read: (given: unknown) => T | undefined,
  explain: (given: unknown) => string | null = () => null,
  json: JsonSchema = {},
) {
  const shape = z.pipe(
    z.unknown(),
    z.transform((given: unknown, context): T => {
      const meaning = read(given);
      if (meaning !== undefined) return meaning;
      const why = explain(given) ?? `found ${describeValue(given)}`;
      context.issues.push({ code: 'custom', message: `${why}; allowed: ${allowed}`, input: given });
      return z.NEVER;
    }),
  );
  return accepts(shape, { kind: 'value', allowed, json });
}

/** Marks the issue of an unknown key, so that the place shown is the key's, not the value's. */
export const unknownKey = { unknownKey: true };

/** Finds where a misplaced key belongs. */
type FindElsewhere = (key: string) => string | null;

/** A mapping with these keys. Mistakes in keys and values are reported together. */
function mapping<Shape extends z.core.$ZodShape>(
  shape: Shape,
  read: (given: unknown) => unknown,
  findElsewhere: FindElsewhere = () => null,
) {
  const known = Object.keys(shape);
  const inside = z.object(shape);
  const whole = z.pipe(
    value(`a mapping with ${known.join(', ')}`, (given) => {
      const found = read(given);
      return isRecord(found) ? found : undefined;
    }),
    z.transform((given, context): z.output<typeof inside> => {
      const misspelt = new Set<PropertyKey>();
      for (const key of Object.keys(given).filter((name) => !known.includes(name))) {
        const meant = findElsewhere(key) ?? findNearest(key, known);
        if (meant !== null && !Object.hasOwn(given, meant)) misspelt.add(meant);
        const message = `unknown key${meant ? `, did you mean ${meant}?` : ''}; allowed: ${known.join(', ')}`;
        context.issues.push({ code: 'custom', path: [key], message, input: given, params: unknownKey });
      }
      // A missing key is read as undefined, so that its own shape says what is allowed.
      const all = { ...Object.fromEntries(known.map((key) => [key, undefined])), ...given };
      // A misspelt key is not reported as missing too.
      return parseInside(inside, all, context, ([key]) => key === undefined || !misspelt.has(key));
    }),
  );
  return accepts(whole, { kind: 'mapping', shape, orNothing: isRecord(read(null)) });
}

/** Parses a value with another shape, whose issues become those of the value around it. */
function parseInside<T>(
  shape: z.ZodMiniType<T>,
  given: unknown,
  context: { readonly issues: z.core.$ZodRawIssue[] },
  isRelevant: (path: readonly PropertyKey[]) => boolean = () => true,
): T {
  const parsed = z.safeParse(shape, given);
  if (parsed.success) return parsed.data;
  for (const { path, message, params } of parsed.error.issues.map(withParams))
    if (isRelevant(path)) context.issues.push({ code: 'custom', path, message, params, input: given });
  return z.NEVER;
}

const withParams = (issue: z.core.$ZodIssue) => ({
  ...issue,
  params: (issue.code === 'custom' && issue.params) || {},
});

/** A part of the file with optional keys. It may be empty, as when all its keys are commented out. */
export function section<Shape extends z.core.$ZodShape>(shape: Shape, findElsewhere?: FindElsewhere) {
  return mapping(shape, (found) => found ?? {}, findElsewhere);
}

/** An entry of a list or a map. */
export function entry<Shape extends z.core.$ZodShape>(shape: Shape, findElsewhere?: FindElsewhere) {
  return mapping(shape, (found) => found, findElsewhere);
}

/** The word `auto`, or what `shape` accepts. */
export function autoOr<T>(shape: z.ZodMiniType<T>) {
  const whole = z.pipe(
    z.unknown(),
    z.transform((given: unknown, context): 'auto' | T =>
      given === 'auto' ? given : parseInside(shape, given, context),
    ),
  );
  return accepts(whole, { kind: 'auto', other: shape });
}

/** A mapping if a mapping is given, else the other shape. */
export function orMapping<T, M>(other: z.ZodMiniType<T>, mapping: z.ZodMiniType<M>) {
  const whole = z.pipe(
    z.unknown(),
    z.transform((given: unknown, context): T | M =>
      isRecord(given) ? parseInside(mapping, given, context) : parseInside(other, given, context),
    ),
  );
  return accepts(whole, { kind: 'either', shapes: [other, mapping] });
}

export function list<Item extends z.core.$ZodType>(allowed: string, item: Item) {
  const given = value<unknown[]>(allowed, (found) => (Array.isArray(found) ? found : undefined));
  return accepts(z.pipe(given, z.array(item)), { kind: 'list', allowed, item });
}

const noExplanation = () => null;

export const trueOrFalse = value(
  'true or false',
  (given) => (typeof given === 'boolean' ? given : undefined),
  noExplanation,
  { type: 'boolean' },
);

export function oneOf<Word extends string>(words: readonly Word[]) {
  return value(words.join(', '), (given) => words.find((word) => word === given), noExplanation, {
    enum: [...words],
  });
}

export function whole(least: number, most: number) {
  const allowed = `a whole number from ${least} to ${most}`;
  const json = { type: 'integer', minimum: least, maximum: most };
  return value(allowed, (given) => readWhole(given, least, most), noExplanation, json);
}

export function readWhole(given: unknown, least: number, most: number): number | undefined {
  return typeof given === 'number' && Number.isInteger(given) && given >= least && given <= most
    ? given
    : undefined;
}

const durationText = { type: 'string', pattern: '^\\s*([0-9.]+\\s*(ms|s|m|h|d)\\s*)+$' };

/** A duration within bounds, which are given as the user would write them. */
export function duration(example: string, least: string, most: string) {
  const allowed = `a duration such as ${example} (ms, s, m, h, d), from ${least} to ${most}`;
  return value(allowed, (given) => readDuration(given, least, most), noExplanation, durationText);
}

/** The same, or `off`. */
export function durationOrOff(example: string, least: string, most: string) {
  const allowed = `a duration such as ${example} (ms, s, m, h, d), from ${least} to ${most}, or off`;
  const json = { anyOf: [durationText, { enum: ['off', false] }] };
  return value(
    allowed,
    (given) => (isOff(given) ? null : readDuration(given, least, most)),
    noExplanation,
    json,
  );
}

/** YAML 1.1 reads `off` as false, and some editors write it that way. */
const isOff = (given: unknown) => given === 'off' || given === false;

function readDuration(given: unknown, least: string, most: string): number | undefined {
  const millis = typeof given === 'string' ? parseDuration(given) : null;
  if (millis === null || millis < (parseDuration(least) ?? 0)) return undefined;
  return millis <= (parseDuration(most) ?? 0) ? Math.round(millis) : undefined;
}

const isWord = (given: unknown): given is string =>
  typeof given === 'string' && given.trim() !== '' && !given.includes('\0');

/** Text with more than white space. */
export function readWord(given: unknown): string | undefined {
  return isWord(given) ? given : undefined;
}

/** A task's id, or an effect's; `id: 3` is a number to YAML. */
export function readTaskId(given: unknown): string | undefined {
  const text = typeof given === 'number' ? String(given) : given;
  return typeof text === 'string' && isTaskId(text) ? text : undefined;
}

export const taskId = value(
  'a word of letters, digits, ".", "_" and "-", at most 64 long, starting with a letter or digit',
  readTaskId,
  noExplanation,
  { type: ['string', 'integer'], pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' },
);

export const lineOfText = value(
  'a name on one line, at most 64 long',
  (given) =>
    isWord(given) && given.length <= 64 && !/[\p{Control}\u2028\u2029]/u.test(given) ? given : undefined,
  noExplanation,
  { type: 'string', maxLength: 64 },
);

/** A shell line, or a program and its arguments, which run without a shell. */
export const command = value<string | readonly string[]>(
  'a shell line, or a list of a program and its arguments',
  (given) => {
    if (isWord(given)) return given;
    const isList =
      Array.isArray(given) && given.every((word) => typeof word === 'string' && !word.includes('\0'));
    return isList && isWord(given[0]) ? given : undefined;
  },
  noExplanation,
  { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }] },
);

/** A longer timer in node fires at once. */
export const longestTimer = '24d';
