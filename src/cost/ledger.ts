import type { infer as Infer } from 'zod/mini';
import { type Keyed, lookUp, mergeKeyed } from '../keyed.ts';
import type { SessionId } from '../types.ts';
import { maxCount, maxMicros } from '../units.ts';
import type { ledgerRow, usage } from './ledger-shape.ts';

/** What was used so far: a meter reading. Readings only grow. */
export type Usage = Infer<typeof usage>;

/**
 * What one writer has folded and counted. Only that writer adds to it, and each part only grows, so two copies of a row
 * can be merged part by part without hiding anything.
 */
export type LedgerRow = Infer<typeof ledgerRow>;

/** By writer. */
export type Ledger = Keyed<{ readonly value: LedgerRow }>;

export const noUsage: Usage = { micros: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, unpriced: 0 };
export const emptyRow: LedgerRow = { generation: 0, folded: {}, meters: {} };

/** The model name for costs that were recorded by hand without one. */
export const byHand = 'by-hand';
/** The session name for meters that were compacted. */
const earlier = 'earlier';

export function meterName(session: SessionId, model: string): string {
  return `${session}/${model}`;
}

/** `sess-7hq2m4/claude-sonnet-4-5` → its session and its model. */
function splitMeterName(name: string): { session: string; model: string } {
  const slash = name.indexOf('/');
  return { session: name.slice(0, slash), model: name.slice(slash + 1) };
}

function combineUsage(a: Usage, b: Usage, combine: (x: number, y: number) => number): Usage {
  const rare = rareParts.flatMap((part) => {
    const value = combine(a[part] ?? 0, b[part] ?? 0);
    return value > 0 ? [[part, value] as const] : [];
  });
  return {
    micros: combine(a.micros, b.micros),
    input: combine(a.input, b.input),
    output: combine(a.output, b.output),
    cacheRead: combine(a.cacheRead, b.cacheRead),
    cacheWrite: combine(a.cacheWrite, b.cacheWrite),
    unpriced: combine(a.unpriced, b.unpriced),
    ...Object.fromEntries(rare),
  };
}

/** Missing if 0, as in the documents from before they were kept. */
const rareParts = ['estimated', 'guessed', 'settled', 'corrected'] as const;

export function addUsage(a: Usage, b: Usage): Usage {
  return combineUsage(a, b, (x, y) => Math.min(x + y, maxCount));
}

/** How much a meter grew between two readings. */
export function subtractUsage(later: Usage, earlier: Usage): Usage {
  return combineUsage(later, earlier, (x, y) => Math.max(0, x - y));
}

/**
 * Merges two copies of a row: the higher generation, or part by part the larger. Totals always take the larger, so that
 * no generation, honest or forged, lowers what was spent. Commutative, associative, idempotent.
 */
export function mergeRows(a: LedgerRow, b: LedgerRow): LedgerRow {
  const total = a.total && b.total ? largerUsage(a.total, b.total) : (a.total ?? b.total);
  const newer = a.generation >= b.generation ? a : b;
  const isSame = a.generation === b.generation;
  return {
    generation: newer.generation,
    folded: isSame ? mergeKeyed(a.folded, b.folded, Math.max) : newer.folded,
    meters: isSame ? mergeKeyed(a.meters, b.meters, largerUsage) : newer.meters,
    ...(total && { total }),
  };
}

function largerUsage(a: Usage, b: Usage): Usage {
  return combineUsage(a, b, Math.max);
}

function sumMeters(row: LedgerRow): Usage {
  return Object.values(row.meters).reduce(addUsage, noUsage);
}

/** What a writer has used: the sum of its meters, and never less than a checkpoint once recorded. */
export function usedBy(row: LedgerRow): Usage {
  return row.total ? largerUsage(certainOf(row.total), sumMeters(row)) : sumMeters(row);
}

/** Without guesses and reductions: keeping those as a minimum would keep a guess, or a forged correction, alive. */
function certainOf({ guessed: _, settled: __, corrected: ___, ...certain }: Usage): Usage {
  return certain;
}

/** Stores each writer's usage so far in its row; from then on it cannot fall. */
export function withTotals<E extends { readonly value: LedgerRow }>(ledger: Keyed<E>): Keyed<E> {
  const entries = Object.entries(ledger).map(([writer, entry]) => {
    const value = { ...entry.value, total: certainOf(usedBy(entry.value)) };
    return [writer, { ...entry, value }] as const;
  });
  return Object.fromEntries(entries);
}

