import * as z from 'zod/mini';

export const usage = z.object({
  micros: z.number(),
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  /** Tokens of models without a price. */
  unpriced: z.number(),
  /** The part of `micros` that is the agent's own figure; left out where there is none. */
  estimated: z.optional(z.number()),
});

/** The shape of a row; what it means stands at its type. */
export const ledgerRow = z.object({
  /** Grows when the writer sums up its ended sessions; the higher one replaces the lower. */
  generation: z.number(),
  /** Session → how many bytes of its journal are in the totals. */
  folded: z.record(z.string(), z.number()),
  /** `<session>/<model>` → what its meter reads. */
  meters: z.record(z.string(), usage),
});
