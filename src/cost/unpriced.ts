import type { Micros } from '../types.ts';
import { type Ledger, listReadings } from './ledger.ts';
import { guessOf, sumByModel } from './money.ts';
import { findPrice, type Prices } from './pricing.ts';

/** A model that was used and that has no price, and what is counted for it. */
export type UnpricedModel = { readonly model: string; readonly tokens: number; readonly guess: Micros };

/**
 * The models whose cost is a guess: neither orch, nor the user, nor the agent itself gave a figure. One that has a
 * price by now is none of them: its tokens are priced when they are read next.
 */
export function listUnpriced(ledger: Ledger, prices: Prices): UnpricedModel[] {
  return [...sumByModel(listReadings(ledger))]
    .filter(([model, usage]) => guessOf(usage) > 0 && findPrice(model, prices) === null)
    .map(([model, usage]) => ({ model, tokens: usage.unpriced, guess: guessOf(usage) }))
    .sort((a, b) => (a.model < b.model ? -1 : 1));
}

/** `claude-opus-6, mine`: the models that are guessed only since then. */
export function nameFresh(before: Ledger, after: Ledger, prices: Prices): string | null {
  const known = listUnpriced(before, prices).map(({ model }) => model);
  const fresh = listUnpriced(after, prices).flatMap(({ model }) => (known.includes(model) ? [] : model));
  return fresh.length === 0 ? null : fresh.join(', ');
}

/** What is counted where no price is known, for people. */
export function explainGuess(models: string): string {
  return `no price is known for ${models}. It counts at the highest price of its family, marked ~, until its agent gives a figure. To set a price: prices in .orchestration/config.yaml`;
}
