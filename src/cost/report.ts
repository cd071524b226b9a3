import type { Micros, Millis } from '../types.ts';
import { type Ledger, listReadings, noUsage, subtractUsage, type Usage } from './ledger.ts';
import { moneyOf, sumByModel } from './money.ts';

/** A checkpoint as its commit's message tells of it. */
export type Point = {
  /** Its commit, and the commits it stands on; the first one is the history it goes on with. */
  readonly commit: string;
  readonly parents: readonly string[];
  readonly at: Millis;
  readonly sessionId: string;
  readonly sessionNumber: number;
  /** All that the epic had cost by then. */
  readonly micros: Micros;
};

export type DayRow = { readonly day: string; readonly micros: Micros };
export type SessionRow = {
  readonly sessionId: string;
  /** Null for what cannot be told apart. */
  readonly sessionNumber: number | null;
  readonly micros: Micros;
};
export type ModelRow = { readonly model: string; readonly micros: Micros; readonly usage: Usage };

/** Where the money went. Each list sums up to the total. */
export type CostReport = {
  readonly total: Micros;
  /** In the order of the days. */
  readonly byDay: readonly DayRow[];
  /** In the order they began to spend. */
  readonly bySession: readonly SessionRow[];
  /** The dearest first. */
  readonly byModel: readonly ModelRow[];
};

export type ReportInput = {
  /** All checkpoints that can be reached, in any order. */
  readonly points: readonly Point[];
  /** The epic's ledger now. */
  readonly ledger: Ledger;
  /** Only what was spent from then on. */
  readonly since: Millis | null;
  /** The ledger of the newest checkpoint before `since`; empty where there is none. */
  readonly before: Ledger;
  /** The calendar day of a moment, such as `2026-11-16`, where the reader is. */
  readonly dayOf: (at: Millis) => string;
};

/** What no day, session or model can be named for: the other side of a shallow clone, costs not yet in a checkpoint. */
export const other = 'other';

/** Tells where the money went: by day, by session, by model. */
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
 * What was spent for each checkpoint, oldest first: by how much it had cost more than the one it goes on from.
 * A merge spends nothing itself, it adds up what both sides did; and one whose parent is out of reach tells nothing.
 * Copies of a clone may have counted the same money, so that no more than the total is ever given out.
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

/** What each model's meters went on by. Sums by model outlive the summing up of sessions. */
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
