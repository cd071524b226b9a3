import { withLocalBudget } from '../checkpoint/local-budget.ts';
import type { View } from '../checkpoint/policy.ts';
import type { Saved } from '../checkpoint/read-base.ts';
import { readTip, type StorePorts, type Tip } from '../checkpoint/tip.ts';
import { nextStampTime, type Pending, readPending } from '../journal/pending.ts';
import { journalFolder } from '../journal/read.ts';
import type { Fact } from '../state/facts.ts';
import { foldAll } from '../state/fold.ts';
import type { EpicId, SessionId } from '../types.ts';
import type { SessionPorts } from './ports.ts';

/** Everything this clone knows about an epic: its newest checkpoint, and what its journals hold beyond it. */
export type EpicView = View & {
  readonly epic: EpicId;
  readonly tip: Tip;
  readonly journals: Pending['journals'];
  /** The sessions of this clone that have a journal, on any epic. */
  readonly sessionsWithJournal: readonly SessionId[];
};

/** Reads what this clone knows about an epic now. */
export async function readView(ports: StorePorts, epic: EpicId): Promise<EpicView> {
  return viewFrom(ports, epic, await readTip(ports, epic));
}

/** The view from a tip that was read before: reads only the journals. */
export function viewFrom({ home }: Pick<StorePorts, 'home'>, epic: EpicId, tip: Tip): EpicView {
  const { events, journals, sessions } = readPending(journalFolder(home), epic, tip.state);
  const state = withLocalBudget(home, epic, foldAll(tip.state, events));
  const saved = withBudgetInForce(home, epic, tip.saved);
  return { epic, tip, saved, pending: events, journals, sessionsWithJournal: sessions, state };
}

/** The newest checkpoint, with the budget that was in force here when it was made. */
function withBudgetInForce(home: string, epic: EpicId, saved: Saved | null): Saved | null {
  if (saved === null) return null;
  const state = withLocalBudget(home, epic, saved.document.state);
  return state === saved.document.state ? saved : { ...saved, document: { ...saved.document, state } };
}

/** Does the epic exist here? It does as soon as it has a journal. */
export function epicExists({ tip, journals }: EpicView): boolean {
  return tip.oid !== null || journals.length > 0;
}

/** Adds the facts a session is about to start with, for its brief. */
export async function withFacts(
  ports: SessionPorts,
  view: EpicView,
  session: SessionId,
  facts: readonly Fact[],
): Promise<EpicView> {
  if (facts.length === 0) return view;
  const by = await ports.identifyWriter();
  const at = nextStampTime(ports.clock.now(), view.state, view.pending);
  const events = facts.map((fact, index) => ({ at, by, session, offset: index, end: index + 1, fact }));
  return { ...view, state: foldAll(view.state, events) };
}
