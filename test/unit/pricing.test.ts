import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countUnpriced,
  findPrice,
  guessPrice,
  knownPrices,
  plainModel,
  priceTokens,
} from '../../src/cost/pricing.ts';
import { addTokens, noTokens, type Tokens } from '../../src/cost/tokens.ts';
import { someTokens } from '../support/transcripts.ts';

const mine = { input: 1, output: 2, cacheRead: null, cacheWrite5m: 3, cacheWrite1h: null };
const million = 1_000_000;

describe('the prices orch knows', () => {
  it('are of a day, and complete', () => {
    expect(Object.keys(knownPrices.dated)).toEqual(['anthropic', 'openai']);
    for (const day of Object.values(knownPrices.dated)) expect(day).toMatch(/^\d{4}-\d\d-\d\d$/);
    for (const [model, price] of Object.entries(knownPrices.models)) {
      expect(price.input).toBeGreaterThan(0);
      expect(price.output).toBeGreaterThan(price.input);
      if (model.endsWith('-pro')) expect(price.cacheRead).toBe(price.input);
      else expect(price.cacheRead).toBeLessThan(price.input);
      const isClaude = model.startsWith('claude-');
      expect(price.cacheWrite1h).toBe(isClaude ? 2 * price.input : null);
      expect(price.cacheWrite5m).toBe(isClaude ? 1.25 * price.input : null);
    }
  });

  it.each([
    ['claude-sonnet-4-5', 3],
    ['claude-sonnet-4-5-20250929', 3],
    ['claude-sonnet-4-5-20250929[1m]', 3],
    ['claude-opus-4-6', 5],
    ['claude-opus-5[1m]', 5],
    ['claude-sonnet-5', 2],
    ['claude-haiku-4-5-20251001', 1],
    ['gpt-5', 1.25],
    ['gpt-5-2025-08-07', 1.25],
    ['gpt-5.1-codex-max', 1.25],
    ['gpt-5.6-terra', 2],
    ['gpt-6.1-sol', 2],
  ])('%s costs %d', (model, input) => {
    expect(findPrice(model, {})?.input).toBe(input);
  });

  it.each([
    'claude-sonnet-4-50',
    'claude-sonnet-4',
    'claude-sonnet-4-5-latest',
    'claude-sonnet-4-5-20250929-v2',
    'claude',
    'CLAUDE-OPUS-5',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'gpt-5.9-codex',
    'gpt-5-2025-0807',
    '<synthetic>',
    '__proto__',
    'toString',
    '',
  ])('have none for %j, rather than another one’s', (model) => {
    expect(findPrice(model, {})).toBeNull();
  });
});

describe('a price that is guessed', () => {
  it.each([
    ['claude-opus-5-5', 5, 25],
    ['opus', 5, 25],
    ['Sonnet', 3, 15],
    ['claude-haiku-6', 1, 5],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3, 15],
    ['claude-novella-1', 5, 25],
    ['gpt-5.9-codex', 5, 30],
    ['gpt-7-luna', 0.2, 1.2],
    ['gpt-5.7-codex-mini', 0.75, 4.5],
    ['gpt-7-pro', 30, 180],
    ['codex', 5, 30],
    ['gpt-7-pulsar', 5, 30],
    ['qwen3-coder', 10, 50],
    ['__proto__', 10, 50],
  ])('of %s is the highest of its family: %d in, %d out', (model, input, output) => {
    expect(guessPrice(model, {})).toMatchObject({ input, output });
  });

  it('is never below a price of the family, of any kind, the user’s own included', () => {
    const users = { 'claude-opus-9': { ...mine, output: 99 } };
    expect(guessPrice('claude-opus-10', users)).toEqual({
      input: 5,
      output: 99,
      cacheRead: 0.5,
      cacheWrite5m: 6.25,
      cacheWrite1h: 10,
    });
    // No model of the family is billed for what it writes to the cache: it is input.
    expect(guessPrice('gpt-99', {})).toMatchObject({ cacheRead: 0.5, cacheWrite5m: 5, cacheWrite1h: 5 });
    expect(guessPrice('x', {}, {})).toMatchObject({ input: 0, output: 0 });
  });
});

describe('the user’s prices', () => {
  it('come first, by the same names', () => {
    expect(findPrice('claude-opus-5', { 'claude-opus-5': mine })).toEqual({ ...mine, isUsers: true });
    expect(findPrice('claude-opus-5-20260101[1m]', { 'claude-opus-5': mine })?.isUsers).toBe(true);
    expect(findPrice('local', { local: mine })?.output).toBe(2);
  });

  it('can be for one date only', () => {
    const users = { 'claude-opus-5-20260101': mine };
    expect(findPrice('claude-opus-5-20260101', users)?.input).toBe(1);
    expect(findPrice('claude-opus-5-20260202', users)?.input).toBe(5);
  });

  it('leave what has none unpriced', () => {
    const tokens = { input: 1, output: 1, cacheRead: 10, cacheWrite5m: 1, cacheWrite1h: 100 };
    expect(priceTokens(mine, tokens)).toBe(6);
    expect(countUnpriced(mine, tokens)).toBe(110);
  });
});

describe('money', () => {
  it('is priced by kind', () => {
    const price = findPrice('claude-sonnet-4-5', {});
    if (price === null) throw new Error('it has a price');
    const each = (kind: keyof Tokens) => priceTokens(price, { ...noTokens, [kind]: million });
    expect([
      each('input'),
      each('output'),
      each('cacheRead'),
      each('cacheWrite5m'),
      each('cacheWrite1h'),
    ]).toEqual([3_000_000, 15_000_000, 300_000, 3_750_000, 6_000_000]);
  });

  it('is exact, and rounded half up once', () => {
    const price = { input: 0.1, output: 0, cacheRead: null, cacheWrite5m: null, cacheWrite1h: null };
    expect(priceTokens(price, { ...noTokens, input: 4 })).toBe(0);
    expect(priceTokens(price, { ...noTokens, input: 5 })).toBe(1);
    expect(priceTokens(price, { ...noTokens, input: 1_000_000_000_003 })).toBe(100_000_000_000);
  });

  it('of many messages is never further off than one rounding', () => {
    const price = findPrice('claude-opus-4-6', {});
    if (price === null) throw new Error('it has a price');
    fc.assert(
      fc.property(fc.array(someTokens, { maxLength: 50 }), (all) => {
        const sum = all.reduce(addTokens, noTokens);
        const exact =
          sum.input * 5 +
          sum.output * 25 +
          sum.cacheRead * 0.5 +
          sum.cacheWrite5m * 6.25 +
          sum.cacheWrite1h * 10;
        expect(Math.abs(priceTokens(price, sum) - exact)).toBeLessThanOrEqual(0.5);
      }),
    );
  });
});

describe('plainModel', () => {
  it('takes off dates and windows only', () => {
    expect(plainModel('claude-sonnet-4-5-20250929[1m]')).toBe('claude-sonnet-4-5');
    expect(plainModel('gpt-5.1-codex')).toBe('gpt-5.1-codex');
    expect(plainModel('model-12345678')).toBe('model-12345678');
  });
});
