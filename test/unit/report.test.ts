import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { compactRow, emptyRow, type Ledger, noUsage } from '../../src/cost/ledger.ts';
import { makeReport, other, type Point, parseSince } from '../../src/cost/report.ts';

const hour = 3_600_000;
const start = Date.parse('2026-11-14T22:00:00Z');
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

/** One writer's ledger: `sess-a/opus` → micro-dollars. */
function ledgerOf(meters: { readonly [meter: string]: number }): Ledger {
  const entries = Object.entries(meters).map(([name, micros]) => [name, { ...noUsage, micros }] as const);
  return { w: { value: { ...emptyRow, meters: Object.fromEntries(entries) } } };
}

/** A checkpoint `hours` after the start; `commit<parent,parent` */
function point(history: string, session: string, hours: number, micros: number): Point {
  const [commit = '', parents = ''] = history.split('<');
  return {
    commit,
    parents: parents.split(',').filter((parent) => parent !== ''),
    at: start + hours * hour,
    sessionId: `sess-${session}`,
    sessionNumber: session.charCodeAt(0) - 96,
    micros,
  };
}

const report = (points: Point[], ledger: Ledger, since: number | null = null, before: Ledger = {}) =>
  makeReport({ points, ledger, since, before, dayOf });

describe('where the money went', () => {
  const line = [
    point('4<3', 'b', 5, 900),
    point('3<2', 'b', 4, 400),
    point('2<1', 'a', 1, 300),
    point('1', 'a', 0, 100),
  ];
  const ledger = ledgerOf({ 'sess-a/opus': 300, 'sess-b/opus': 200, 'sess-b/haiku': 400 });

  it('is reported by day, session and model', () => {
    expect(report(line, ledger)).toEqual({
      total: 900,
      byDay: [
        { day: '2026-11-14', micros: 300 },
        { day: '2026-11-15', micros: 600 },
      ],
      bySession: [
        { sessionId: 'sess-a', sessionNumber: 1, micros: 300 },
        { sessionId: 'sess-b', sessionNumber: 2, micros: 600 },
      ],
      byModel: [
        { model: 'opus', micros: 500, usage: { ...noUsage, micros: 500 } },
        { model: 'haiku', micros: 400, usage: { ...noUsage, micros: 400 } },
      ],
    });
    expect(report(line.toReversed(), ledger)).toEqual(report(line, ledger));
  });

  it('is reported since a time, compared with the ledger at that time', () => {
    const then = ledgerOf({ 'sess-a/opus': 300, 'sess-b/opus': 100 });
    const later = report(line, ledger, start + 5 * hour, then);
    expect(later.total).toBe(500);
    expect(later.byDay).toEqual([{ day: '2026-11-15', micros: 500 }]);
    expect(later.bySession).toEqual([{ sessionId: 'sess-b', sessionNumber: 2, micros: 500 }]);
    expect(later.byModel.map(({ model, micros }) => [model, micros])).toEqual([
      ['haiku', 400],
      ['opus', 100],
    ]);
  });

  it('is reported the same after sessions were compacted', () => {
    const row = ledger.w?.value ?? emptyRow;
    const compact = { w: { value: compactRow(row, () => true) } };
    expect(report(line, compact)).toEqual(report(line, ledger));
  });

  it('is each side its own where two machines met; a merge spends nothing', () => {
    const merged = [
      point('1', 'a', 0, 100),
      point('a2<1', 'a', 1, 300),
      point('b2<1', 'b', 2, 150),
      point('b3<b2', 'b', 3, 600),
      point('m<a2,b3', 'a', 4, 800),
      point('5<m', 'a', 5, 810),
    ];
    const { bySession } = report(merged, ledgerOf({ 'sess-a/x': 310, 'sess-b/x': 500 }));
    expect(bySession.map(({ sessionId, micros }) => [sessionId, micros])).toEqual([
      ['sess-a', 310],
      ['sess-b', 500],
    ]);
  });

  it('is unknown beyond the end of a shallow clone, or before the first checkpoint', () => {
    const { bySession, byDay } = report(line.slice(0, 2), ledgerOf({ 'sess-a/x': 950 }));
    expect(bySession).toEqual([
      { sessionId: 'sess-b', sessionNumber: 2, micros: 500 },
      { sessionId: other, sessionNumber: null, micros: 450 },
    ]);
    expect(byDay.at(-1)).toEqual({ day: other, micros: 450 });
  });

  it('is empty if nothing was spent', () => {
    expect(report([], {})).toEqual({ total: 0, byDay: [], bySession: [], byModel: [] });
  });

  it('always sums up to the total, whatever the history', () => {
    const anyPoint = fc.record({
      commit: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      parents: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'gone'), { maxLength: 3 }),
      at: fc.integer({ min: start, max: start + 100 * hour }),
      sessionId: fc.constantFrom('sess-a', 'sess-b', 'sess-c'),
      sessionNumber: fc.integer({ min: 1, max: 3 }),
      micros: fc.integer({ min: 0, max: 1_000 }),
    });
    const meters = fc.dictionary(
      fc.constantFrom('sess-a/opus', 'sess-b/opus', 'sess-c/haiku', 'earlier/opus', 'odd'),
      fc.integer({ min: 0, max: 800 }),
    );
    const since = fc.option(fc.integer({ min: start, max: start + 100 * hour }));
    const total = (rows: readonly { readonly micros: number }[]) =>
      rows.reduce((sum, { micros }) => sum + micros, 0);
    fc.assert(
      fc.property(fc.array(anyPoint, { maxLength: 12 }), meters, meters, since, (points, now, then, from) => {
        const made = report(points, ledgerOf(now), from, ledgerOf(then));
        for (const rows of [made.byDay, made.bySession, made.byModel]) {
          expect(total(rows)).toBe(made.total);
          for (const { micros } of rows) expect(micros).toBeGreaterThanOrEqual(0);
        }
        if (from === null)
          expect(made.total).toBe(Object.values(now).reduce((sum, micros) => sum + micros, 0));
      }),
    );
  });

  it('leaves nothing over in a whole history, however many sides it has', () => {
    // Each step spends on one of three sides, or merges another one into it.
    const step = fc.record({
      side: fc.nat({ max: 2 }),
      from: fc.nat({ max: 2 }),
      micros: fc.integer({ min: 0, max: 500 }),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => {
        const points: Point[] = [];
        const spent = [0, 0, 0];
        // What each side knows of each side's spending, and where it stands.
        const tips = [0, 1, 2].map(() => ({ commit: '', knows: [0, 0, 0] }));
        const merge = (side: number, from: number, commit: string) => {
          const [mine, theirs] = [tips[side], tips[from]];
          if (!mine || !theirs) return;
          const parents = [mine.commit, theirs.commit].filter((parent) => parent !== '');
          mine.knows = mine.knows.map((known, index) => Math.max(known, theirs.knows[index] ?? 0));
          mine.commit = commit;
          add(side, commit, [...new Set(parents)], mine.knows);
        };
        const add = (side: number, commit: string, parents: string[], knows: number[]) => {
          const micros = knows.reduce((sum, known) => sum + known, 0);
          const sessionId = `sess-${side}`;
          points.push({ commit, parents, at: start + points.length, sessionId, sessionNumber: side, micros });
        };
        for (const [index, { side, from, micros }] of steps.entries()) {
          const tip = tips[side];
          if (!tip) continue;
          if (micros % 4 === 0 && from !== side) merge(side, from, `c${index}`);
          else {
            spent[side] = (spent[side] ?? 0) + micros;
            tip.knows = tip.knows.with(side, spent[side] ?? 0);
            const parents = tip.commit === '' ? [] : [tip.commit];
            tip.commit = `c${index}`;
            add(side, tip.commit, parents, tip.knows);
          }
        }
        const meters = Object.fromEntries(spent.map((micros, side) => [`sess-${side}/x`, micros]));
        const rows = report(points, ledgerOf(meters)).bySession;
        const expected = spent.flatMap((micros, side) => (micros > 0 ? [[`sess-${side}`, micros]] : []));
        const told = rows.map(({ sessionId, micros }) => [sessionId, micros]);
        expect(told.sort()).toEqual(expected.sort());
      }),
    );
  });
});

