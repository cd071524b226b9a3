import fc from 'fast-check';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import type { Plan } from '../../src/plan/plan.ts';
import type { Behave } from './simulated-run.ts';

/* Random plans with decisions, values, loops and lists, and commands that do something else each time. */

const topIds = ['a', 'b.1', 'c-2', '10', '9', 'd'];
const innerIds = ['p', 'q', 'r'];
const valueNames = ['N', 'M', 'L'];
const items = ['x', 'y', 'two words', '../z', 'x'];

type Draft = {
  readonly kind: 'task' | 'items' | 'values' | 'effects';
  readonly needs: readonly number[] | null;
  readonly when: 'success' | 'failure' | 'always' | Asked;
  readonly repeat: { readonly until: 'success' | Asked; readonly attempts: number } | null;
  readonly mayFail: boolean;
  readonly undo: boolean;
  readonly items: readonly string[];
  readonly files: readonly string[];
};

type Asked = { readonly parts: readonly Part[]; readonly join: 'and' | 'or' };
type Part = {
  readonly about: 'status' | 'exit' | 'value';
  readonly task: number;
  readonly not: boolean;
  readonly answer: number;
};

const asked: fc.Arbitrary<Asked> = fc.record({
  join: fc.constantFrom('and', 'or'),
  parts: fc.array(
    fc.record({
      about: fc.constantFrom('status', 'exit', 'value'),
      task: fc.nat({ max: 8 }),
      not: fc.boolean(),
      answer: fc.nat({ max: 2 }),
    }),
    { minLength: 1, maxLength: 2 },
  ),
});

const draft: fc.Arbitrary<Draft> = fc.record({
  kind: fc.constantFrom('task', 'task', 'effects', 'items', 'values'),
  needs: fc.option(fc.array(fc.nat({ max: 8 }), { maxLength: 3 })),
  when: fc.oneof(
    { weight: 5, arbitrary: fc.constant('success' as const) },
    { weight: 1, arbitrary: fc.constantFrom('failure' as const, 'always' as const) },
    { weight: 3, arbitrary: asked },
  ),
  repeat: fc.option(
    fc.record({
      until: fc.oneof(fc.constant('success' as const), asked),
      attempts: fc.integer({ min: 1, max: 3 }),
    }),
  ),
  mayFail: fc.boolean(),
  undo: fc.boolean(),
  items: fc.subarray(items),
  files: fc.subarray(['f', 'g'], { maxLength: 1 }),
});

const group = fc.record({ whole: draft, members: fc.array(draft, { minLength: 1, maxLength: 3 }) });

/** Writes a condition about earlier tasks, and about values. */
function writeCondition({ parts, join }: Asked, ids: readonly string[], own: string | null): string {
  const known = own === null ? ids : [...ids, own];
  const written = parts.map(({ about, task, not, answer }) => {
    const id = known[task % Math.max(1, known.length)];
    const value = `values.${valueNames[task % valueNames.length]}`;
    const test =
      about === 'value' || id === undefined
        ? [value, `${value} == 'v1'`, `${value} != 'v0'`][answer]
        : about === 'status'
          ? `tasks.${id}.status == '${['succeeded', 'failed', 'skipped'][answer]}'`
          : `tasks.${id}.exit ${['== 0', '>= 1', '< 2'][answer]}`;
    return not ? `not (${test})` : test;
  });
  return written.join(` ${join} `);
}

/** Writes a task that may refer to these earlier ones. */
function writeTask(id: string, draft: Draft, earlier: readonly string[], rules: Rules): object {
  const { kind, needs, when, repeat, mayFail, undo, files } = draft;
  const chosen = needs?.flatMap((need) => earlier[need % Math.max(1, earlier.length)] ?? []);
  const isList = kind === 'items' || kind === 'values';
  return {
    id,
    run: `do ${id}`,
    ...(chosen && { needs: [...new Set(chosen)] }),
    when: typeof when === 'string' ? when : writeCondition(when, earlier, null),
    ...(repeat && {
      repeat: {
        attempts: repeat.attempts,
        until:
          repeat.until === 'success' ? 'success' : writeCondition(repeat.until, earlier, isList ? null : id),
      },
    }),
    may_fail: mayFail || rules.allMayFail,
    files,
    ...(undo && { undo: `undo ${id}` }),
    ...(kind === 'items' && { foreach: draft.items }),
    ...(kind === 'values' && { foreach: 'values.L' }),
    ...(kind === 'effects' &&
      rules.effects && { effects: [{ id: `e-${id}`, run: 'send', undo: 'take back' }] }),
  };
}

type Rules = {
  /** Every task and every group may fail, so that no failure is tried again. */
  readonly allMayFail: boolean;
  readonly effects: boolean;
};

function writeGroup(
  id: string,
  { whole, members }: { readonly whole: Draft; readonly members: readonly Draft[] },
  earlier: readonly string[],
  rules: Rules,
): object {
  const inside = members.map((_, index) => `${id}.${innerIds[index]}`);
  const {
    run: _,
    files: __,
    undo: ___,
    foreach: ____,
    effects: _____,
    repeat,
    ...about
  } = writeTask(id, { ...whole, kind: 'task' }, earlier, rules) as { [key: string]: unknown };
  const { until = 'success', attempts = 1 } = whole.repeat ?? {};
  const isLoop = repeat !== undefined;
  return {
    ...about,
    ...(isLoop && {
      repeat: {
        attempts,
        until: until === 'success' ? until : writeCondition(until, [...inside, ...earlier], null),
      },
    }),
    tasks: members.map((member, index) =>
      writeTask(inside[index] ?? '', member, [...earlier, ...inside.slice(0, index)].reverse(), {
        ...rules,
        effects: rules.effects && !isLoop,
      }),
    ),
  };
}

/** Random plans. */
export function makePlans(rules: Rules): fc.Arbitrary<Plan> {
  return fc.array(fc.oneof(draft, group), { minLength: 1, maxLength: topIds.length }).map((drafts) => {
    const tasks = drafts.map((each, index) => {
      const id = topIds[index] ?? '';
      const earlier = topIds.slice(0, index);
      return 'whole' in each ? writeGroup(id, each, earlier, rules) : writeTask(id, each, earlier, rules);
    });
    return parsePlan(JSON.stringify({ name: 'p', tasks }), 'p.yaml');
  });
}

function hash(text: string): number {
  let sum = 7;
  for (const char of text) sum = (sum * 31 + char.charCodeAt(0)) % 2_147_483_647;
  return Math.floor(sum / 3);
}

/** Commands whose results follow from what they are asked, and look random. */
export function makeBehaviour(salt: number, { onlyItems = false } = {}): Behave {
  return ({ id, round, attempt, values }) => {
    const chance = hash(JSON.stringify([salt, id, round, attempt, values]));
    const set = valueNames.flatMap((name, index): [string, string][] => {
      const what = (chance >> (3 * index)) % 5;
      if (what > 2) return [];
      const lists = ['["x", "y"]', 'x\n../z', onlyItems ? '["z"]' : '[1'];
      return [[name, name === 'L' ? (lists[what] ?? '') : `v${what}`]];
    });
    return { exit: [0, 0, 0, 1, 2][(chance >> 9) % 5] ?? 0, values: Object.fromEntries(set) };
  };
}
