import { meterName, type Usage } from '../cost/ledger.ts';
import type { Keyed } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import type { State } from '../state/lists.ts';
import type { SessionId } from '../types.ts';

/** What a session's meters read, by model. */
export function metersOf(state: State, session: SessionId): Keyed<Usage> {
  const prefix = meterName(session, '');
  const own = Object.values(state.ledger).flatMap(({ value }) =>
    Object.entries(value.meters).filter(([name]) => name.startsWith(prefix)),
  );
  return Object.fromEntries(own.map(([name, usage]) => [name.slice(prefix.length), usage]));
}

/** The models of a session whose cost nobody knows, where there is a budget: it could not be kept. */
export function findUnpriced(state: State, session: SessionId): string[] {
  if (budgetOf(state) === null) return [];
  return Object.entries(metersOf(state, session)).flatMap(([model, { unpriced }]) =>
    unpriced > 0 ? model : [],
  );
}
