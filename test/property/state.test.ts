import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compactRow, mergeRows, totalUsage } from '../../src/cost/ledger.ts';
import { canonicalJson } from '../../src/state/canonical.ts';
import { fold, foldAll } from '../../src/state/fold.ts';
import { join } from '../../src/state/join.ts';
import { emptyState, type State } from '../../src/state/lists.ts';
import { interleave, journals, tightLimits, turns } from '../support/histories.ts';

const runs = { numRuns: 1_500 };

/** A state as it comes out of any part of any history. */
const state: fc.Arbitrary<State> = fc
  .tuple(journals, turns, fc.nat({ max: 30 }))
  .map(([groups, order, length]) =>
    foldAll(emptyState, interleave(groups, order).slice(0, length), tightLimits),
  );

const joined = (a: State, b: State) => join(a, b, tightLimits);
const same = (a: State, b: State): void => {
  expect(canonicalJson(a)).toBe(canonicalJson(b));
};

describe('I6: join', () => {
  it('is commutative', () => {
    fc.assert(
      fc.property(state, state, (a, b) => same(joined(a, b), joined(b, a))),
      runs,
    );
  });

  it('is associative', () => {
    fc.assert(
      fc.property(state, state, state, (a, b, c) => same(joined(joined(a, b), c), joined(a, joined(b, c)))),
      runs,
    );
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(state, state, (a, b) => {
        same(joined(a, a), a);
        same(joined(joined(a, b), b), joined(a, b));
      }),
      runs,
    );
  });

  it('never lets spent money fall', () => {
    fc.assert(
      fc.property(state, state, (a, b) => {
        const spent = totalUsage(joined(a, b).ledger).micros;
        expect(spent).toBeGreaterThanOrEqual(totalUsage(a.ledger).micros);
        expect(spent).toBeGreaterThanOrEqual(totalUsage(b.ledger).micros);
      }),
      runs,
    );
  });

  it('carries along the lists of a later version, with their own bound', () => {
    const later = {
      ...emptyState,
      workers: { w: { value: { pid: 1 }, stamp: [5, 'w1', 0] } },
    } as unknown as State;
    const newer = {
      ...emptyState,
      workers: { w: { value: { pid: 2 }, stamp: [6, 'w1', 0] } },
    } as unknown as State;
    expect(join(later, newer)).toMatchObject({ workers: { w: { value: { pid: 2 } } } });
    expect(join(newer, later)).toMatchObject({ workers: { w: { value: { pid: 2 } } } });
  });
});

describe('fold', () => {
  it('gives the same for every order in which journals are read', () => {
    fc.assert(
      fc.property(journals, turns, turns, (groups, one, other) => {
        const fromOne = foldAll(emptyState, interleave(groups, one), tightLimits);
        same(fromOne, foldAll(emptyState, interleave(groups, other), tightLimits));
      }),
      runs,
    );
  });

  it('of the union is the join of the folds, for every way to part the journals between machines', () => {
    fc.assert(
      fc.property(journals, (groups) => {
        const parts = groups.map((events) => foldAll(emptyState, events, tightLimits));
        same(parts.reduce(joined), foldAll(emptyState, groups.flat(), tightLimits));
      }),
      runs,
    );
  });

  it('takes an event once, however often it comes', () => {
    fc.assert(
      fc.property(journals, turns, fc.nat({ max: 30 }), (groups, order, from) => {
        const events = interleave(groups, order);
        const once = foldAll(emptyState, events, tightLimits);
        same(foldAll(once, events.slice(from), tightLimits), once);
      }),
      runs,
    );
  });

  it('continues correctly from any saved point', () => {
    fc.assert(
      fc.property(journals, turns, fc.nat({ max: 30 }), (groups, order, length) => {
        const events = interleave(groups, order);
        const saved = foldAll(emptyState, events.slice(0, length), tightLimits);
        same(foldAll(saved, events, tightLimits), foldAll(emptyState, events, tightLimits));
      }),
      runs,
    );
  });

  it('adds up costs to the micro-dollar and takes the largest reading of each meter', () => {
    fc.assert(
      fc.property(journals, turns, (groups, order) => {
        let added = 0;
        const meters = new Map<string, number>();
        for (const { session, fact } of groups.flat()) {
          const model = 'model' in fact ? (fact.model ?? 'by-hand') : '';
          if (fact.kind !== 'cost' && fact.kind !== 'meter') continue;
          const name = `${session}/${model}`;
          const known = meters.get(name) ?? 0;
          meters.set(
            name,
            fact.kind === 'cost' ? known + fact.usage.micros : Math.max(known, fact.usage.micros),
          );
        }
        for (const micros of meters.values()) added += micros;
        const { ledger } = foldAll(emptyState, interleave(groups, order), tightLimits);
        expect(totalUsage(ledger).micros).toBe(added);
      }),
      runs,
    );
  });

  it('counts a fact of a later version without putting it into the state', () => {
    const [first] = fc.sample(journals, { numRuns: 1, seed: 1 })[0]?.[0] ?? [];
    if (first === undefined) throw new Error('no event was generated');
    const strange = { ...first, fact: { kind: 'from_the_future' } } as unknown as typeof first;
    const folded = fold(emptyState, strange);
    expect(folded.ledger[first.by]?.value.folded[first.session]).toBe(first.end);
    expect(folded.notes).toEqual({});
  });
});

describe('the ledger', () => {
  it('compacted holds the same money, and replaces the rows it was made from', () => {
    fc.assert(
      fc.property(state, fc.boolean(), (found, all) => {
        for (const { value } of Object.values(found.ledger)) {
          const isOver = (session: string) => all || session === 'sess-aaaa';
          const compact = compactRow(value, isOver);
          expect(totalUsage({ w: { value: compact } }).micros).toBe(totalUsage({ w: { value } }).micros);
          expect(mergeRows(value, compact)).toEqual(compact);
          expect(mergeRows(compact, value)).toEqual(compact);
        }
      }),
      runs,
    );
  });
});