export type Reading = { readonly session: string; readonly model: string; readonly usage: Usage };

/** Every meter of every writer, plus what a total holds beyond them. */
export function listReadings(ledger: Ledger): Reading[] {
  return Object.values(ledger).flatMap(({ value }) => {
    const readings = Object.entries(value.meters).map(([name, usage]) => ({
      ...splitMeterName(name),
      usage,
    }));
    const rest = subtractUsage(usedBy(value), sumMeters(value));
    return exceeds(rest, noUsage)
      ? [...readings, { session: earlier, model: byHand, usage: rest }]
      : readings;
  });
}

/**
 * Does a row from elsewhere hold anything that this clone, its only writer, never wrote? Then this clone was restored
 * from an older copy, or the row is forged.
 */
export function isAhead(theirs: LedgerRow, ours: LedgerRow): boolean {
  if (theirs.generation > ours.generation || exceeds(usedBy(theirs), usedBy(ours))) return true;
  if (theirs.generation < ours.generation) return false;
  return (
    Object.entries(theirs.folded).some(([session, mark]) => mark > (lookUp(ours.folded, session) ?? 0)) ||
    Object.entries(theirs.meters).some(([name, usage]) =>
      exceeds(usage, lookUp(ours.meters, name) ?? noUsage),
    )
  );
}

/** Is any part of one reading larger than in the other? */
export function exceeds(a: Usage, b: Usage): boolean {
  return Object.values(subtractUsage(a, b)).some((amount = 0) => amount > 0);
}

/**
 * The row of a clone that was restored from a backup: what it has counted since `base`, plus what it had counted since
 * `base` before the restore. Its marks stay its own, because they refer to the journals that are here.
 */
export function reconcileRow(base: LedgerRow, ours: LedgerRow, theirs: LedgerRow): LedgerRow {
  const isSame = base.generation === ours.generation && ours.generation === theirs.generation;
  const sumUp = (row: LedgerRow) => {
    const sums = new Map<string, Usage>();
    for (const { session, model, usage } of listReadings({ row: { value: row } })) {
      const name = `${isSame ? session : earlier}/${model}`;
      sums.set(name, addUsage(sums.get(name) ?? noUsage, usage));
    }
    return sums;
  };
  const before = sumUp(base);
  const meters = new Map(Object.entries(ours.meters));
  let total = usedBy(ours);
  for (const [name, usage] of sumUp(theirs)) {
    // Only this clone may lower its own costs.
    const { settled: _, corrected: __, ...more } = subtractUsage(usage, before.get(name) ?? noUsage);
    if (!exceeds(more, noUsage)) continue;
    meters.set(name, addUsage(meters.get(name) ?? noUsage, more));
    total = addUsage(total, more);
  }
  return {
    generation: nextGeneration(Math.max(ours.generation, theirs.generation)),
    folded: ours.folded,
    meters: Object.fromEntries(meters),
    total: largerUsage(total, usedBy(theirs)),
  };
}

/** How often a row can be compacted: far more than any clone does, far less than a number holds. */
export const maxGeneration = 1_000_000_000;

function nextGeneration(generation: number): number {
  return Math.min(generation + 1, maxGeneration);
}

/** Sums up ended sessions, so that a row stays small however many there were. */
export function compactRow(row: LedgerRow, isOver: (session: string) => boolean): LedgerRow {
  const folded = Object.fromEntries(Object.entries(row.folded).filter(([session]) => !isOver(session)));
  const meters: { [meter: string]: Usage } = {};
  for (const [name, usage] of Object.entries(row.meters)) {
    const { session, model } = splitMeterName(name);
    const target = session === earlier || isOver(session) ? `${earlier}/${model}` : name;
    meters[target] = addUsage(meters[target] ?? noUsage, usage);
  }
  return { ...row, generation: nextGeneration(row.generation), folded, meters };
}

/** Is the row long enough to compact? A hundred entries take a few kilobytes. */
export const isLongRow = (row: LedgerRow): boolean =>
  Object.keys(row.folded).length + Object.keys(row.meters).length > 100;

/** Everything the epic has used, over all writers and sessions. Money is capped at what a trailer can hold. */
export function totalUsage(ledger: Ledger, matches: (meter: string) => boolean = () => true): Usage {
  let total = noUsage;
  for (const { session, model, usage } of listReadings(ledger))
    if (matches(`${session}/${model}`)) total = addUsage(total, usage);
  // A checkpoint whose message could not hold its cost would never be found again.
  return { ...total, micros: Math.min(total.micros, maxMicros) };
}
