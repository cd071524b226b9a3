import { withHeldBudget } from '../checkpoint/held-budgets.ts';
import type { View } from '../checkpoint/policy.ts';
import type { Saved } from '../checkpoint/read.ts';
import { readTip, type Tip } from '../checkpoint/tip.ts';
import { foldAll } from '../state/fold.ts';
import type { EpicId } from '../types.ts';
import { journalFolder } from './journal.ts';
import { type Pending, readPending } from './pending.ts';
import type { SessionPorts } from './record.ts';

/** All that is known of an epic in this clone: its newest checkpoint, and what its journals hold beyond that. */
export type EpicView = View & {
  readonly epic: EpicId;
  readonly tip: Tip;
  readonly journals: Pending['journals'];
};

export async function readView(ports: SessionPorts, epic: EpicId): Promise<EpicView> {
  return viewFrom(ports, epic, await readTip(ports, epic));
}

/** The view on a tip that was read already. */
export function viewFrom({ home }: SessionPorts, epic: EpicId, tip: Tip): EpicView {
  const { events, journals } = readPending(journalFolder(home), epic, tip.state);
  const state = withHeldBudget(home, epic, foldAll(tip.state, events));
  return { epic, tip, saved: withHeldSave(home, epic, tip.saved), pending: events, journals, state };
}

/** The newest checkpoint, with the budget that counted here when it was made. */
export function withHeldSave(home: string, epic: EpicId, saved: Saved | null): Saved | null {
  if (saved === null) return null;
  const state = withHeldBudget(home, epic, saved.document.state);
  return state === saved.document.state ? saved : { ...saved, document: { ...saved.document, state } };
}

/** Is there such an epic here? It exists from its first journal. */
export function epicExists({ tip, journals }: EpicView): boolean {
  return tip.oid !== null || journals.length > 0;
}
