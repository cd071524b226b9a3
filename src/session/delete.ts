import { join } from 'node:path';
import { trashEpic } from '../checkpoint/store.ts';
import { readTip } from '../checkpoint/tip.ts';
import type { State } from '../state/lists.ts';
import { makeFolder, saysGone, statIfThere, syncFolder } from '../system/files.ts';
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
  const folder = journalFolder(ports.home);
  const { state } = await readTip(ports, epic);
  if (readPending(folder, epic, state).events.length > 0) {
    await saveByHand(ports, epic, {
      trigger: 'manual',
      reason: 'Saved before the epic was deleted',
      facts: [],
      agent: null,
    });
  }
  // The journals go before the ref: a crash in between leaves an epic that knows all of them.
  await setJournalsAside(ports, epic, state);
  return trashEpic(ports, epic);
}

/** Puts an epic's journals where none are read; all that is in them is in its checkpoints. */
export async function setJournalsAside(
  { disk, home }: Pick<SessionPorts, 'disk' | 'home'>,
  epic: EpicId,
  state: State,
): Promise<void> {
  const folder = journalFolder(home);
  const aside = join(home, 'trash');
  await makeFolder(disk, aside);
  for (const { session } of readPending(folder, epic, state).journals) {
    try {
      disk.rename(journalPath(folder, session), journalPath(aside, session));
    } catch (error) {
      if (!saysGone(error)) throw error; // released meanwhile: all of it is in checkpoints
    }
  }
  // One that a power loss puts back, after the ref has gone, would begin the epic again and count all of it twice.
  if (statIfThere(folder) !== null) await syncFolder(disk, folder);
  await syncFolder(disk, aside);
}
