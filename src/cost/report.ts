import { add } from 'date-fns/add';
import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import { startOfDay } from 'date-fns/startOfDay';
import { OrchError } from '../errors.ts';
import type { Micros, Millis } from '../types.ts';
import { type Ledger, listReadings, noUsage, subtractUsage, type Usage } from './ledger.ts';
import { moneyOf, sumByModel } from './money.ts';

/** A checkpoint, as its commit message describes it. */
export type Point = {
  /** Its commit and its parents; the first parent is the history it continues. */
  readonly commit: string;
  readonly parents: readonly string[];
  readonly at: Millis;
  readonly sessionId: string;
  readonly sessionNumber: number;
  /** Everything the epic had cost by then. */
  readonly micros: Micros;
};

export type DayRow = { readonly day: string; readonly micros: Micros };
export type SessionRow = {
  readonly sessionId: string;
  /** Null for spending that cannot be attributed. */
  readonly sessionNumber: number | null;
  readonly micros: Micros;
};
export type ModelRow = { readonly model: string; readonly micros: Micros; readonly usage: Usage };

/** Where the money went. Each list adds up to the total. */
export type CostReport = {
  readonly total: Micros;
  /** In the order of days. */
  readonly byDay: readonly DayRow[];
  /** In the order in which they started to spend. */
  readonly bySession: readonly SessionRow[];
  /** The most expensive first. */
  readonly byModel: readonly ModelRow[];
};

type ReportInput = {
  /** All reachable checkpoints, in any order. */
  readonly points: readonly Point[];
  /** The epic's current ledger. */
  readonly ledger: Ledger;
  /** Only what was spent from then on. */
  readonly since: Millis | null;
  /** The ledger of the newest checkpoint before `since`; empty if there is none. */
  readonly before: Ledger;
  /** The calendar day of a time in the reader's time zone, such as `2026-11-16`. */
  readonly dayOf: (at: Millis) => string;
};

/** Spending without a known day, session or model: beyond a shallow clone, or not in a checkpoint yet. */
export const other = 'other';

/** Reports where the money went: by day, by session, by model. */
export function makeReport({ points, ledger, since, before, dayOf }: ReportInput): CostReport {
  const models = subtractModels(
    sumByModel(listReadings(ledger)),
    since === null ? new Map() : sumByModel(listReadings(before)),
  );
  const total = sum([...models].map(([model, usage]) => moneyOf(model, usage)));
  const spent = attributeSpending(points, total, since ?? Number.NEGATIVE_INFINITY);
  const days = sumBy(spent, ({ point }) => dayOf(point.at));
  const sessions = sumBy(spent, ({ point }) => point.sessionId);
  const numbers = new Map(points.map(({ sessionId, sessionNumber }) => [sessionId, sessionNumber]));
  return {
    total,
    byDay: withOther(days, total).map(([day, micros]) => ({ day, micros })),
    bySession: withOther(sessions, total).map(([sessionId, micros]) => ({
      sessionId,
      sessionNumber: numbers.get(sessionId) ?? null,
      micros,
    })),
    byModel: [...models]
      .map(([model, usage]) => ({ model, micros: moneyOf(model, usage), usage }))
      .sort((a, b) => b.micros - a.micros || (a.model < b.model ? -1 : 1)),
  };
}

type Spent = { readonly point: Point; readonly micros: Micros };

/**
 * What was spent for each checkpoint, oldest first: how much its cost exceeds that of its parents. A merge spends
 * nothing, it adds up both sides; without a readable parent nothing is known. Copies of a clone may have counted the
 * same money, so the sum never exceeds the total.
 */
function attributeSpending(points: readonly Point[], total: Micros, since: Millis): Spent[] {
  const costs = new Map(points.map(({ commit, micros }) => [commit, micros]));
  let left = total;
  return points
    .filter(({ at }) => at >= since)
    .sort((a, b) => a.at - b.at || a.micros - b.micros)
    .map((point) => {
      const micros = Math.min(left, incrementOf(point, costs));
      left -= micros;
      return { point, micros };
    })
    .filter(({ micros }) => micros > 0);
}

function incrementOf({ parents, micros }: Point, costs: ReadonlyMap<string, Micros>): Micros {
  let known = 0;
  for (const parent of parents) {
    const cost = costs.get(parent);
    if (cost === undefined) return 0;
    known += cost;
  }
  return Math.max(0, micros - known);
}

function sumBy(spent: readonly Spent[], keyOf: (spent: Spent) => string): Map<string, Micros> {
  const sums = new Map<string, Micros>();
  for (const one of spent) sums.set(keyOf(one), (sums.get(keyOf(one)) ?? 0) + one.micros);
  return sums;
}

function withOther(sums: ReadonlyMap<string, Micros>, total: Micros): [key: string, micros: Micros][] {
  const rest = total - sum([...sums.values()]);
  return rest > 0 ? [...sums, [other, rest]] : [...sums];
}

function sum(amounts: readonly Micros[]): Micros {
  return amounts.reduce((total, amount) => total + amount, 0);
}

/** How much each model's meters grew. Sums by model survive the compaction of sessions. */
function subtractModels(
  now: ReadonlyMap<string, Usage>,
  before: ReadonlyMap<string, Usage>,
): Map<string, Usage> {
  const grown = new Map<string, Usage>();
  for (const [model, usage] of now) {
    const more = subtractUsage(usage, before.get(model) ?? noUsage);
    if (Object.values(more).some((amount) => (amount ?? 0) > 0)) grown.set(model, more);
  }
  return grown;
}

const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const units: Record<string, string> = { s: 'seconds', m: 'minutes', h: 'hours', d: 'days', w: 'weeks' };

/**
 * Reads `--since`: `2h` or `3d` back from now, the start of `today`, `yesterday`, the last `fri` (today counts) or
 * `2026-11-16`, or a time in ISO 8601. Days start in the reader's time zone.
 */
export function parseSince(text: string, now: Millis): Millis {
  const at = readSince(text.trim().toLowerCase(), now);
  if (at !== null && at <= now) return at;
  const why = at === null ? 'is not a time' : 'is in the future';
  throw new OrchError('USAGE', `${JSON.stringify(text.slice(0, 80))} ${why}`, {
    hint: 'Use 2h, 3d, today, yesterday, fri, 2026-11-16 or 2026-11-16T14:30',
  });
}

function readSince(text: string, now: Millis): Millis | null {
  const back = /^(\d{1,6})\s*([smhdw])(?:\s+ago)?$/.exec(text);
  const unit = units[back?.[2] ?? ''];
  if (back && unit) return add(now, { [unit]: -Number(back[1]) }).getTime();
  const days = daysBack(text, now);
  if (days !== null) return startOfDay(add(now, { days: -days })).getTime();
  if (!/^\d{4}-\d\d-\d\d([t ]\d\d:\d\d(:\d\d(\.\d+)?)?(z|[+-]\d\d:?\d\d)?)?$/.test(text)) return null;
  const date = parseISO(text.toUpperCase().replace(' ', 'T'));
  return isValid(date) ? date.getTime() : null;
}

/** How many days ago a named day was. */
function daysBack(text: string, now: Millis): number | null {
  if (text === 'today') return 0;
  if (text === 'yesterday') return 1;
  const weekday = text.length < 3 ? -1 : weekdays.findIndex((name) => name.startsWith(text));
  return weekday < 0 ? null : (new Date(now).getDay() - weekday + 7) % 7;
}
