import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  byHand,
  type Ledger,
  type LedgerRow,
  mergeRows,
  noUsage,
  reconcileRow,
  type Usage,
  withTotals,
} from '../../src/cost/ledger.ts';
import { followReading, guessOf, moneyOf, spentIn, withOpenGuess } from '../../src/cost/money.ts';

const amount = fc.nat({ max: 100 });
const rowOf = (usage: Usage): LedgerRow => ({
  generation: 0,
  folded: {},
  meters: { 'sess-aaaa/m': usage },
});
const ledgerOf = (value: LedgerRow): Ledger => withTotals({ w: { value } });

/** What a meter says in turn: what is certain, which only grows, and what is guessed, which also falls. */
const readings = fc.array(fc.record({ more: amount, guess: amount }), { minLength: 1 }).map((steps) => {
  let micros = 0;
  return steps.map(({ more, guess }) => {
    micros += more;
    return withOpenGuess({ ...noUsage, micros }, guess);
  });
});

it('I6: a guess is replaced by what is known then, however it is merged; what is certain never falls', () => {
  fc.assert(
    fc.property(readings, fc.boolean(), (all, isKept) => {
      let row: LedgerRow = rowOf(noUsage);
      for (const reading of all) {
        const recorded = row.meters['sess-aaaa/m'];
        const next = followReading(recorded, reading);
        const merged = mergeRows(row, rowOf(next));
        // An older copy that comes again changes nothing.
        expect(mergeRows(merged, row)).toEqual(merged);
        expect(mergeRows(row, merged)).toEqual(merged);
        // A checkpoint's totals are a floor, and a guess is not in it.
        row = isKept ? (ledgerOf(merged).w?.value ?? merged) : merged;
        expect(spentIn(ledgerOf(row))).toBe(reading.micros + guessOf(reading));
        for (const part of ['micros', 'guessed', 'settled'] as const)
          expect(row.meters['sess-aaaa/m']?.[part] ?? 0).toBeGreaterThanOrEqual(recorded?.[part] ?? 0);
      }
    }),
  );
});

it('only what was recorded by hand can be taken back, and no more than that', () => {
  fc.assert(
    fc.property(amount, amount, (micros, corrected) => {
      const usage = { ...noUsage, micros, corrected };
      expect(moneyOf('claude-opus-5', usage)).toBe(micros);
      expect(moneyOf(byHand, usage)).toBe(Math.max(0, micros - corrected));
    }),
  );
});

it('what lowers money is in no floor, and is not believed of a copy of the own row', () => {
  const spent = { ...noUsage, micros: 9, guessed: 5 };
  const row = ledgerOf({ generation: 0, folded: {}, meters: { 'sess-aaaa/by-hand': spent } }).w?.value;
  if (row === undefined) throw new Error('it was just made');
  expect(row.total).toEqual({ ...noUsage, micros: 9 });
  const forged = { ...spent, settled: 5, corrected: 9, input: 1 };
  const theirs = { ...row, meters: { 'sess-aaaa/by-hand': forged }, total: forged };
  expect(spentIn({ w: { value: reconcileRow(row, row, theirs) } })).toBe(14);
  const before = { ...row, meters: {}, total: forged };
  expect(spentIn({ w: { value: before } })).toBe(9);
});
