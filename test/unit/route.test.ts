import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultConfig, tiers } from '../../src/config/defaults.ts';
import { summarizeHistory } from '../../src/convoy/route/read-history.ts';
import {
  estimateCost,
  type ModelHistory,
  type RoutedTask,
  type RoutingTable,
  route,
} from '../../src/convoy/route/route.ts';
import { complexities } from '../../src/plan/convoy-shape.ts';

const task: RoutedTask = {
  ...{
    agent: 'claude',
    model: undefined,
    complexity: null,
    labels: [],
    files: [],
    promptBytes: 100,
    attempt: 1,
  },
};
const table = defaultConfig.routing;
const choose = (
  of: Partial<RoutedTask>,
  by: Partial<RoutingTable> = {},
  history: readonly ModelHistory[] = [],
) => route({ ...task, ...of }, history, { ...table, ...by });

describe('the model of a task', () => {
  it.each<[Partial<RoutedTask>, string | null, string]>([
    [{ wanted: 'opus', model: 'haiku' }, 'opus', 'a person asked for it'],
    [{ model: 'haiku' }, 'haiku', 'the plan names it'],
    [{ model: ['a', 'b'], attempt: 1 }, 'a', 'the plan lists it for attempt 1'],
    [{ model: ['a', 'b'], attempt: 5 }, 'b', 'the plan lists it for attempt 2'],
    [{ model: 'auto' }, 'sonnet', 'nothing says how hard it is'],
    [{}, 'sonnet', 'nothing says how hard it is'],
    [{ promptBytes: 7_000 }, 'opus', 'its prompt is long'],
    [{ complexity: 'trivial', promptBytes: 7_000 }, 'haiku', 'it is a trivial task'],
    [{ complexity: 'simple' }, 'haiku', 'it is a simple task'],
    [{ complexity: 'standard' }, 'sonnet', 'it is a standard task'],
    [{ complexity: 'complex' }, 'opus', 'it is a complex task'],
    [{ complexity: 'simple', attempt: 2 }, 'sonnet', 'it is a simple task, and an attempt failed'],
    [{ complexity: 'simple', attempt: 4 }, 'opus', 'it is a simple task, and 3 attempts failed'],
    [{ complexity: 'complex', attempt: 2 }, 'opus', 'it is a complex task, and an attempt failed'],
    [{ agent: 'codex' }, null, 'the config lists no models for codex'],
  ])('of %j is %s, because %s', (of, model, why) => {
    expect(choose(of)).toEqual({ model, why });
  });

  it('follows the first rule that fits', () => {
    const rules: RoutingTable['rules'] = [
      { labels: ['docs'], files: ['src/**'], tier: 'medium' },
      { labels: ['docs'], tier: 'small' },
      { files: ['src/auth/**'], tier: 'large' },
    ];
    expect(choose({ labels: ['docs'] }, { rules })).toEqual({ model: 'haiku', why: 'it has the label docs' });
    expect(choose({ labels: ['docs'], files: ['src/a.ts'] }, { rules })).toEqual({
      model: 'sonnet',
      why: 'it has the label docs, and its files match src/**',
    });
    expect(choose({ files: ['src/auth/login.ts'], complexity: 'trivial' }, { rules }).model).toBe('opus');
    expect(choose({ files: ['docs/a.md'], complexity: 'trivial' }, { rules }).model).toBe('haiku');
  });

  it('has a place in any list of models', () => {
    const of = (models: readonly string[]) =>
      complexities.map((complexity) => choose({ complexity }, { models: { claude: models } }).model);
    expect(of(['a'])).toEqual(['a', 'a', 'a', 'a']);
    expect(of(['a', 'b'])).toEqual(['a', 'a', 'b', 'b']);
    expect(of(['a', 'b', 'c', 'd'])).toEqual(['a', 'a', 'c', 'd']);
  });

  const experience = (model: string, begun: number, done: number): ModelHistory => ({
    ...{ complexity: 'simple', model, begun, done, costs: [] },
  });

  it('follows how earlier tasks went only if that is wanted, and they were enough', () => {
    const failing = [experience('haiku', 6, 2)];
    expect(choose({ complexity: 'simple' }, {}, failing).model).toBe('haiku');
    expect(choose({ complexity: 'simple' }, { learn: true }, failing)).toEqual({
      model: 'sonnet',
      why: 'haiku did only 2 of 6 simple tasks',
    });
    expect(choose({ complexity: 'simple' }, { learn: true }, [experience('haiku', 4, 0)]).model).toBe(
      'haiku',
    );
    const standard = [{ ...experience('haiku', 10, 9), complexity: 'standard' as const }];
    expect(choose({ complexity: 'standard' }, { learn: true }, standard)).toEqual({
      model: 'haiku',
      why: 'haiku did 9 of 10 standard tasks',
    });
  });

  it('never gets smaller with another attempt, and is always in the table', () => {
    fc.assert(
      fc.property(
        fc.record({
          complexity: fc.option(fc.constantFrom(...complexities)),
          labels: fc.subarray(['a', 'b']),
          promptBytes: fc.nat(20_000),
        }),
        fc.array(
          fc.record({ labels: fc.subarray(['a', 'b'], { minLength: 1 }), tier: fc.constantFrom(...tiers) }),
        ),
        fc.boolean(),
        fc.array(
          fc.record({
            complexity: fc.option(fc.constantFrom(...complexities)),
            model: fc.constantFrom('haiku', 'sonnet', 'opus'),
            begun: fc.integer({ min: 5, max: 20 }),
            done: fc.nat(5),
            costs: fc.constant([]),
          }),
        ),
        (of, rules, learn, history) => {
          const models = ['haiku', 'sonnet', 'opus'];
          const places = [1, 2, 3, 4].map((attempt) =>
            models.indexOf(choose({ ...of, attempt }, { rules, learn }, history).model ?? ''),
          );
          expect(places.every((place, at) => place >= 0 && place >= (places[at - 1] ?? 0))).toBe(true);
          expect(places[3]).toBe(2);
        },
      ),
    );
  });
});

describe('what earlier tasks say', () => {
  const record = (status: 'succeeded' | 'failed', tries: object[], costMicros = 1_000_000) =>
    ({ status, worker: { complexity: 'simple', costMicros, tries } }) as never;
  const tries = (model: string | null, refused?: string) => ({
    ...{ attempt: 1, model, why: '', before: 0, ...(refused && { refused }) },
  });

  it('is counted by complexity and the model they began with', () => {
    const history = summarizeHistory([
      record('succeeded', [tries('haiku')]),
      record('succeeded', [tries('haiku', 'red'), { ...tries('sonnet'), attempt: 2 }], 3_000_000),
      record('failed', [tries('haiku', 'red')]),
      record('succeeded', [tries(null)]),
    ]);
    expect(history).toEqual([
      { complexity: 'simple', model: 'haiku', begun: 3, done: 1, costs: [1_000_000, 3_000_000] },
    ]);
    expect(estimateCost('simple', 'haiku', history)).toEqual({ micros: 1_000_000, from: '2 tasks like it' });
    expect(estimateCost('complex', 'opus', history)?.from).toBe('2 tasks of this repository');
    expect(estimateCost('complex', 'opus', [])).toBeNull();
  });
});
