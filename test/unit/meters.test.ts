import { describe, expect, it } from 'vitest';
import type { Tally } from '../../src/agents/transcript/messages.ts';
import { makeMeters, type OwnAccounts, reconcileMeters } from '../../src/agents/transcript/meters.ts';
import { noTokens } from '../../src/cost/tokens.ts';

const tokens = { input: 1_000, output: 100, cacheRead: 10_000, cacheWrite5m: 200, cacheWrite1h: 300 };
const all = 11_600;
const tally = (more: Partial<Tally> = {}): Tally => ({ tokens, nanos: 0, bare: all, ...more });
/** At the prices of Opus: 5,000 + 2,500 + 5,000 + 1,250 + 3,000. */
const opusMicros = 16_750;
const own = (usd: number, more: object = {}) => ({
  tokens: { ...tokens, cacheWrite5m: 500, cacheWrite1h: 0 },
  nanos: usd * 1e9,
  isGuess: false,
  ...more,
});

describe('a meter', () => {
  it('has our price if there is one, whatever cost the agent reports', () => {
    const meters = makeMeters({ 'claude-opus-5': tally({ nanos: 9e9, bare: 0 }) }, {});
    expect(meters).toEqual({
      'claude-opus-5': {
        micros: opusMicros,
        input: 1_000,
        output: 100,
        cacheRead: 10_000,
        cacheWrite: 500,
        unpriced: 0,
      },
    });
  });

  it('without a price has the agent’s own figure, marked, and the other tokens unpriced', () => {
    expect(makeMeters({ other: tally({ nanos: 1_234_567, bare: 70 }) }, {}).other).toMatchObject({
      micros: 1_235,
      estimated: 1_235,
      unpriced: 70,
    });
    const bare = makeMeters({ other: tally() }, {}).other;
    // At the highest price of all: 10,000 + 5,000 + 10,000 + 2,000 + 3,000.
    expect(bare).toMatchObject({ micros: 0, unpriced: all, guessed: 30_000 });
    expect(bare).not.toHaveProperty('estimated');
  });

  it('counts as unpriced what a price of the user does not cover', () => {
    const price = { input: 1, output: 1, cacheRead: null, cacheWrite5m: 1, cacheWrite1h: null };
    expect(makeMeters({ other: tally() }, { other: price }).other).toMatchObject({
      micros: 1_300,
      unpriced: 10_300,
      guessed: 13_000,
    });
  });
});

describe('reconciling', () => {
  const compare = (accounts: OwnAccounts, model = 'claude-opus-5', users = {}) =>
    reconcileMeters(makeMeters({ [model]: tally() }, users), accounts, users);

  it('changes nothing if both agree', () => {
    const meters = compare({ 'claude-opus-5': own(0.01675) });
    expect(meters['claude-opus-5']).toMatchObject({ micros: opusMicros });
    expect(meters['claude-opus-5']).not.toHaveProperty('estimated');
  });

  it('knows a model by its plain name', () => {
    const meters = compare({ 'claude-opus-5[1m]': own(0.01675) }, 'claude-opus-5-20260101');
    expect(Object.keys(meters)).toEqual(['claude-opus-5-20260101']);
  });

  it('takes the larger figure, and marks it', () => {
    const meters = compare({ 'claude-opus-5': own(0.02) });
    expect(meters['claude-opus-5']).toMatchObject({ micros: 20_000, estimated: 20_000 - opusMicros });
  });

  it('keeps ours if it is larger', () => {
    const meters = compare({ 'claude-opus-5': own(0.001) });
    expect(meters['claude-opus-5']?.micros).toBe(opusMicros);
  });

  it('counts a model that is in no transcript', () => {
    const asked = { tokens: { ...noTokens, input: 1_000, output: 10 }, nanos: 1_050_000, isGuess: false };
    const meters = compare({ 'claude-opus-5': own(0.01675), 'claude-haiku-4-5': asked });
    // The price is ours, and the agent's is the same: nothing is estimated.
    expect(meters['claude-haiku-4-5']).toEqual({
      micros: 1_050,
      input: 1_000,
      output: 10,
      cacheRead: 0,
      cacheWrite: 0,
      unpriced: 0,
    });
  });

  it('does not let the agent overrule a price the user set', () => {
    const free = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
    const meters = compare({ 'claude-opus-5': own(3) }, 'claude-opus-5', { 'claude-opus-5': free });
    expect(meters['claude-opus-5']?.micros).toBe(0);
  });

  it('does not take a guess over a price', () => {
    expect(compare({ 'claude-opus-5': own(3, { isGuess: true }) })['claude-opus-5']?.micros).toBe(opusMicros);
    expect(compare({ other: own(3, { isGuess: true }) }, 'other').other).toMatchObject({
      micros: 3_000_000,
      estimated: 3_000_000,
      unpriced: 0,
    });
    expect(compare({ other: own(3) }, 'other').other).not.toHaveProperty('guessed');
  });

  it('leaves unpriced what came after the agent’s account, and all of it where that has no figure', () => {
    const part = own(1, { tokens: { ...noTokens, input: 1_000 } });
    expect(compare({ other: part }, 'other').other).toMatchObject({
      micros: 1_000_000,
      unpriced: all - 1_000,
    });
    const more = own(0, { tokens: { ...tokens, output: 150, cacheWrite5m: 500, cacheWrite1h: 0 } });
    expect(compare({ other: more }, 'other').other).toMatchObject({ output: 150, unpriced: all + 50 });
  });

  it('compares the sum where a model has several dates, and raises one of them', () => {
    const counted = makeMeters({ 'claude-opus-5-20260101': tally(), 'claude-opus-5-20260202': tally() }, {});
    const both = own(0.04, {
      tokens: { input: 2_000, output: 200, cacheRead: 20_000, cacheWrite5m: 1_000, cacheWrite1h: 0 },
    });
    const meters = reconcileMeters(counted, { 'claude-opus-5': both }, {});
    const micros = Object.values(meters).map((usage) => usage.micros);
    expect(micros).toEqual([40_000 - opusMicros, opusMicros]);
    expect(Object.values(meters).map((usage) => usage.output)).toEqual([100, 100]);
  });
});
