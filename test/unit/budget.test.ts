import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeBudget, parseBudget } from '../../src/cost/budget.ts';
import { burnPerHour, lastsUntil, type Spending } from '../../src/cost/forecast.ts';
import { maxMicros } from '../../src/units.ts';

const usd = 1_000_000;
const amount = fc.integer({ min: 0, max: maxMicros });

describe('a budget', () => {
  it.each([
    [0, null, { limitUsd: null, spentUsd: 0, remainingUsd: null, percent: null, level: 'none' }],
    [4.1, 20, { limitUsd: 20, spentUsd: 4.1, remainingUsd: 15.9, percent: 20.5, level: 'ok' }],
    [
      15.999999,
      20,
      { limitUsd: 20, spentUsd: 15.999999, remainingUsd: 4.000001, percent: 79.9, level: 'ok' },
    ],
    [16, 20, { limitUsd: 20, spentUsd: 16, remainingUsd: 4, percent: 80, level: 'warning' }],
    [
      19.999999,
      20,
      { limitUsd: 20, spentUsd: 19.999999, remainingUsd: 0.000001, percent: 99.9, level: 'warning' },
    ],
    [20, 20, { limitUsd: 20, spentUsd: 20, remainingUsd: 0, percent: 100, level: 'exceeded' }],
    [20.31, 20, { limitUsd: 20, spentUsd: 20.31, remainingUsd: 0, percent: 101.5, level: 'exceeded' }],
    [0, 0, { limitUsd: 0, spentUsd: 0, remainingUsd: 0, percent: 100, level: 'exceeded' }],
    [1, 0, { limitUsd: 0, spentUsd: 1, remainingUsd: 0, percent: 100, level: 'exceeded' }],
  ])('of which $%d of $%d are spent', (spent, limit, expected) => {
    const micros = limit === null ? null : Math.round(limit * usd);
    expect(describeBudget(Math.round(spent * usd), micros)).toEqual(expected);
  });

  it('is exact to the micro-dollar: the level and the percentage always agree', () => {
    fc.assert(
      fc.property(amount, amount, (spent, limit) => {
        const { level, percent } = describeBudget(spent, limit);
        expect(level === 'exceeded').toBe(spent >= limit);
        expect((percent ?? 0) >= 100).toBe(spent >= limit);
        expect(level === 'ok').toBe((percent ?? 0) < 80);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Math.floor(maxMicros / 5) }), (fifth) => {
        expect(describeBudget(4 * fifth, 5 * fifth).level).toBe('warning');
        expect(describeBudget(4 * fifth - 1, 5 * fifth).level).toBe('ok');
        expect(describeBudget(5 * fifth - 1, 5 * fifth).level).not.toBe('exceeded');
      }),
    );
  });
});

describe('--budget', () => {
  it.each([
    ['20', 20 * usd],
    ['+20', 24_100_000],
    ['$7.50', 7.5 * usd],
    ['+$.05', 4_150_000],
    ['4.1', 4_100_000],
    ['+0', 4_100_000],
    [' none ', null],
  ])('%s where $4.10 are spent', (text, expected) => {
    expect(parseBudget(text, 4_100_000)).toBe(expected);
  });

  it.each([
    'abc',
    '-5',
    '+-5',
    '++5',
    'NaN',
    'Infinity',
    '1e999',
    '1e3',
    '',
    ' ',
    '+',
    '$',
    '5.',
    '1,000',
    '0x10',
    '٥',
  ])('%j is wrong', (text) => {
    expect(() => parseBudget(text, 0)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  it.each(['1.0000001', '1000000000', '+999999999.999999'])('%j is past what can be stored', (text) => {
    expect(() => parseBudget(text, 1)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  it.each(['0', '0.00', '+0'])('%j is refused with an explanation where nothing is spent yet', (text) => {
    expect(() => parseBudget(text, 0)).toThrow(
      expect.objectContaining({
        code: 'BUDGET_REFUSED',
        message: 'a budget of $0 would stop every agent before its first request',
      }),
    );
  });

  it('below what is spent is refused, with a way on that works', () => {
    expect(() => parseBudget('4.099999', 4_100_000)).toThrow(
      expect.objectContaining({
        code: 'BUDGET_REFUSED',
        message: 'a budget of $4.099999 is below the $4.10 already spent',
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 900_000_000 * usd }), (spent) => {
        try {
          parseBudget('0', spent);
          expect.unreachable();
        } catch (error) {
          expect(error).toMatchObject({ code: 'BUDGET_REFUSED' });
          const { hint } = error as { hint: string }; // as was just seen
          const [, total = '', more = ''] = /such as (\d+), or (\+\d+)/.exec(hint) ?? [];
          expect(parseBudget(total, spent)).toBeGreaterThan(spent);
          expect(parseBudget(more, spent)).toBe(spent + 5 * usd);
        }
      }),
    );
  });
});

describe('the forecast', () => {
  const now = Date.parse('2026-11-16T12:00:00Z');
  const minutes = 60_000;
  /** Checkpoints by how many minutes ago they were, and what the epic had cost in cents. */
  const points = (...spent: [ago: number, cents: number][]): Spending[] =>
    spent.map(([ago, cents]) => ({ at: now - ago * minutes, micros: cents * 10_000 }));

  it.each<[what: string, points: Spending[], perHourUsd: number | null]>([
    ['nothing', [], null],
    ['one checkpoint', points([5, 100]), null],
    ['two at one moment', points([5, 100], [5, 200]), null],
    ['steady spending', points([30, 0], [15, 100], [0, 200]), 4],
    ['the same in another order', points([0, 200], [30, 0], [15, 100]), 4],
    ['a night between', points([700, 0], [690, 500], [15, 500], [0, 600]), (6 / 25) * 60],
    ['a long gap with money in it', points([100, 0], [30, 900], [0, 1_000]), 2],
    ['only long gaps', points([100, 0], [50, 900], [0, 1_000]), null],
    ['the last hour only', points([90, 0], [60, 5_000], [30, 5_100], [0, 5_200]), 2],
    ['nothing spent', points([30, 100], [0, 100]), 0],
    ['a cost that falls', points([30, 100], [15, 50], [0, 150]), 2],
    ['checkpoints of another day', points([1_500, 0], [1_490, 500]), null],
    ['a clock that is ahead', points([30, 0], [0, 100], [-30, 900]), 2],
  ])('from %s', (_, spent, perHourUsd) => {
    expect(burnPerHour(spent, now)).toBe(perHourUsd === null ? null : Math.round(perHourUsd * usd));
  });

  it.each<[what: string, args: [spent: number, limit: number | null, perHour: number | null], string | null]>(
    [
      ['a rate and a limit', [4, 20, 8], '2026-11-16T14:00:00Z'],
      ['no limit', [4, null, 8], null],
      ['no rate', [4, 20, null], null],
      ['no spending', [4, 20, 0], null],
      ['nothing left', [20, 20, 8], null],
      ['a date too far to matter', [0, 100_000_000, 0.000001], null],
    ],
  )('lasts until, with %s', (_, [spent, limit, perHour], expected) => {
    const micros = (dollars: number | null) => (dollars === null ? null : Math.round(dollars * usd));
    expect(lastsUntil(spent * usd, micros(limit), micros(perHour), now)).toBe(expected);
  });
});
