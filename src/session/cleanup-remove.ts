import { dirname, join } from 'node:path';
import { forget } from '../checkpoint/forgotten.ts';
import { hasCode } from '../errors.ts';
import { removeIfThere, statIfThere, syncFolder } from '../system/files.ts';
import { removeTree } from '../system/folders.ts';
import { withLock } from '../system/lock.ts';
import type { CleanupPorts } from './cleanup-facts.ts';
import { lookAt } from './cleanup-files.ts';
import type { FileFacts, Thing } from './cleanup-plan.ts';
import { deleteEpic } from './delete.ts';
import { journalFolder, releaseJournal } from './journal.ts';
import { checkLive, listLive } from './live.ts';

/** Removes one thing, if it is still as it was seen. Returns why it stays after all, or null where it is gone. */
export async function removeThing(ports: CleanupPorts, thing: Thing): Promise<string | null> {
  switch (thing.kind) {
    case 'snapshots':
      // Noted first: a sync between the two must not bring it back.
      await forget(ports, thing.ref, thing.oid);
      return deleteRef(ports, thing);
    case 'trash':
      return deleteRef(ports, thing);
    case 'epic':
      return trashWhole(ports, thing);
    case 'journal':
      return releaseJournal(
        ports.disk,
        journalFolder(ports.home),
        thing.session,
        thing.size,
        ports.random.id(6),
      )
        ? null
        : changed;
    case 'trashed_journal':
    case 'log':
    case 'damaged':
    case 'leftover':
      return removeFile(ports, thing.file);
  }
}

const changed = 'it changed meanwhile';

async function deleteRef(
  { git }: CleanupPorts,
  { ref, oid }: Pick<Thing & { kind: 'trash' }, 'ref' | 'oid'>,
): Promise<string | null> {
  try {
    await git.moveRefs([{ ref, from: oid, to: null }]);
    return null;
  } catch (error) {
    if (!hasCode(error, 'REF_CONFLICT')) throw error;
    if ((await git.readRef(ref)) === null) return null; // another cleanup was faster
    return typeof error.data.lock === 'string' ? 'its ref is locked by another process' : changed;
  }
}

/** Under the lock that a session which starts takes, so that none begins on an epic that is just leaving. */
async function trashWhole(
  ports: CleanupPorts,
  { epic, ref, oid }: Thing & { kind: 'epic' },
): Promise<string | null> {
  return withLock(ports, join(ports.home, 'locks', `${epic}.claim.lock`), async () => {
    const isWorkedOn = listLive(ports.home).some((live) => live.epic === epic && checkLive(live) !== 'dead');
    const now = await ports.git.readRef(ref);
    if (now === null) return null;
    if (now !== oid || isWorkedOn) return changed;
    await deleteEpic(ports, epic);
    return null;
  });
}

async function removeFile({ disk }: CleanupPorts, seen: FileFacts): Promise<string | null> {
  const now = lookAt(seen.path);
  if (now === null) return null;
  if (now.mark !== seen.mark) return changed;
  if (statIfThere(seen.path)?.isDirectory()) removeTree(disk, seen.path);
  else removeIfThere(disk, seen.path);
  await syncFolder(disk, dirname(seen.path));
  return null;
}
