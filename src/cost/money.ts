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
 * The open guess. It may fall, but stored parts may only grow, so two parts are stored, everything ever guessed and what
 * of that was replaced, and the difference counts.
 */
export function guessOf({ guessed = 0, settled = 0 }: Usage): Micros {
  return Math.max(0, guessed - settled);
}

/** The part of a reading that is not tokens at a known price: the agent's own figure, and guesses. */
export function estimateOf(usage: Usage): Micros {
  return (usage.estimated ?? 0) + guessOf(usage);
}

/** The same reading with only the open guess. */
export function withOpenGuess({ guessed: _, settled: __, ...usage }: Usage, guess: Micros): Usage {
  return guess > 0 ? { ...usage, guessed: guess } : usage;
}

/** Turns a reading with an open guess into the next one after `recorded`: both stored parts only grow. */
export function followReading(recorded: Usage | undefined, usage: Usage): Usage {
  const open = guessOf(usage);
  const { guessed = 0, settled = 0 } = recorded ?? noUsage;
  const all = Math.max(guessed, settled + open);
  const read = withOpenGuess(usage, all);
  return all > open ? { ...read, settled: all - open } : read;
}

/** What a model has cost: recorded money, minus what was taken back, plus the open guess. */
export function moneyOf(model: string, usage: Usage): Micros {
  const { micros, corrected = 0 } = usage;
  // Only what was recorded by hand can be taken back, whatever a document from elsewhere claims.
  return micros - (model === byHand ? Math.min(micros, corrected) : 0) + guessOf(usage);
}

/** Sums usage by model. A later session may correct the guesses and hand-recorded costs of an earlier one. */
export function sumByModel(readings: readonly Reading[]): Map<string, Usage> {
  const sums = new Map<string, Usage>();
  for (const { model: name, usage } of readings) {
    const model = modelOf(name);
    sums.set(model, addUsage(sums.get(model) ?? noUsage, usage));
  }
  return sums;
}

/**
 * A session that pays for others has their meters under their names: `sess-7hq2m4/claude-opus-5`, and for a convoy's task
 * `task:auth--login/claude-opus-5`.
 */
function modelOf(name: string): string {
  return name.replace(/^(?:(?:sess-[a-z0-9]+|task:[^/]+)\/)+/, '');
}

/** What a session itself used, by model: not what others used that it pays for. */
export function readOwnUsage(ledger: Ledger, session: string): Map<string, Usage> {
  return sumByModel(
    listReadings(ledger).filter(
      (reading) => reading.session === session && modelOf(reading.model) === reading.model,
    ),
  );
}

/** What the epic has spent, guesses included; budgets compare with this. A writer's corrections lower only its own. */
export function spentIn(ledger: Ledger): Micros {
  let spent = 0;
  for (const [writer, entry] of Object.entries(ledger))
    for (const [model, usage] of sumByModel(listReadings({ [writer]: entry })))
      spent += moneyOf(model, usage);
  return Math.min(spent, maxMicros);
}

/** What a session has spent, minus its corrections of earlier sessions. */
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
