import { type Keyed, lookUp } from '../keyed.ts';
import type { Micros } from '../types.ts';
import { type Ledger, listReadings } from './ledger.ts';
import { guessOf, sumByModel } from './money.ts';
import { noTokens, type Tokens } from './tokens.ts';

/** Dollars per million tokens; null if the model has no such price. */
export type ModelPrice = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number | null;
  readonly cacheWrite5m: number | null;
  readonly cacheWrite1h: number | null;
};

export type Prices = { readonly [model: string]: ModelPrice };

/** Prices, and by vendor the day they were published. */
export type PriceList = { readonly dated: Keyed<string>; readonly models: Prices };

declare const __ORCH_PRICES__: PriceList;

/** The built-in prices: the build inserts `templates/pricing.yaml` here. */
export const knownPrices: PriceList =
  typeof __ORCH_PRICES__ === 'object' ? __ORCH_PRICES__ : { dated: {}, models: {} };

/** A price, and whether the user set it. */
export type FoundPrice = ModelPrice & { readonly isUsers: boolean };

/** The price of a model: the user's, else the built-in one, else null. Never another model's. */
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

/** The words in model names that tell the price level. */
const tiers = /\b(opus|sonnet|haiku|astra|sol|terra|luna|mini|nano|pro)\b/;
/** Many times more expensive than the rest, so it stands only for names that contain it. */
const apart = 'pro';
const makers = [/claude|anthropic|opus|sonnet|haiku/, /gpt|codex|openai|^o\d/];

function makerOf(model: string): number {
  return makers.findIndex((maker) => maker.test(model));
}

function tierOf(model: string): string {
  return tiers.exec(model)?.[1] ?? '';
}

/**
 * The highest price in a model's family, kind by kind, for a model without a price: a guess that does not overrun a
 * budget. The family are the vendor's models of the same tier, else all of the vendor, else all models.
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
    // A kind that no model of the family has a price for is billed as input.
    cacheRead: highest('cacheRead', 0) || input,
    cacheWrite5m: highest('cacheWrite5m', input),
    cacheWrite1h: highest('cacheWrite1h', input),
  };
}

/** Guesses the cost of the tokens that a price does not cover. */
export function guessTokens(price: ModelPrice | null, model: string, tokens: Tokens, users: Prices): Micros {
  const open = tokenKinds.filter((kind) => (price?.[kind] ?? null) === null && tokens[kind] > 0);
  if (open.length === 0) return 0;
  const uncovered = Object.fromEntries(open.map((kind) => [kind, tokens[kind]]));
  return priceTokens(guessPrice(model, users), { ...noTokens, ...uncovered });
}

/**
 * A model's name without its date and window, which do not affect the price: `claude-sonnet-4-5-20250929[1m]` →
 * `claude-sonnet-4-5`, `gpt-5-2025-08-07` → `gpt-5`. Other clouds' names stay as they are, because their prices differ.
 */
export function plainModel(model: string): string {
  return model.replace(/\[[^[\]]*\]$/, '').replace(/-20\d\d(-?)\d\d\1\d\d$/, '');
}

/** The price of one token in millionths of a micro-dollar; prices have no more decimals. */
function perToken(dollarsPerMillion: number): bigint {
  return BigInt(Math.round(dollarsPerMillion * 1_000_000));
}

/**
 * What tokens cost, computed in millionths of a micro-dollar and rounded once, half up. Price a whole meter at once:
 * rounding every message would add up. Kinds without a price cost nothing here; `countUnpriced` counts them.
 */
export function priceTokens(price: ModelPrice, tokens: Tokens): Micros {
  let exact = 0n;
  for (const kind of tokenKinds) exact += perToken(price[kind] ?? 0) * BigInt(tokens[kind]);
  return Number((exact + 500_000n) / 1_000_000n);
}

/** How many tokens are of a kind without a price. */
export function countUnpriced(price: ModelPrice, tokens: Tokens): number {
  return tokenKinds.reduce((count, kind) => (price[kind] === null ? count + tokens[kind] : count), 0);
}

const tokenKinds = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;

/** A used model without a price, and the guess that counts for it. */
export type UnpricedModel = { readonly model: string; readonly tokens: number; readonly guess: Micros };

/**
 * The models whose cost is a guess: neither orch nor the user has a price, and the agent gave no figure. A model that
 * has a price by now is left out: its tokens are priced at the next reading.
 */
export function listUnpriced(ledger: Ledger, prices: Prices): UnpricedModel[] {
  return [...sumByModel(listReadings(ledger))]
    .filter(([model, usage]) => guessOf(usage) > 0 && findPrice(model, prices) === null)
    .map(([model, usage]) => ({ model, tokens: usage.unpriced, guess: guessOf(usage) }))
    .sort((a, b) => (a.model < b.model ? -1 : 1));
}

/** The models that are guessed now and were not before: `claude-opus-6, mine`. */
export function nameNewGuesses(before: Ledger, after: Ledger, prices: Prices): string | null {
  const known = listUnpriced(before, prices).map(({ model }) => model);
  const fresh = listUnpriced(after, prices).flatMap(({ model }) => (known.includes(model) ? [] : model));
  return fresh.length === 0 ? null : fresh.join(', ');
}

/** Explains to people what counts for models without a price. */
export function explainGuess(models: string): string {
  return `no price is known for ${models}. Until the agent reports a figure, the highest price of the model's family counts, marked ~. To set a price: prices in .orchestration/config.yaml`;
}
