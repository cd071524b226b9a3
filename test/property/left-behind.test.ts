import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeCheckpointId, parseSessionId, parseWriterId } from '../../src/ids.ts';
import type { Fact } from '../../src/state/facts.ts';
import { foldAll } from '../../src/state/fold.ts';
import { join } from '../../src/state/join.ts';
import {
  abandonFacts,
  findCurrent,
  isLeftBehind,
  listAbandoned,
  withoutAbandoned,
} from '../../src/state/left-behind.ts';
import { emptyState, type State } from '../../src/state/lists.ts';

/** A clone that records: each of its writes is stamped past everything it knows. */
class Clone {
  state: State = emptyState;
  private offset = 0;
  private sessions = 0;
  private readonly name: string;
  constructor(name: string) {
    this.name = name;
  }

  record(facts: readonly Fact[], session = this.begin()): void {
    const at = this.state.clock + 1;
    const by = parseWriterId(this.name);
    const events = facts.map((fact) => {
      const offset = this.offset++;
      return { at, by, session, offset, end: offset + 1, fact };
    });
    this.state = foldAll(this.state, events);
  }

  begin() {
    this.sessions++;
    return parseSessionId(`sess-${this.name}${String(this.sessions).padStart(6, '0')}`);
  }
}

const key = fc.constantFrom('a', 'b', 'c');
const text = fc.constantFrom('x', 'y', 'z');
const said: fc.Arbitrary<Fact> = fc.oneof(
  fc.record({ kind: fc.constant('note' as const), id: key, text }),
  fc.record({ kind: fc.constant('tried' as const), id: key, text }),
  fc.record({
    kind: fc.constant('blocker' as const),
    id: key,
    text,
    resolvedAt: fc.constantFrom(null, 5),
  }),
  fc.record({ kind: fc.constant('decision' as const), id: key, text, rationale: fc.constant(null) }),
  fc.record({
    kind: fc.constant('issue' as const),
    id: key,
    title: text,
    status: fc.constantFrom('open' as const, 'done' as const),
    severity: fc.constant(null),
    location: fc.constant(null),
  }),
  text.map((value): Fact => ({ kind: 'current_set', key: 'asked', value: { text: value } })),
);

type Step = { readonly who: 0 | 1 } & ({ readonly facts: Fact[] } | { readonly backTo: number });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ who: fc.constantFrom(0, 1), facts: fc.array(said, { maxLength: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ who: fc.constantFrom(0, 1), backTo: fc.nat({ max: 20 }) }) },
) as fc.Arbitrary<Step>; // the two forms of a step

/** What is known of the work, without who said it and when. */
function workIn(state: State): unknown {
  const { current, notes, tried, blockers, decisions, issues } = withoutAbandoned(state);
  const lists = {
    asked: current.asked ? { asked: current.asked } : {},
    notes,
    tried,
    blockers,
    decisions,
    issues,
  };
  return Object.entries(lists).map(([name, list]) => [
    name,
    Object.entries(list)
      .map(([id, { value }]) => [id, { ...(value as object), session: undefined }])
      .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  ]);
}

const nameOf = (seq: number) => ({ id: makeCheckpointId(seq, 'aaaa'), seq });

describe('a session that continues from an older checkpoint', () => {
  it('knows the work as it was there, whatever was done and abandoned since, and nobody loses an entry', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 14 }), (steps) => {
        const clones = [new Clone('one'), new Clone('two')] as const;
        const saved: State[] = [emptyState];
        /** Which checkpoints are on the line of work, as somebody would keep track of it who saw it all. */
        let line: number[] = [];
        for (const { who, ...what } of steps) {
          const clone = clones[who];
          // Both know everything: they met before.
          clone.state = saved.at(-1) ?? emptyState;
          const newest = saved.length - 1;
          if ('facts' in what) clone.record(what.facts);
          else {
            const seq = what.backTo % saved.length;
            const then = saved[seq] ?? emptyState;
            const point = { ...nameOf(Math.max(1, seq)), seq, state: then };
            clone.record(
              abandonFacts(point, { ...nameOf(Math.max(1, newest)), seq: newest, state: clone.state }),
            );
            expect(workIn(clone.state)).toEqual(workIn(then));
            line = line.filter((each) => each <= seq);
          }
          saved.push(clone.state);
          line.push(saved.length - 1);
          const abandoned = listAbandoned(clone.state);
          for (let seq = 1; seq < saved.length; seq++)
            if (line.includes(seq)) expect(isLeftBehind(abandoned, seq), `${seq} of ${line}`).toBe(false);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('leaves alone what another clone recorded meanwhile, which nobody here knew of', () => {
    fc.assert(
      fc.property(fc.array(said, { minLength: 1 }), fc.array(said, { minLength: 1 }), (here, there) => {
        const [one, two] = [new Clone('one'), new Clone('two')];
        one.record(here);
        const then = one.state;
        two.state = then;
        two.record(there);
        one.record(here);
        one.record(abandonFacts({ ...nameOf(1), state: then }, { ...nameOf(2), state: one.state }));
        const met = join(one.state, two.state);
        const isCurrent = findCurrent(met);
        for (const list of [two.state.notes, two.state.decisions, two.state.tried])
          for (const entry of Object.values(list).filter(({ stamp }) => stamp[1] === 'two'))
            expect(isCurrent(entry)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

it('checkpoints that were gone back to count again, and so does what led to them', () => {
  const work = (from: number, upTo: number) => ({ from: nameOf(from), upTo: nameOf(upTo), recorded: [] });
  const leftBehind = (all: readonly (readonly [number, number])[], upTo: number) =>
    Array.from({ length: upTo }, (_, at) => at + 1).filter((seq) =>
      isLeftBehind(
        all.map(([from, until]) => work(from, until)),
        seq,
      ),
    );
  expect(leftBehind([], 4)).toEqual([]);
  expect(leftBehind([[2, 5]], 8)).toEqual([3, 4, 5]);
  expect(
    leftBehind(
      [
        [2, 5],
        [4, 8],
      ],
      9,
    ),
  ).toEqual([5, 6, 7, 8]);
  expect(
    leftBehind(
      [
        [2, 5],
        [7, 9],
      ],
      10,
    ),
  ).toEqual([3, 4, 5, 8, 9]);
});
