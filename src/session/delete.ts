import { join } from 'node:path';
import { trashEpic } from '../checkpoint/store.ts';
import { readTip } from '../checkpoint/tip.ts';
import type { State } from '../state/lists.ts';
import { makeFolder, statIfThere, syncFolder } from '../system/files.ts';
import type { EpicId } from '../types.ts';
import { saveByHand } from './here.ts';
import { journalFolder, releaseJournal } from './journal.ts';
import { markOf, readPending } from './pending.ts';
import type { SessionPorts } from './record.ts';

/**
 * Moves an epic to the trash, whole: what was recorded and not yet saved is saved first.
 * Returns the ref it is under now, or null where there was no such epic.
 */
export async function deleteEpic(ports: SessionPorts, epic: EpicId): Promise<string | null> {
  await settleJournals(ports, epic, 'Saved before the epic was deleted');
  return trashEpic(ports, epic);
}

/**
 * Brings all that was recorded into a checkpoint, and puts the journals away: as long as they are there, so is the epic.
 * They go before the ref does: a crash in between leaves an epic that knows all of them.
 */
export async function settleJournals(ports: SessionPorts, epic: EpicId, reason: string): Promise<void> {
  const { state } = await readTip(ports, epic);
  if (readPending(journalFolder(ports.home), epic, state).events.length > 0)
    await saveByHand(ports, epic, { trigger: 'manual', reason, facts: [], agent: null });
  await setJournalsAside(ports, epic, (await readTip(ports, epic)).state);
}

/**
 * Puts an epic's journals where none are read, as far as all that is in them is in its checkpoints: what another process
 * records at this very moment stays, and with it the epic under its name.
 */
async function setJournalsAside(
  { disk, home, random }: Pick<SessionPorts, 'disk' | 'home' | 'random'>,
  epic: EpicId,
  state: State,
): Promise<void> {
  const folder = journalFolder(home);
  const aside = join(home, 'trash');
  await makeFolder(disk, aside);
  for (const { session, header, size } of readPending(folder, epic, state).journals)
    if (markOf(state, header) >= size) releaseJournal(disk, folder, session, size, random.id(8), aside);
  // One that a power loss puts back, after the ref has gone, would begin the epic again and count all of it twice.
  if (statIfThere(folder) !== null) await syncFolder(disk, folder);
  await syncFolder(disk, aside);
}
