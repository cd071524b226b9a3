import type { Micros } from '../types.ts';
import { findPrice, guessPrice, type Prices, priceTokens } from './pricing.ts';
import { noTokens } from './tokens.ts';

/** What is known of an agent's spending when it is looked at. */
export type Spending = {
  readonly spent: Micros;
  readonly limit: Micros | null;
  /** What is in its context window. */
  readonly tokens: number;
  /** The models it has used; none where nothing was read yet. */
  readonly models: readonly string[];
  /** How many agents spend the same money. */
  readonly agents: number;
};

/** The longest answer a model gives, and how much a prompt may grow at once. */
const longestAnswer = 128_000;
const largestGrowth = 50_000;
/** So near it is looked at every time. */
const near = 1 / 4;

/**
 * How many requests an agent may make before its spending is looked at again, however much each costs: what is left pays
 * for all of them. None where the budget is near; without one there is no end to them.
 */
export function countUnseen(
  { spent, limit, tokens, models, agents }: Spending,
  users: Prices,
  agent: string,
): number {
  if (limit === null) return Number.POSITIVE_INFINITY;
  const left = limit - spent;
  if (left <= limit * near) return 0;
  const request = { ...noTokens, cacheWrite1h: tokens + largestGrowth, output: longestAnswer };
  const costOf = (model: string) => {
    const guess = guessPrice(model, users);
    const price = findPrice(model, users) ?? guess;
    // A model that has no price for the cache is billed for it as input.
    return priceTokens({ ...price, cacheWrite1h: price.cacheWrite1h ?? guess.cacheWrite1h }, request);
  };
  const largest = Math.max(...(models.length > 0 ? models : [agent]).map(costOf));
  // One may be on its way already, and not be counted yet.
  return Math.max(0, Math.floor(left / largest / agents) - 1);
}
