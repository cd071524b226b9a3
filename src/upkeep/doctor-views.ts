import { listEpics } from '../checkpoint/tip.ts';
import { isOrchError } from '../errors.ts';
import { type EpicView, readView } from '../session/context.ts';
import { journalFolder, listJournals, readJournal } from '../session/journal.ts';
import type { EpicId, SessionId } from '../types.ts';
import type { DoctorPorts } from './doctor-types.ts';

/** What can be read of the epics; one that cannot be is told by the check of checkpoints. */
export async function readViews(ports: DoctorPorts): Promise<EpicView[]> {
  const views: EpicView[] = [];
  const folder = journalFolder(ports.home);
  const begun = listJournals(folder).flatMap((session) => headerOf(folder, session)?.epic ?? []);
  for (const epic of new Set<EpicId>([...(await listEpics(ports.git)), ...begun])) {
    try {
      views.push(await readView(ports, epic));
    } catch (error) {
      if (!isOrchError(error)) throw error;
    }
  }
  return views;
}

function headerOf(folder: string, session: SessionId) {
  try {
    return readJournal(folder, session)?.header ?? null;
  } catch (error) {
    if (!isOrchError(error)) throw error;
    return null; // of a newer orch: told by the check of journals
  }
}
