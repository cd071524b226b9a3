import { expect, it } from 'vitest';
import { countUncheckedRequests } from '../../src/cost/forecast.ts';

const dollars = (amount: number) => amount * 1_000_000;
const prices = {
  'claude-small': { input: 1, output: 5, cacheRead: 0.1, cacheWrite5m: 1.25, cacheWrite1h: 2 },
  'claude-large': { input: 10, output: 50, cacheRead: 1, cacheWrite5m: 12.5, cacheWrite1h: 20 },
};

function count(
  spent: number,
  limit: number | null,
  more: Partial<Parameters<typeof countUncheckedRequests>[0]> = {},
): number {
  const money = { spent: dollars(spent), limit: limit === null ? null : dollars(limit) };
  const spending = { ...money, tokens: 0, models: ['claude-small'], agents: 1, ...more };
  return countUncheckedRequests(spending, prices, 'claude');
}

it('without a budget no request has to be looked at', () => {
  expect(count(1_000, null)).toBe(Number.POSITIVE_INFINITY);
});

it('in the last quarter of a budget every request is', () => {
  expect(count(74, 100)).toBeGreaterThan(0);
  expect(count(75, 100)).toBe(0);
  expect(count(101, 100)).toBe(0);
});

it('else as many pass as the rest could pay for, whatever they cost, less one', () => {
  // 50,000 tokens to write to the cache and 128,000 to answer: $0.74 each.
  expect(count(0, 0.74 * 9)).toBe(8);
  expect(count(0, 0.74)).toBe(0);
  expect(count(0, 0.5)).toBe(0);
  // With 200,000 tokens in the context, $1.14 each.
  expect(count(0, 1.14 * 9, { tokens: 200_000 })).toBe(8);
});

it('agents that spend the same money share it', () => {
  expect(count(0, 0.74 * 9, { agents: 3 })).toBe(2);
});

it('the most expensive used model counts; before any use, the most expensive of the agent’s family', () => {
  for (const models of [['claude-small', 'claude-large'], [], ['claude-new']])
    expect({ models, count: count(0, 7.4 * 3, { models }) }).toEqual({ models, count: 2 });
});
