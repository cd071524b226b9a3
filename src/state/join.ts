import { mergeRows } from '../cost/ledger.ts';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import { compareJson } from './canonical.ts';
import {
  bounds,
  type Entry,
  foreignBound,
  type Limits,
  type List,
  type PartialState,
  type Stamp,
  type State,
} from './lists.ts';

/** Orders by time, then by writer and offset. */
export function compareStamps(a: Stamp, b: Stamp): number {
  return a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0) || a[2] - b[2];
}

type Merge<T> = (a: Entry<T>, b: Entry<T>) => Entry<T>;

/** The newer of two entries with the same key. Compares whole entries, which may have fields of a later orch. */
export function newest<T>(a: Entry<T>, b: Entry<T>): Entry<T> {
  return (compareStamps(a.stamp, b.stamp) || compareJson(a, b)) >= 0 ? a : b;
}

function mergedBy<T>(merge: (a: T, b: T) => T): Merge<T> {
  return (a, b) => ({
    value: merge(a.value, b.value),
    stamp: compareStamps(a.stamp, b.stamp) >= 0 ? a.stamp : b.stamp,
  });
}

/** Keeps the first entry: later requests do not change what the work was for. */
function oldest<T>(a: Entry<T>, b: Entry<T>): Entry<T> {
  return newest(a, b) === a ? b : a;
}

// In every other list the newer entry replaces the older one. Only lists that are never cut may merge parts of entries:
// if an entry was cut and came back in part, the result would depend on the order of joins.
const merges: Keyed<unknown> = { ledger: mergedBy(mergeRows), goals: oldest };

/** Keeps the newest or the oldest entries. By stamp alone: cutting by a value that can shrink is not associative. */
function cut<T>(list: List<T>, bound: number, keeps: 'newest' | 'oldest'): List<T> {
  const entries = Object.entries(list);
  if (entries.length <= bound) return list;
  entries.sort(([x, a], [y, b]) => compareStamps(b.stamp, a.stamp) || (x < y ? 1 : -1));
  return Object.fromEntries(keeps === 'newest' ? entries.slice(0, bound) : entries.slice(-bound));
}

/**
 * Joins two states: per key the newer entry, then the newest entries of each list (of the goals, the oldest).
 * Commutative, associative and idempotent. Lists of a later orch are kept.
 */
export function join(a: State, b: PartialState, limits: Limits = bounds): State {
  // A map, because an object would drop a list named `__proto__`.
  const joined = new Map<string, unknown>(Object.entries(a));
  joined.set('clock', Math.max(a.clock, b.clock));
  for (const [name, theirs] of Object.entries(b)) {
    if (name === 'clock') continue;
    // All entries of a list have one type, which only its name tells.
    const mine = (joined.get(name) ?? {}) as List<unknown>;
    const merge = (lookUp(merges, name) ?? newest) as Merge<unknown>;
    const bound = lookUp<number>(limits, name) ?? foreignBound;
    const keeps = name === 'goals' ? 'oldest' : 'newest';
    joined.set(name, cut(mergeKeyed(mine, theirs as List<unknown>, merge), bound, keeps));
  }
  return Object.fromEntries(joined) as State; // the lists of both, under their names
}
