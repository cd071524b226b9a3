import { describe, expect, it } from 'vitest';
import { noUsage } from '../../src/cost/ledger.ts';
import { parseSessionId, parseWriterId } from '../../src/ids.ts';
import type { Fact } from '../../src/state/facts.ts';
import { emptyState, type State } from '../../src/state/lists.ts';
import {
  addReadings,
  addState,
  findOverrun,
  grantRaise,
  planRepairs,
  rememberMoney,
  sumSpent,
} from '../../src/supervise/tracked-money.ts';

const session = parseSessionId('sess-aaaa');
const writer = parseWriterId('w');
const stateOf = (meters: { [name: string]: number }, limit: number | null, generation = 0): State => ({
  ...emptyState,
  current: { budget: { value: limit, stamp: [1, writer, 0] } },
  ledger: {
    [writer]: {
      stamp: [1, writer, 0],
      value: {
        generation,
        folded: {},
        meters: Object.fromEntries(
          Object.entries(meters).map(([name, micros]) => [name, { ...noUsage, micros }]),
        ),
      },
    },
  },
});
const before = stateOf({ 'sess-0000/m': 3, 'sess-aaaa/m': 1 }, 5);

describe('the money a supervisor holds', () => {
  it.each([
    ['a meter that is lower', stateOf({ 'sess-0000/m': 0, 'sess-aaaa/m': 1 }, 5)],
    ['a meter that is gone', stateOf({ 'sess-aaaa/m': 1 }, 5)],
    ['a negative one', stateOf({ 'sess-0000/m': 3, 'sess-aaaa/m': 1, x: -4 }, 5)],
    ['a later generation that sums up to less', stateOf({ 'earlier/m': 1 }, 5, 7)],
    ['an empty ledger', stateOf({}, 5)],
  ])('is not lowered by %s, and is put back', (_, state) => {
    const held = addState(rememberMoney(before, session), state);
    expect(sumSpent(held)).toBe(4);
    const [repair] = planRepairs(held, state);
    expect(repair).toMatchObject({ kind: 'meter', model: 'restored' });
    // What is put back is not taken for new spending.
    const micros = repair?.kind === 'meter' ? repair.usage.micros : 0;
    const [row] = Object.values(state.ledger);
    const meters = { ...row?.value.meters, 'sess-aaaa/restored': { ...noUsage, micros } };
    const repaired = {
      ...state,
      ledger: {
        [writer]: {
          stamp: [2, writer, 0] as const,
          value: { generation: row?.value.generation ?? 0, folded: {}, meters },
        },
      },
    };
    expect(sumSpent(addState(held, repaired))).toBe(4);
    expect(planRepairs(addState(held, repaired), repaired)).toEqual([]);
  });

  it('follows a generation that sums up all there was', () => {
    const held = addState(
      rememberMoney(before, session),
      stateOf({ 'earlier/m': 3, 'sess-aaaa/m': 1 }, 5, 1),
    );
    expect(sumSpent(held)).toBe(4);
    expect(sumSpent(addState(held, stateOf({ 'earlier/m': 3, 'sess-aaaa/m': 2 }, 5, 1)))).toBe(5);
    // An older tip: what this session spent since still counts.
    expect(sumSpent(addState(held, stateOf({ 'sess-0000/m': 3, 'sess-aaaa/m': 2 }, 5, 0)))).toBe(5);
  });

  it('has a limit that falls by itself, and rises only when that was granted', () => {
    const held = rememberMoney(before, session);
    const raised = stateOf({ 'sess-0000/m': 3, 'sess-aaaa/m': 1 }, 50);
    expect(addState(held, raised).limit).toBe(5);
    expect(planRepairs(addState(held, raised), raised)).toEqual([{ kind: 'budget_set', limit: 5 }]);
    const granted = grantRaise(held, before, 50);
    expect(addState(granted, before).limit).toBe(50);
    expect(planRepairs(addState(granted, before), before)).toEqual([]);
    const done = addState(addState(granted, before), raised);
    expect([done.limit, planRepairs(done, raised)]).toEqual([50, []]);
    // Lowered by a person, it is not raised again by a forged line up to what was granted once.
    expect(addState(addState(done, before), raised).limit).toBe(5);
    expect(findOverrun(rememberMoney(stateOf({ m: 5 }, 5), session))).toEqual({
      kind: 'budget',
      spent: 5,
      limit: 5,
    });
  });
});

describe('a guess that a supervisor holds', () => {
  const reading = (guessed: number, settled: number): Fact => ({
    kind: 'meter',
    model: 'm',
    usage: { ...noUsage, micros: 1, guessed, settled },
  });

  const begun = { number: 1, agent: null, parentSessionId: null, writer, startedAt: 1, seenAt: 1 };
  const rest = { endedAt: null, reason: null, worked: 0, checkpoints: 0, latestCheckpointId: null };
  const value = { ...begun, ...rest, status: 'running' as const };
  const known = { ...before, sessions: { [session]: { value, stamp: [1, writer, 0] as const } } };

  it('is what the agent’s files say, and not what a journal says of them', () => {
    const held = addReadings(rememberMoney(known, session), known, [reading(9, 0)]);
    expect(sumSpent(held)).toBe(13);
    const forged = stateOf({ 'sess-0000/m': 3, 'sess-aaaa/m': 1 }, 5);
    const [row] = Object.values(forged.ledger);
    Object.assign(row?.value.meters['sess-aaaa/m'] ?? {}, { guessed: 9, settled: 9 });
    expect(sumSpent(addState(held, forged))).toBe(13);
    // Nor is it put back as money that was spent for certain.
    expect(planRepairs(addState(held, forged), forged)).toEqual([]);
  });

  it('falls when they have a figure', () => {
    const held = addReadings(rememberMoney(known, session), known, [reading(9, 0)]);
    expect(sumSpent(addReadings(held, known, [reading(9, 9)]))).toBe(4);
  });
});
