import { chargeSession, chargeTask } from '../cost/charge.ts';
import { messageOf, OrchError } from '../errors.ts';
import { isTaskOf } from '../ids.ts';
import { type LiveRecord, readLive } from '../journal/live.ts';
import { budgetOf, readCurrent } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, SessionId } from '../types.ts';
import { appendFacts } from './begin.ts';
import type { SessionPorts } from './ports.ts';
import { readView } from './view.ts';
import { findSessionAbove } from './which/origin.ts';

/*
 * A session pays for what it starts. A session on another epic that was started from it has its own budget, and what it
 * spends is also a meter of the session above, so a second epic is no way around the first one's budget. Meters are
 * cumulative readings: charging twice adds nothing, and what a crash left out comes with the next reading.
 */

/** The session on another epic that a new session was started from, for its live record. */
export function findPayingSession(home: string, epic: EpicId): Pick<LiveRecord, 'above'> {
  const above = findSessionAbove(home);
  return above && above.epic !== epic ? { above: { session: above.session, epic: above.epic } } : {};
}

export function isSpending({ kind }: Fact): boolean {
  return kind === 'cost' || kind === 'meter';
}

/**
 * Charges what a session has spent to the session above it, and so on upwards, once the facts are `durable`. The process
 * that watches the session above decides what follows from it.
 */
export async function chargeAbove(
  ports: SessionPorts,
  session: SessionId,
  state: State,
  facts: readonly Fact[],
  durable: Promise<void>,
): Promise<void> {
  const live = facts.some(isSpending) ? readLive(ports.home, session) : null;
  const above = live?.above;
  // An ended session no longer pays.
  if (!above || readLive(ports.home, above.session) === null) return;
  await durable;
  try {
    const view = await readView(ports, above.epic);
    const isWorker = isTaskOf(live.epic, above.epic) && readCurrent(view.state, 'convoy') !== null;
    const charges = isWorker
      ? chargeTask(live.epic, state.ledger, { convoy: view.state.ledger, payer: above.session })
      : chargeSession(session, state.ledger);
    const charged = charges.map((charge): Fact => ({ kind: 'meter', ...charge }));
    await appendFacts(ports, above.session, view, charged);
    await chargeAbove(ports, above.session, (await readView(ports, above.epic)).state, charged, durable);
  } catch (error) {
    const problem = messageOf(error);
    ports.report(`the cost of ${session} is not charged to ${above.epic} yet: ${problem}`);
  }
}

/** Refuses a cost from inside a session with a budget if it would go to an epic that this session does not pay for. */
export async function refuseCostElsewhere(
  ports: SessionPorts,
  destination: { readonly epic: EpicId; readonly session?: SessionId },
  facts: readonly Fact[],
): Promise<void> {
  const above = facts.some(isSpending) ? findSessionAbove(ports.home) : null;
  if (
    above === null ||
    above.epic === destination.epic ||
    isPaidBy(ports.home, destination.session, above.session)
  )
    return;
  const limit = budgetOf((await readView(ports, above.epic)).state);
  if (limit === null) return;
  throw new OrchError(
    'BUDGET_REFUSED',
    `this call runs in a session of ${above.epic}, so its cost belongs to that budget, not to ${destination.epic}`,
    {
      hint: `Record it there: orch record cost AMOUNT -e ${above.epic}`,
      data: { epicId: above.epic, sessionId: above.session },
    },
  );
}

/** Is a session's spending charged to that payer, directly or through others? */
function isPaidBy(home: string, session: SessionId | undefined, payer: SessionId): boolean {
  const above = session && readLive(home, session)?.above?.session;
  return above !== undefined && (above === payer || isPaidBy(home, above, payer));
}
