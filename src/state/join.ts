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

/** Earlier or later; by writer and place where the times are equal. */
export function compareStamps(a: Stamp, b: Stamp): number {
  return a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0) || a[2] - b[2];
}

type Merge<T> = (a: Entry<T>, b: Entry<T>) => Entry<T>;

/** Of two words under one key the one that counts. Entries are compared whole: they may have fields of a later orch. */
export function newest<T>(a: Entry<T>, b: Entry<T>): Entry<T> {
  return (compareStamps(a.stamp, b.stamp) || compareJson(a, b)) >= 0 ? a : b;
}

function mergedBy<T>(merge: (a: T, b: T) => T): Merge<T> {
  return (a, b) => ({
    value: merge(a.value, b.value),
    stamp: compareStamps(a.stamp, b.stamp) >= 0 ? a.stamp : b.stamp,
  });
}

/** The first word stays: what something was for does not change because of what came after. */
function oldest<T>(a: Entry<T>, b: Entry<T>): Entry<T> {
  return newest(a, b) === a ? b : a;
}

// In every other list the newer entry replaces the older. Only a list that is never cut may be merged by parts:
// an entry that was cut and comes back in part would depend on the order of joining.
const merges: Keyed<unknown> = { ledger: mergedBy(mergeRows), goals: oldest };

/** The newest entries, or the oldest. By stamp alone: cutting by anything that can shrink again would not be associative. */
function cut<T>(list: List<T>, bound: number, keeps: 'newest' | 'oldest'): List<T> {
  const entries = Object.entries(list);
  if (entries.length <= bound) return list;
  entries.sort(([x, a], [y, b]) => compareStamps(b.stamp, a.stamp) || (x < y ? 1 : -1));
  return Object.fromEntries(keeps === 'newest' ? entries.slice(0, bound) : entries.slice(-bound));
}

/**
 * Everything both know: per key the newer word, then each list's newest entries (of the goals the oldest).
 * Commutative, associative and idempotent. Lists of a later version of orch are carried along.
 */
export function join(a: State, b: PartialState, limits: Limits = bounds): State {
  // A map, because any name will do: under `__proto__` an object would not keep it.
  const joined = new Map<string, unknown>(Object.entries(a));
  joined.set('clock', Math.max(a.clock, b.clock));
  for (const [name, theirs] of Object.entries(b)) {
    if (name === 'clock') continue;
    // The entries of one list are all of one type; which one is known only by its name.
    const mine = (joined.get(name) ?? {}) as List<unknown>;
    const merge = (lookUp(merges, name) ?? newest) as Merge<unknown>;
    const bound = lookUp<number>(limits, name) ?? foreignBound;
    const keeps = name === 'goals' ? 'oldest' : 'newest';
    joined.set(name, cut(mergeKeyed(mine, theirs as List<unknown>, merge), bound, keeps));
  }
  return Object.fromEntries(joined) as State; // the lists of both, under their names
}
