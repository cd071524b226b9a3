import { lookUp } from '../keyed.ts';
import type { Micros } from '../types.ts';
import type { Tokens } from './tokens.ts';

/** Dollars per million tokens; null where the model has no such price. */
export type ModelPrice = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number | null;
  readonly cacheWrite5m: number | null;
  readonly cacheWrite1h: number | null;
};

export type Prices = { readonly [model: string]: ModelPrice };

/** The prices of a day. */
export type PriceList = { readonly dated: string; readonly models: Prices };

declare const __ORCH_PRICES__: PriceList;

/** What orch knows by itself: `templates/pricing.yaml`, put in here by the build. */
export const knownPrices: PriceList =
  typeof __ORCH_PRICES__ === 'object' ? __ORCH_PRICES__ : { dated: 'never', models: {} };

/** A price, and who says so. */
export type FoundPrice = ModelPrice & { readonly isUsers: boolean };

/** The price of a model: what the user set comes before what orch knows. Null where neither has it; never another model's. */
export function findPrice(
  model: string,
  users: Prices,
  known: Prices = knownPrices.models,
): FoundPrice | null {
  const set = findIn(users, model);
  if (set !== null) return { ...set, isUsers: true };
  const listed = findIn(known, model);
  return listed === null ? null : { ...listed, isUsers: false };
}

function findIn(prices: Prices, model: string): ModelPrice | null {
  return lookUp(prices, model) ?? lookUp(prices, plainModel(model)) ?? null;
}

/**
 * A model's name without what says nothing of its price, its date and its window:
 * `claude-sonnet-4-5-20250929[1m]` → `claude-sonnet-4-5`. Other clouds' spellings stay: theirs are other prices.
 */
export function plainModel(model: string): string {
  return model.replace(/\[[^[\]]*\]$/, '').replace(/-20\d{6}$/, '');
}

/** Millionths of a micro-dollar that one token costs: prices have at most so many places. */
function perToken(dollarsPerMillion: number): bigint {
  return BigInt(Math.round(dollarsPerMillion * 1_000_000));
}

/**
 * What tokens cost, exact in millionths of a micro-dollar and rounded once, half up.
 * So it must be asked once for a whole meter: the roundings of many messages would add up.
 * Kinds without a price cost nothing here; `countUnpriced` tells how many they are.
 */
export function priceTokens(price: ModelPrice, tokens: Tokens): Micros {
  let exact = 0n;
  for (const kind of tokenKinds) exact += perToken(price[kind] ?? 0) * BigInt(tokens[kind]);
  return Number((exact + 500_000n) / 1_000_000n);
}

/** How many tokens are of a kind that the model has no price for. */
export function countUnpriced(price: ModelPrice, tokens: Tokens): number {
  return tokenKinds.reduce((count, kind) => (price[kind] === null ? count + tokens[kind] : count), 0);
}

const tokenKinds = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;