describe('--since', () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  // A Monday, noon in UTC; in Auckland it has been Tuesday for an hour.
  const now = Date.parse('2026-11-16T12:00:00Z');

  it.each([
    ['2h', 'UTC', '2026-11-16T10:00:00Z'],
    ['3d ago', 'UTC', '2026-11-13T12:00:00Z'],
    ['1w', 'UTC', '2026-11-09T12:00:00Z'],
    ['today', 'UTC', '2026-11-16T00:00:00Z'],
    ['yesterday', 'UTC', '2026-11-15T00:00:00Z'],
    ['yesterday', 'America/New_York', '2026-11-15T05:00:00Z'],
    ['today', 'Pacific/Auckland', '2026-11-16T11:00:00Z'],
    ['fri', 'UTC', '2026-11-13T00:00:00Z'],
    ['Friday', 'UTC', '2026-11-13T00:00:00Z'],
    ['mon', 'UTC', '2026-11-16T00:00:00Z'],
    ['tue', 'UTC', '2026-11-10T00:00:00Z'],
    ['mon', 'Pacific/Auckland', '2026-11-15T11:00:00Z'],
    ['2026-11-16', 'UTC', '2026-11-16T00:00:00Z'],
    ['2026-10-31', 'America/New_York', '2026-10-31T04:00:00Z'],
    ['2026-11-01T14:30', 'UTC', '2026-11-01T14:30:00Z'],
    ['2026-11-01 14:30:05', 'UTC', '2026-11-01T14:30:05Z'],
    ['2026-11-01T14:30:00+02:00', 'America/New_York', '2026-11-01T12:30:00Z'],
    ['2026-11-01t14:30:00z', 'America/New_York', '2026-11-01T14:30:00Z'],
  ])('%s in %s', (text, timeZone, expected) => {
    process.env.TZ = timeZone;
    const at = parseSince(text, now);
    expect(new Date(at).toISOString().replace('.000', '')).toBe(expected);
  });

  it.each([
    '',
    'x',
    'fr',
    'tomorrow',
    '2026-02-30',
    '2026-13-01',
    '26-1-1',
    '2',
    'h',
    '-2h',
    '3 months',
    '2026-11-16T25:00',
  ])('%j is no time', (text) => {
    expect(() => parseSince(text, now)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: `${JSON.stringify(text)} is not a time` }),
    );
  });

  it('is never in the future', () => {
    expect(() => parseSince('2026-11-18', now)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: '"2026-11-18" is in the future' }),
    );
  });
});
