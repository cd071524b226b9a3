import type { infer as Infer } from 'zod/mini';
import { type Keyed, mergeKeyed } from '../keyed.ts';
import type { SessionId } from '../types.ts';
import { maxMicros } from '../units.ts';
import type { ledgerRow, usage } from './shape.ts';

/** What was used up so far: a meter reading. Readings only grow. */
export type Usage = Infer<typeof usage>;

/**
 * What one writer has folded and counted. Only that writer adds to it, and each part only grows,
 * so two copies of a row are merged part by part, and neither can hide the other.
 */
export type LedgerRow = Infer<typeof ledgerRow>;

/** By writer. */
export type Ledger = Keyed<{ readonly value: LedgerRow }>;

export const noUsage: Usage = { micros: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, unpriced: 0 };
export const emptyRow: LedgerRow = { generation: 0, folded: {}, meters: {} };

/** Where costs go that were recorded by hand, without a model. */
export const byHand = 'by-hand';
/** Stands for the sessions whose meters were summed up. */
const earlier = 'earlier';

export function meterName(session: SessionId, model: string): string {
  return `${session}/${model}`;
}

/** `sess-7hq2m4/claude-sonnet-4-5` → its session and its model. */
export function splitMeterName(name: string): { session: string; model: string } {
  const slash = name.indexOf('/');
  return { session: name.slice(0, slash), model: name.slice(slash + 1) };
}

function combineUsage(a: Usage, b: Usage, combine: (x: number, y: number) => number): Usage {
  const estimated = combine(a.estimated ?? 0, b.estimated ?? 0);
  return {
    micros: combine(a.micros, b.micros),
    input: combine(a.input, b.input),
    output: combine(a.output, b.output),
    cacheRead: combine(a.cacheRead, b.cacheRead),
    cacheWrite: combine(a.cacheWrite, b.cacheWrite),
    unpriced: combine(a.unpriced, b.unpriced),
    // Left out where there is none, as in the documents from before it was kept.
    ...(estimated > 0 ? { estimated } : {}),
  };
}

export function addUsage(a: Usage, b: Usage): Usage {
  return combineUsage(a, b, (x, y) => x + y);
}

/** What a meter went on by between two readings. */
export function subtractUsage(later: Usage, earlier: Usage): Usage {
  return combineUsage(later, earlier, (x, y) => Math.max(0, x - y));
}

/** The later generation, or part by part the larger. Commutative, associative, idempotent. */
export function mergeRows(a: LedgerRow, b: LedgerRow): LedgerRow {
  if (a.generation !== b.generation) return a.generation > b.generation ? a : b;
  return {
    generation: a.generation,
    folded: mergeKeyed(a.folded, b.folded, Math.max),
    meters: mergeKeyed(a.meters, b.meters, (x, y) => combineUsage(x, y, Math.max)),
  };
}

/** Sums up the sessions that are over, so that a row stays small however many there were. */
export function compactRow(row: LedgerRow, isOver: (session: string) => boolean): LedgerRow {
  const folded = Object.fromEntries(Object.entries(row.folded).filter(([session]) => !isOver(session)));
  const meters: { [meter: string]: Usage } = {};
  for (const [name, usage] of Object.entries(row.meters)) {
    const { session, model } = splitMeterName(name);
    const target = session === earlier || isOver(session) ? `${earlier}/${model}` : name;
    meters[target] = addUsage(meters[target] ?? noUsage, usage);
  }
  return { generation: row.generation + 1, folded, meters };
}

/** Entries past which a row is worth summing up: a few kilobytes. */
export const rowIsLong = (row: LedgerRow): boolean =>
  Object.keys(row.folded).length + Object.keys(row.meters).length > 100;

/** Everything the epic has used, over all writers and sessions. More money than a trailer can hold reads as the most. */
export function totalUsage(ledger: Ledger, matches: (meter: string) => boolean = () => true): Usage {
  let total = noUsage;
  for (const { value } of Object.values(ledger)) {
    for (const [name, usage] of Object.entries(value.meters))
      if (matches(name)) total = addUsage(total, usage);
  }
  // A checkpoint whose cost its own message cannot say would not be found again.
  return { ...total, micros: Math.min(total.micros, maxMicros) };
}
