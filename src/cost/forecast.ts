import type { Micros, Millis } from '../types.ts';
import { formatInstant } from '../units.ts';

/** What an epic had cost in all at a moment: one of its checkpoints. */
export type Spending = { readonly at: Millis; readonly micros: Micros };

const hour: Millis = 3_600_000;
/** Longer without a checkpoint, and nobody knows how much of it was work. */
const longestActiveGap: Millis = hour / 2;
/** Less than this says nothing of an hour. */
const leastTime: Millis = 60_000;
/** How much active time a rate is taken from: enough to be steady, little enough to be of now. */
const activeTime: Millis = hour;
/** What was spent earlier says nothing of now. */
const oldest: Millis = 24 * hour;
/** Past this a date means "practically never". */
const farthest: Millis = 10 * 365 * 24 * hour;

/**
 * How fast money is being spent, in micro-dollars an hour, or null where nothing tells.
 * It is taken from the last hour of active time within a day. Active is the time between two successive checkpoints
 * that are at most thirty minutes apart; a longer gap counts neither with its time nor with its money.
 */
export function burnPerHour(points: readonly Spending[], now: Millis): Micros | null {
  const newestFirst = points
    .filter(({ at }) => at <= now && now - at <= oldest)
    // Of those at one moment the one that had cost most is the last.
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

/** When the budget will be used up at this rate; null where it is already, where it never will be, or where nothing tells. */
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
