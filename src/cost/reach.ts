import type { Micros } from '../types.ts';
import { findPrice, guessPrice, type Prices, priceTokens } from './pricing.ts';
import { noTokens } from './tokens.ts';

/** What is known of an agent's spending when it was last looked at. */
export type Spending = {
  readonly spent: Micros;
  readonly limit: Micros | null;
  /** The most that was spent between two looks. */
  readonly most: Micros;
  /** What is in its context window. */
  readonly tokens: number;
  /** The models it has used; none where nothing was read yet. */
  readonly models: readonly string[];
};

/** The longest answer a model gives, and how much a prompt may grow at once. */
const longestAnswer = 128_000;
const largestGrowth = 50_000;

/**
 * Could an agent use up what is left of its budget before it is looked at again? In doubt, yes: a quarter of the budget
 * is within reach, what two requests could cost at most, and four times the most that was spent between two looks.
 */
export function isWithinReach(
  { spent, limit, most, tokens, models }: Spending,
  users: Prices,
  agent: string,
): boolean {
  if (limit === null) return false;
  const request = { ...noTokens, cacheWrite1h: tokens + largestGrowth, output: longestAnswer };
  const costOf = (model: string) => {
    const guess = guessPrice(model, users);
    const price = findPrice(model, users) ?? guess;
    // A model that has no price for the cache is billed for it as input.
    return priceTokens({ ...price, cacheWrite1h: price.cacheWrite1h ?? guess.cacheWrite1h }, request);
  };
  const largest = Math.max(...(models.length > 0 ? models : [agent]).map(costOf));
  return limit - spent <= Math.max(limit / 4, 2 * largest, 4 * most);
}
