import { OrchError } from '../errors.ts';
import { budgetOf } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, SessionId } from '../types.ts';
import { type EpicView, readView } from './context.ts';
import { type LiveRecord, readLive } from './live.ts';
import { findSessionAbove } from './origin.ts';
import type { SessionPorts } from './record.ts';

/*
 * What a session starts, it pays for. A session that begins below another one, on another epic, has its own budget;
 * what it spends is a meter of the one above too, so a second epic is no way around the first one's budget. Meters are
 * readings, so charging twice is charging once, and what a crash left out comes with the next reading.
 */

/** The session on another epic that a session which begins now is below, as its live record keeps it. */
export function aboveOf(home: string, epic: EpicId): Pick<LiveRecord, 'above'> {
  const above = findSessionAbove(home);
  return above && above.epic !== epic ? { above: { session: above.session, epic: above.epic } } : {};
}

const isSpending = ({ kind }: Fact): boolean => kind === 'cost' || kind === 'meter';

/**
 * Puts what a session has spent on the meters of the one above it, and so on upwards. Only that: whoever watches over
 * the one above decides what follows, with its own files.
 */
export async function chargeAbove(
  ports: SessionPorts,
  session: SessionId,
  state: State,
  facts: readonly Fact[],
  append: (session: SessionId, view: EpicView, facts: readonly Fact[]) => Promise<unknown>,
): Promise<void> {
  const above = facts.some(isSpending) ? readLive(ports.home, session)?.above : undefined;
  // One that has ended pays for nothing more.
  if (!above || readLive(ports.home, above.session) === null) return;
  const meters = Object.values(state.ledger).flatMap(({ value }) => Object.entries(value.meters));
  const charged = meters
    .filter(([name]) => name.startsWith(`${session}/`))
    .map(([model, usage]): Fact => ({ kind: 'meter', model, usage }));
  try {
    await append(above.session, await readView(ports, above.epic), charged);
    await chargeAbove(ports, above.session, (await readView(ports, above.epic)).state, charged, append);
  } catch (error) {
    const problem = error instanceof Error ? error.message : error;
    ports.report(`${above.epic} is not charged yet for what ${session} spent: ${problem}`);
  }
}

/** Refuses a cost from inside a session with a budget that is meant for an epic which that session does not pay for. */
export async function refuseCostElsewhere(
  ports: SessionPorts,
  place: { readonly epic: EpicId; readonly session?: SessionId },
  facts: readonly Fact[],
): Promise<void> {
  const above = facts.some(isSpending) ? findSessionAbove(ports.home) : null;
  if (above === null || above.epic === place.epic || isPaidBy(ports.home, place.session, above.session))
    return;
  const limit = budgetOf((await readView(ports, above.epic)).state);
  if (limit === null) return;
  throw new OrchError(
    'BUDGET_REFUSED',
    `this call runs in a session of ${above.epic}, whose budget pays for what it spends, not that of ${place.epic}`,
    {
      hint: `Record it there: orch record cost AMOUNT -e ${above.epic}`,
      data: { epicId: above.epic, sessionId: above.session },
    },
  );
}

/** Is what a session spends charged to that one, directly or through others? */
function isPaidBy(home: string, session: SessionId | undefined, payer: SessionId): boolean {
  const above = session && readLive(home, session)?.above?.session;
  return above !== undefined && (above === payer || isPaidBy(home, above, payer));
}
