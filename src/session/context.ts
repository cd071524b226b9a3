import type { View } from '../checkpoint/policy.ts';
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
  return { epic, tip, saved: tip.saved, pending: events, journals, state: foldAll(tip.state, events) };
}

/** Is there such an epic here? It exists from its first journal. */
export function epicExists({ tip, journals }: EpicView): boolean {
  return tip.oid !== null || journals.length > 0;
}
