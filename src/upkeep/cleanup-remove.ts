import { dirname, join } from 'node:path';
import { forgetAll } from '../checkpoint/forgotten.ts';
import { hasCode, isOrchError, systemCode } from '../errors.ts';
import { snapshotRef } from '../git/snapshot-ref.ts';
import { nameFile } from '../ids.ts';
import { readView } from '../session/context.ts';
import { deleteEpic } from '../session/delete.ts';
import { archiveEpic } from '../session/epics.ts';
import { findNewest } from '../session/fate.ts';
import { journalFolder, releaseJournal } from '../session/journal.ts';
import { checkLive, listLive } from '../session/live.ts';
import { removeIfThere, saysGone, statIfThere, syncFolder } from '../system/files.ts';
import { removeTree } from '../system/folders.ts';
import { withLock } from '../system/lock.ts';
import type { CleanupPorts } from './cleanup-facts.ts';
import { lookAt } from './cleanup-files.ts';
import { clearRuns } from './cleanup-runs.ts';
import type { FileFacts, Thing } from './cleanup-types.ts';

/** How many refs are deleted at once: each time, git writes all packed refs anew. */
const mostAtOnce = 500;

/** Removes what is still as it was seen. Says of each why it stays after all, or null where it is gone. */
export async function removeThings(
  ports: CleanupPorts,
  things: readonly Thing[],
): Promise<ReadonlyMap<Thing, string | null>> {
  const results = new Map<Thing, string | null>(await clearRuns(ports, things));
  const refs = things.filter(
    (thing) => thing.kind === 'snapshots' || thing.kind === 'trash' || thing.kind === 'undo',
  );
  for (let at = 0; at < refs.length; at += mostAtOnce) {
    const some = refs.slice(at, at + mostAtOnce);
    // Noted first: a sync between the two must not bring them back. What is in the trash was noted on its way there.
    await forgetAll(
      ports,
      some.flatMap((thing) =>
        thing.kind === 'snapshots' ? [{ ref: snapshotRef(thing.epic, thing.session), oid: thing.oid }] : [],
      ),
    );
    if (await deleteAll(ports, some)) for (const thing of some) results.set(thing, null);
    else for (const thing of some) results.set(thing, await deleteRef(ports, thing));
  }
  if (refs.length > 0) await ports.git.releaseObjects();
  for (const thing of things)
    if (thing.kind !== 'run' && !results.has(thing)) results.set(thing, await tryToRemove(ports, thing));
  return results;
}

/** One that the system does not let go of keeps none of the others; one that is gone meanwhile is gone. */
async function tryToRemove(ports: CleanupPorts, thing: SingleThing): Promise<string | null> {
  try {
    return await removeOne(ports, thing);
  } catch (error) {
    if (isOrchError(error) || systemCode(error) === null) throw error;
    if (saysGone(error)) return 'file' in thing ? null : changed;
    return `it could not be removed: ${error instanceof Error ? error.message : systemCode(error)}`;
  }
}

/** One transaction; false where one of them is not as it was seen, and then none is deleted. */
async function deleteAll({ git }: CleanupPorts, refs: readonly RefThing[]): Promise<boolean> {
  try {
    await git.moveRefs(refs.map(({ ref, oid }) => ({ ref, from: oid, to: null })));
    return true;
  } catch (error) {
    if (!hasCode(error, 'REF_CONFLICT')) throw error;
    return false;
  }
}

/** Runs are cleaned up together. */
type SingleThing = Exclude<Thing, { kind: 'run' }>;
type RefThing = Thing & { readonly kind: 'snapshots' | 'trash' | 'undo' };

async function removeOne(ports: CleanupPorts, thing: SingleThing): Promise<string | null> {
  switch (thing.kind) {
    case 'snapshots':
    case 'trash':
    case 'undo':
      return deleteRef(ports, thing);
    case 'epic':
      return trashWhole(ports, thing);
    case 'completed':
      return archiveDone(ports, thing);
    case 'journal':
      return releaseJournal(
        ports.disk,
        journalFolder(ports.home),
        thing.session,
        thing.size,
        ports.random.id(6),
      )
        ? null
        : stillThere(thing.file);
    case 'trashed_journal':
    case 'log':
    case 'damaged':
    case 'leftover':
      return removeFile(ports, thing.file);
  }
}

const changed = 'it changed meanwhile';

function stillThere({ path }: FileFacts): string | null {
  return lookAt(path) === null ? null : changed;
}

async function deleteRef({ git }: CleanupPorts, { ref, oid }: RefThing): Promise<string | null> {
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
  return withLock(ports, join(ports.home, 'locks', nameFile(epic, '.claim.lock')), async () => {
    const isWorkedOn = listLive(ports.home).some((live) => live.epic === epic && checkLive(live) !== 'dead');
    const now = await ports.git.readRef(ref);
    if (now === null) return null;
    if (now !== oid || isWorkedOn) return changed;
    await deleteEpic(ports, epic);
    return null;
  });
}

/** What was cleaned up before it may have moved the ref: it is still to be archived while it is completed. */
async function archiveDone(
  ports: CleanupPorts,
  { epic }: Thing & { kind: 'completed' },
): Promise<string | null> {
  if (findNewest((await readView(ports, epic)).state)?.status !== 'completed') return changed;
  try {
    await archiveEpic(ports, epic, true);
    return null;
  } catch (error) {
    if (!hasCode(error, 'SESSION_ACTIVE', 'EPIC_NOT_FOUND')) throw error;
    return changed;
  }
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
