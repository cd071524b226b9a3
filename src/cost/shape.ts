import * as z from 'zod/mini';
import { isSessionId } from '../ids.ts';
import { maxCount } from '../units.ts';
import { maxGeneration } from './ledger.ts';

/** How much or how many of something; whatever says less than nothing is wrong, or made up. */
export const amount = z.int().check(z.nonnegative(), z.maximum(maxCount));

export const usage = z.object({
  micros: amount,
  input: amount,
  output: amount,
  cacheRead: amount,
  cacheWrite: amount,
  /** Tokens of models without a price. */
  unpriced: amount,
  /** The part of `micros` that is the agent's own figure; left out where there is none. */
  estimated: z.optional(amount),
  /** Money that was ever guessed for tokens without a price, beside `micros`; left out where there is none. */
  guessed: z.optional(amount),
  /** The part of `guessed` that was replaced since, by a price or by the agent's own figure. */
  settled: z.optional(amount),
  /** The part of `micros` that was recorded by hand and taken back since. */
  corrected: z.optional(amount),
});

/** The shape of a row; what it means stands at its type. */
export const ledgerRow = z.object({
  /** Grows when the writer sums up its ended sessions; the higher one replaces the lower. */
  generation: z.int().check(z.nonnegative(), z.maximum(maxGeneration)),
  /** Session → how many bytes of its journal are in the totals. */
  folded: z.record(z.string().check(z.refine(isSessionId)), amount),
  /** `<session>/<model>` → what its meter reads. */
  meters: z.record(z.string(), usage),
  /** All that the writer had used when a checkpoint was last made; it only grows. Missing in documents from before. */
  total: z.optional(usage),
});
