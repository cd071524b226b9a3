import { describe, expect, it } from 'vitest';
import {
  type ContextWindow,
  detectFreedSpace,
  findWindow,
  measureContext,
  tierOf,
} from '../../src/cost/context-window.ts';

it.each([
  [0, 'NOMINAL'],
  [0.5499, 'NOMINAL'],
  [0.55, 'LOW'],
  [0.6999, 'LOW'],
  [0.7, 'WARNING'],
  [0.7999, 'WARNING'],
  [0.8, 'CRITICAL'],
  [0.8799, 'CRITICAL'],
  [0.88, 'EMERGENCY'],
  [3, 'EMERGENCY'],
])('a fill of %d is %s', (fill, tier) => {
  expect(tierOf(fill)).toBe(tier);
});

it.each<[string, 'auto' | number, number | null, string | null, number, string]>([
  ['the user', 500_000, 200_000, 'claude-sonnet-4-5[1m]', 500_000, 'config'],
  ['the agent', 'auto', 258_400, 'claude-sonnet-4-5[1m]', 258_400, 'agent'],
  ["the model's name", 'auto', null, 'claude-sonnet-4-5[1m]', 1_000_000, 'model'],
  ['nobody', 'auto', null, 'claude-sonnet-4-5', 200_000, 'default'],
  ['an agent that knows nothing', 'auto', 0, null, 200_000, 'default'],
])('the window is as large as %s says', (_, configured, told, model, window, source) => {
  expect(findWindow(configured, told, model)).toEqual({ window, source });
});

describe('room in a window', () => {
  it.each<[string, number, number, string, 'compaction' | 'clear' | null]>([
    ['is made by a compaction', 150_000, 3_000, 'a', 'compaction'],
    ['is made by a clear', 150_000, 3_000, 'b', 'clear'],
    ['is made by a clear, however little was in it', 10, 20, 'b', 'clear'],
    ['is not made by a drop of 10,000', 20_000, 10_000, 'a', null],
    ['is made by a larger one', 20_001, 10_000, 'a', 'compaction'],
    ['is not made by a drop to 80%', 100_000, 80_000, 'a', null],
    ['is made by a drop below', 100_000, 79_999, 'a', 'compaction'],
    ['is not made by growth', 10, 150_000, 'a', null],
  ])('%s', (_, before, after, session, expected) => {
    expect(
      detectFreedSpace({ tokens: before, agentSession: 'a' }, { tokens: after, agentSession: session }),
    ).toBe(expected);
  });
});

it('keeps a size the agent reported once, and what last freed space', () => {
  const before: ContextWindow = {
    tokens: 900_000,
    window: 1_000_000,
    fill: 0.9,
    tier: 'EMERGENCY',
    source: 'agent',
    agentSession: 'a',
    madeRoom: null,
  };
  const compacted = measureContext({ tokens: 20_000, model: 'm', window: null }, 'a', 'auto', before);
  expect(compacted).toEqual({
    tokens: 20_000,
    window: 1_000_000,
    fill: 0.02,
    tier: 'NOMINAL',
    source: 'agent',
    agentSession: 'a',
    madeRoom: 'compaction',
  });
  const later = measureContext({ tokens: 25_000, model: 'm', window: null }, 'a', 'auto', compacted);
  expect(later.madeRoom).toBe('compaction');
  expect(measureContext({ tokens: 1, model: 'm', window: null }, 'b', 'auto', later).madeRoom).toBe('clear');
  expect(measureContext({ tokens: 1, model: 'm', window: null }, 'b', 'auto', null).window).toBe(200_000);
});
