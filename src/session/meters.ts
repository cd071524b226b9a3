import { meterName, type Usage } from '../cost/ledger.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import { canonicalJson } from '../state/canonical.ts';
import type { Fact } from '../state/facts.ts';
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

/** Does a fact say more than is recorded? A meter that reads the same is no news. */
export function isNews(state: State, session: SessionId): (fact: Fact) => boolean {
  const recorded = metersOf(state, session);
  return (fact) =>
    fact.kind !== 'meter' ||
    canonicalJson(fact.usage) !== canonicalJson(lookUp(recorded, fact.model) ?? null);
}
