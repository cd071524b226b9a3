import { join } from 'node:path';
import { trashEpic } from '../checkpoint/store.ts';
import { readTip } from '../checkpoint/tip.ts';
import { makeFolder, saysGone } from '../system/files.ts';
import type { EpicId } from '../types.ts';
import { saveByHand } from './here.ts';
import { journalFolder, journalPath } from './journal.ts';
import { readPending } from './pending.ts';
import type { SessionPorts } from './record.ts';

/**
 * Moves an epic to the trash, whole: what was recorded and not yet saved is saved first.
 * Returns the ref it is under now, or null where there was no such epic.
 */
export async function deleteEpic(ports: SessionPorts, epic: EpicId): Promise<string | null> {
  await setJournalsAside(ports, epic, 'Saved before the epic was deleted');
  return trashEpic(ports, epic);
}

/**
 * Brings all that was recorded into a checkpoint, and puts the journals away: as long as they are there, so is the epic.
 * They go before the ref does: a crash in between leaves an epic that knows all of them.
 */
export async function setJournalsAside(ports: SessionPorts, epic: EpicId, reason: string): Promise<void> {
  const folder = journalFolder(ports.home);
  const { state } = await readTip(ports, epic);
  if (readPending(folder, epic, state).events.length > 0)
    await saveByHand(ports, epic, { trigger: 'manual', reason, facts: [], agent: null });
  const aside = join(ports.home, 'trash');
  await makeFolder(ports.disk, aside);
  for (const { session } of readPending(folder, epic, state).journals) {
    try {
      ports.disk.rename(journalPath(folder, session), journalPath(aside, session));
    } catch (error) {
      if (!saysGone(error)) throw error; // released meanwhile: all of it is in checkpoints
    }
  }
}
