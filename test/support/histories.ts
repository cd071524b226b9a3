import fc from 'fast-check';
import type { Usage } from '../../src/cost/ledger.ts';
import { parseCheckpointId, parseSessionId, parseWriterId } from '../../src/ids.ts';
import type { Event, Fact } from '../../src/state/facts.ts';
import { bounds, type Limits } from '../../src/state/lists.ts';
import type { SessionId, WriterId } from '../../src/types.ts';

/** Few keys and small bounds: sparse histories never meet a collision or an eviction. */
export const tightLimits: Limits = {
  ...bounds,
  notes: 2,
  blockers: 2,
  tried: 1,
  questions: 1,
  decisions: 2,
  files: 2,
  issues: 1,
  gates: 2,
};

const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'toString');
const text = fc.constantFrom('x', 'y', '');
const small = fc.integer({ min: 0, max: 3 });

const named = { id: parseCheckpointId('ckpt-00000001-aaaa'), seq: 1 };

const usage: fc.Arbitrary<Usage> = fc.record(
  {
    micros: small,
    input: small,
    output: small,
    cacheRead: small,
    cacheWrite: small,
    unpriced: small,
    // Documents from before it was kept do not have it.
    estimated: fc.integer({ min: 1, max: 3 }),
    guessed: fc.integer({ min: 1, max: 3 }),
    settled: fc.integer({ min: 1, max: 3 }),
    corrected: fc.integer({ min: 1, max: 3 }),
  },
  { requiredKeys: ['micros', 'input', 'output', 'cacheRead', 'cacheWrite', 'unpriced'] },
);

const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constant<Fact>({ kind: 'session_running' }),
  fc.record({
    kind: fc.constantFrom('session_paused', 'session_completed', 'session_failed', 'budget_exceeded'),
    reason: fc.constantFrom('x', null),
  }) as fc.Arbitrary<Fact>,
  fc.record({ kind: fc.constant('budget_set' as const), limit: fc.option(small) }),
  fc.record({ kind: fc.constant('current_set' as const), key, value: text }),
  fc.record({ kind: fc.constant('note' as const), id: key, text }),
  fc.record({ kind: fc.constant('tried' as const), id: key, text, why: fc.option(text) }),
  fc.record({
    kind: fc.constant('question' as const),
    id: key,
    text,
    answer: fc.option(text),
    resolvedAt: fc.option(small),
  }),
  fc.record({ kind: fc.constant('blocker' as const), id: key, text, resolvedAt: fc.option(small) }),
  fc.record({ kind: fc.constant('decision' as const), id: key, text, rationale: fc.constant(null) }),
  fc.record({
    kind: fc.constant('restored' as const),
    checkpoint: fc.constantFrom(null, named),
    leftBehind: fc.constant(named),
    paths: fc.option(small),
    isUndo: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('abandoned' as const),
    from: fc.constant(named),
    upTo: fc.constant(named),
    recorded: fc.array(
      fc.record({
        by: fc.constantFrom(parseWriterId('w1'), parseWriterId('w2')),
        after: small,
        until: small,
      }),
      { maxLength: 2 },
    ),
  }),
  fc.record({ kind: fc.constant('cost' as const), model: fc.constantFrom('m', null), usage }),
  fc.record({ kind: fc.constant('meter' as const), model: fc.constantFrom('m', 'n'), usage }),
  fc.record({
    kind: fc.constant('task' as const),
    run: fc.constantFrom('r1', 'r2'),
    id: key,
    status: fc.constantFrom('running', 'succeeded'),
    attempts: small,
    digest: fc.constant('d'),
    artifacts: fc.array(fc.record({ path: text, sha256: text, bytes: small }), { maxLength: 1 }),
  }) as fc.Arbitrary<Fact>,
);

/** One session's journal: times collide and jump back, places never do. */
function journal(by: WriterId, session: SessionId, number: number): fc.Arbitrary<Event[]> {
  const said = fc.array(fc.tuple(fc.integer({ min: 0, max: 12 }), fact), { maxLength: 8 });
  return said.map((rest) => {
    const start: Fact = { kind: 'session_started', number, agent: null, parentSessionId: null };
    return [[0, start] as const, ...rest].map(([at, said], index) => ({
      at,
      by,
      session,
      offset: index * 10,
      end: index * 10 + 10,
      fact: said,
    }));
  });
}

const [one, two] = [parseWriterId('w1'), parseWriterId('w2')];

/** The journals of three sessions of two writers. */
export const journals: fc.Arbitrary<Event[][]> = fc.tuple(
  journal(one, parseSessionId('sess-aaaa'), 1),
  journal(one, parseSessionId('sess-bbbb'), 2),
  journal(two, parseSessionId('sess-cccc'), 1),
);

/** A way to fold journals: which one gives its next event, again and again. */
export const turns: fc.Arbitrary<number[]> = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 40 });

/** The events in the order the turns say, each journal in its own order; what is left over comes last. */
export function interleave(groups: readonly (readonly Event[])[], order: readonly number[]): Event[] {
  const places = groups.map(() => 0);
  const result: Event[] = [];
  const take = (index: number) => {
    const event = groups[index]?.[places[index] ?? 0];
    if (event === undefined) return false;
    places[index] = (places[index] ?? 0) + 1;
    result.push(event);
    return true;
  };
  for (const index of order) take(index);
  groups.forEach((_, index) => {
    while (take(index));
  });
  return result;
}
