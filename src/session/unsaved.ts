import type { EpicId } from '../types.ts';
import { readView } from './context.ts';
import { journalFolder, listJournals, readJournal } from './journal.ts';
import type { SessionPorts } from './record.ts';

/** What is recorded in this clone and in no checkpoint yet. */
export type Unsaved = { readonly epicId: EpicId; readonly events: number };

export async function listUnsaved(ports: SessionPorts): Promise<Unsaved[]> {
  const folder = journalFolder(ports.home);
  const begun = listJournals(folder).flatMap((session) => readJournal(folder, session)?.header.epic ?? []);
  const unsaved: Unsaved[] = [];
  for (const epicId of [...new Set(begun)].sort())
    unsaved.push({ epicId, events: (await readView(ports, epicId)).pending.length });
  return unsaved.filter(({ events }) => events > 0);
}
