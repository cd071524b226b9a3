import type { Micros, Millis } from '../types.ts';
import { formatInstant } from '../units.ts';
import { findPrice, guessPrice, type Prices, priceTokens } from './pricing.ts';
import { noTokens } from './tokens.ts';

/** What an epic had cost in total at the time of one of its checkpoints. */
export type Spending = { readonly at: Millis; readonly micros: Micros };

const hour: Millis = 3_600_000;
/** In a longer gap between checkpoints, it is unknown how much was work. */
const longestActiveGap: Millis = hour / 2;
/** Less active time is too little for a rate. */
const leastTime: Millis = 60_000;
/** How much active time a rate covers: enough to be steady, recent enough to be current. */
const activeTime: Millis = hour;
/** Earlier spending is ignored. */
const oldest: Millis = 24 * hour;
/** A later date means "practically never". */
const farthest: Millis = 10 * 365 * 24 * hour;

/**
 * How fast money is being spent, in micro-dollars per hour; null if unknown. Covers the last hour of active time within
 * a day. The time between two checkpoints is active if they are at most thirty minutes apart; a longer gap counts
 * neither its time nor its money.
 */
export function burnPerHour(points: readonly Spending[], now: Millis): Micros | null {
  const newestFirst = points
    .filter(({ at }) => at <= now && now - at <= oldest)
    // Of several at the same time, the one with the highest cost is the last.
    .sort((a, b) => b.at - a.at || b.micros - a.micros);
  let time = 0;
  let money = 0;
  for (const [index, later] of newestFirst.entries()) {
    const earlier = newestFirst[index + 1];
    if (earlier === undefined || time >= activeTime) break;
    const gap = later.at - earlier.at;
    if (gap > longestActiveGap) continue;
    time += gap;
    money += Math.max(0, later.micros - earlier.micros);
  }
  return time < leastTime ? null : Math.round((money / time) * hour);
}

/** When the budget runs out at this rate; null if it already has, never will, or nothing is known. */
export function lastsUntil(
  spent: Micros,
  limit: Micros | null,
  perHour: Micros | null,
  now: Millis,
): string | null {
  if (limit === null || spent >= limit || perHour === null || perHour <= 0) return null;
  const left = ((limit - spent) / perHour) * hour;
  return left > farthest ? null : formatInstant(now + left);
}

/** What is known about an agent's spending at a check. */
type AgentSpending = {
  readonly spent: Micros;
  readonly limit: Micros | null;
  /** The size of its context. */
  readonly tokens: number;
  /** The models it has used; empty before the first reading. */
  readonly models: readonly string[];
  /** How many agents share the budget. */
  readonly agents: number;
};

/** The longest answer of any model, and how much a prompt may grow at once. */
const longestAnswer = 128_000;
const largestGrowth = 50_000;
/** With no more than this fraction left, every request is checked. */
const near = 1 / 4;

/**
 * How many requests an agent can make before its spending must be checked again, however expensive each one is: the rest
 * of the budget pays for all of them. 0 if little is left; unlimited without a budget.
 */
export function countUncheckedRequests(
  { spent, limit, tokens, models, agents }: AgentSpending,
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
    // A model without a cache price is billed for it as input.
    return priceTokens({ ...price, cacheWrite1h: price.cacheWrite1h ?? guess.cacheWrite1h }, request);
  };
  const largest = Math.max(...(models.length > 0 ? models : [agent]).map(costOf));
  // One may be under way, and not counted yet.
  return Math.max(0, Math.floor(left / largest / agents) - 1);
}
