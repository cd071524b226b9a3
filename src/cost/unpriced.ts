import { type Ledger, listReadings } from './ledger.ts';
import { findPrice, type Prices } from './pricing.ts';

/** A model that was used and that nobody knows the price of. */
export type UnpricedModel = { readonly model: string; readonly tokens: number };

/**
 * The models whose cost is not in the sums: neither orch, nor the user, nor the agent itself gave a figure. One that
 * has a price by now is none of them: its tokens are priced when they are read next.
 */
export function listUnpriced(ledger: Ledger, prices: Prices): UnpricedModel[] {
  const sums = new Map<string, number>();
  for (const { model, usage } of listReadings(ledger)) {
    if (usage.unpriced > 0 && findPrice(model, prices) === null)
      sums.set(model, (sums.get(model) ?? 0) + usage.unpriced);
  }
  return [...sums].map(([model, tokens]) => ({ model, tokens })).sort((a, b) => (a.model < b.model ? -1 : 1));
}
