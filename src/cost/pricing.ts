import { type Keyed, lookUp } from '../keyed.ts';
import type { Micros } from '../types.ts';
import { noTokens, type Tokens } from './tokens.ts';

/** Dollars per million tokens; null where the model has no such price. */
export type ModelPrice = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number | null;
  readonly cacheWrite5m: number | null;
  readonly cacheWrite1h: number | null;
};

export type Prices = { readonly [model: string]: ModelPrice };

/** Prices, and by maker the day they were published. */
export type PriceList = { readonly dated: Keyed<string>; readonly models: Prices };

declare const __ORCH_PRICES__: PriceList;

/** What orch knows by itself: `templates/pricing.yaml`, put in here by the build. */
export const knownPrices: PriceList =
  typeof __ORCH_PRICES__ === 'object' ? __ORCH_PRICES__ : { dated: {}, models: {} };

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

/** How makers name their models by what these cost. */
const tiers = /\b(opus|sonnet|haiku|astra|sol|terra|luna|mini|nano|pro)\b/;
/** Many times dearer than the rest: it is the family of its own names only. */
const apart = 'pro';
const makers = [/claude|anthropic|opus|sonnet|haiku/, /gpt|codex|openai|^o\d/];

function makerOf(model: string): number {
  return makers.findIndex((maker) => maker.test(model));
}

function tierOf(model: string): string {
  return tiers.exec(model)?.[1] ?? '';
}

/**
 * The highest price of a model's family, kind by kind: for one that has no price itself, so that a budget is not
 * overrun. Its family are the models of its maker whose names have the same tier, else all of its maker, else all.
 */
export function guessPrice(model: string, users: Prices, known: Prices = knownPrices.models): ModelPrice {
  const all = Object.entries({ ...known, ...users });
  const name = model.toLowerCase();
  const [maker, tier] = [makerOf(name), tierOf(name)];
  const ofMaker = all.filter(([other]) => maker >= 0 && makerOf(other) === maker);
  const family = ofMaker.filter(([other]) => tierOf(other) === tier);
  const usual = (models: typeof all) => models.filter(([other]) => tierOf(other) !== apart);
  const likely = [family, usual(ofMaker), usual(all), all].find((models) => models.length > 0) ?? [];
  const highest = (kind: keyof ModelPrice, least: number) =>
    Math.max(least, ...likely.map(([, price]) => price[kind] ?? 0));
  const input = highest('input', 0);
  return {
    input,
    output: highest('output', 0),
    // A kind that no model of the family has a price for is part of its input.
    cacheRead: highest('cacheRead', 0) || input,
    cacheWrite5m: highest('cacheWrite5m', input),
    cacheWrite1h: highest('cacheWrite1h', input),
  };
}

/** What tokens would cost that a price, where there is one, does not cover. */
export function guessTokens(price: ModelPrice | null, model: string, tokens: Tokens, users: Prices): Micros {
  const open = tokenKinds.filter((kind) => (price?.[kind] ?? null) === null && tokens[kind] > 0);
  if (open.length === 0) return 0;
  const uncovered = Object.fromEntries(open.map((kind) => [kind, tokens[kind]]));
  return priceTokens(guessPrice(model, users), { ...noTokens, ...uncovered });
}

/**
 * A model's name without what says nothing of its price, its date and its window:
 * `claude-sonnet-4-5-20250929[1m]` → `claude-sonnet-4-5`, `gpt-5-2025-08-07` → `gpt-5`. Other clouds' spellings stay: theirs are other prices.
 */
export function plainModel(model: string): string {
  return model.replace(/\[[^[\]]*\]$/, '').replace(/-20\d\d(-?)\d\d\1\d\d$/, '');
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
