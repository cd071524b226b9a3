import type { Micros } from '../types.ts';
import { maxMicros } from '../units.ts';
import {
  addUsage,
  byHand,
  type Ledger,
  type LedgerRow,
  listReadings,
  noUsage,
  type Reading,
  type Usage,
} from './ledger.ts';

/**
 * What is guessed now: it may fall, and what is kept may not. So two parts are kept that only grow, all that was ever
 * guessed and what of it was replaced, and their difference counts.
 */
export function guessOf({ guessed = 0, settled = 0 }: Usage): Micros {
  return Math.max(0, guessed - settled);
}

/** What of a reading is not tokens at a known price: the agent's own figure, and what is guessed. */
export function estimateOf(usage: Usage): Micros {
  return (usage.estimated ?? 0) + guessOf(usage);
}

/** The same reading with only the guess that is open now. */
export function withOpenGuess({ guessed: _, settled: __, ...usage }: Usage, guess: Micros): Usage {
  return guess > 0 ? { ...usage, guessed: guess } : usage;
}

/** A reading whose guess is the open one, as the next one after `recorded`: both parts only grow from there. */
export function followReading(recorded: Usage | undefined, usage: Usage): Usage {
  const open = guessOf(usage);
  const { guessed = 0, settled = 0 } = recorded ?? noUsage;
  const all = Math.max(guessed, settled + open);
  const read = withOpenGuess(usage, all);
  return all > open ? { ...read, settled: all - open } : read;
}

/** What a model comes to: what is certain, less what was taken back, and what is guessed for the rest. */
export function moneyOf(model: string, usage: Usage): Micros {
  const { micros, corrected = 0 } = usage;
  // Only what was recorded by hand can be taken back, whatever a document from elsewhere says.
  return micros - (model === byHand ? Math.min(micros, corrected) : 0) + guessOf(usage);
}

/** Usage by model. A guess, and what was recorded by hand, may be corrected by a later session than it is of. */
export function sumByModel(readings: readonly Reading[]): Map<string, Usage> {
  const sums = new Map<string, Usage>();
  for (const { model, usage } of readings) sums.set(model, addUsage(sums.get(model) ?? noUsage, usage));
  return sums;
}

/** All that the epic has spent, guesses included: what a budget counts. No writer's corrections lower another's. */
export function spentIn(ledger: Ledger): Micros {
  let spent = 0;
  for (const [writer, entry] of Object.entries(ledger))
    for (const [model, usage] of sumByModel(listReadings({ [writer]: entry })))
      spent += moneyOf(model, usage);
  return Math.min(spent, maxMicros);
}

/** What a session has spent, less what it corrected of others before. */
export function spentBy(ledger: Ledger, session: string): Micros {
  let spent = 0;
  for (const { session: of, model, usage } of listReadings(ledger)) {
    const { micros, guessed = 0, settled = 0, corrected = 0 } = usage;
    if (of === session) spent += micros + guessed - settled - (model === byHand ? corrected : 0);
  }
  return Math.min(Math.max(0, spent), maxMicros);
}

/** How much of what a writer recorded by hand can still be taken back. */
export function correctableIn(row: LedgerRow): Micros {
  const { micros, corrected = 0 } = sumByModel(listReadings({ row: { value: row } })).get(byHand) ?? noUsage;
  return Math.max(0, micros - corrected);
}
