import * as z from 'zod/mini';
import { isSessionId } from '../ids.ts';
import { maxCount } from '../units.ts';
import { maxGeneration } from './ledger.ts';

/** A count or an amount; a negative one is wrong or forged. */
export const amount = z.int().check(z.nonnegative(), z.maximum(maxCount));

export const usage = z.object({
  micros: amount,
  input: amount,
  output: amount,
  cacheRead: amount,
  cacheWrite: amount,
  /** Tokens of models without a price. */
  unpriced: amount,
  /** The part of `micros` that is the agent's own figure; missing if 0. */
  estimated: z.optional(amount),
  /** Everything ever guessed for tokens without a price, not part of `micros`; missing if 0. */
  guessed: z.optional(amount),
  /** The part of `guessed` that a price or the agent's own figure has replaced. */
  settled: z.optional(amount),
  /** The part of `micros` that was recorded by hand and later taken back. */
  corrected: z.optional(amount),
});

/** The shape of a ledger row; its type explains it. */
export const ledgerRow = z.object({
  /** Increases when the writer compacts its ended sessions; the higher one replaces the lower. */
  generation: z.int().check(z.nonnegative(), z.maximum(maxGeneration)),
  /** Journal → how many of its bytes are in the totals. */
  folded: z.record(z.string().check(z.refine(isSessionId)), amount),
  /** `<session>/<model>` → what its meter reads. */
  meters: z.record(z.string(), usage),
  /** Everything the writer had used at the last checkpoint; only grows. Missing in early documents. */
  total: z.optional(usage),
});
