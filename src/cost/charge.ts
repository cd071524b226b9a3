import type { EpicId, SessionId } from '../types.ts';
import { type Ledger, listReadings, noUsage, subtractUsage, type Usage } from './ledger.ts';
import { sumByModel } from './money.ts';

/** A meter of the session that pays. */
export type Charge = { readonly model: string; readonly usage: Usage };

/** What a session has used. */
export function chargeSession(session: SessionId, used: Ledger): Charge[] {
  const meters = Object.values(used).flatMap(({ value }) => Object.entries(value.meters));
  return meters.flatMap(([model, usage]) => (model.startsWith(`${session}/`) ? [{ model, usage }] : []));
}

/**
 * What all sessions of a convoy's task have used, minus what other sessions of the convoy have paid for it. By task, and
 * not by session: a long ledger sums up old sessions, which would be paid for again.
 */
export function chargeTask(
  task: EpicId,
  used: Ledger,
  { convoy, payer }: { readonly convoy: Ledger; readonly payer: SessionId },
): Charge[] {
  const prefix = `task:${task}/`;
  const paid = sumByModel(
    listReadings(convoy).filter(({ session, model }) => session !== payer && model.startsWith(prefix)),
  );
  return [...sumByModel(listReadings(used))].map(([model, usage]) => ({
    model: `${prefix}${model}`,
    usage: subtractUsage(usage, paid.get(model) ?? noUsage),
  }));
}
