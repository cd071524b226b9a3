import { dirname, join } from 'node:path';
import { recordDeletedRefs } from '../../checkpoint/deleted-refs.ts';
import { saveAndTrashEpic, setArchived } from '../../epic/epics.ts';
import { hasCode, isOrchError, systemCode } from '../../errors.ts';
import { snapshotRef } from '../../git/snapshot/snapshot-message.ts';
import { nameFile } from '../../ids.ts';
import { checkLive, listLive } from '../../journal/live.ts';
import { journalFolder, releaseJournal } from '../../journal/read.ts';
import { defaultSettings } from '../../journal/session-settings.ts';
import { findNewest } from '../../record/sessions.ts';
import { readView } from '../../record/view.ts';
import { findDestination } from '../../record/which/which-session.ts';
import { recordTo } from '../../session/calls.ts';
import { readCurrent } from '../../state/current.ts';
import { readRuns } from '../../state/runs.ts';
import { isGoneError, removeIfThere, statIfThere, syncFolder } from '../../system/disk.ts';
import { removeTree } from '../../system/files-in-bulk.ts';
import { withLock } from '../../system/lock.ts';
import type { EpicId } from '../../types.ts';
import { count } from '../../units.ts';
import type { CleanupPorts } from './cleanup-facts.ts';
import { readFileFacts } from './file-items.ts';

import type { CleanupItem, FileFacts } from './plan-cleanup.ts';

/** How many refs are deleted at once: git rewrites all packed refs each time. */
const mostAtOnce = 500;

/** Removes the items that have not changed since they were read. Returns for each why it was kept, or null if it is gone. */
export async function removeItems(
  ports: CleanupPorts,
  items: readonly CleanupItem[],
): Promise<ReadonlyMap<CleanupItem, string | null>> {
  const results = new Map<CleanupItem, string | null>(await clearRuns(ports, items));
  const refs = items.filter(isRefItem);
  for (let at = 0; at < refs.length; at += mostAtOnce) {
    const some = refs.slice(at, at + mostAtOnce);
    // Remembered first, so that a sync in between does not bring them back. Epics in the trash are remembered already.
    await recordDeletedRefs(
      ports,
      some.flatMap((item) =>
        item.kind === 'snapshots' ? [{ ref: snapshotRef(item.epic, item.session), oid: item.oid }] : [],
      ),
    );
    if (await deleteAll(ports, some)) for (const item of some) results.set(item, null);
    else for (const item of some) results.set(item, await deleteRef(ports, item));
  }
  if (refs.length > 0) await ports.git.releaseHeldObjects();
  for (const item of items)
    if (item.kind !== 'run' && !isRefItem(item)) results.set(item, await tryToRemove(ports, item));
  return results;
}

/** A file that the system refuses to remove does not stop the others; a file that is gone by now counts as removed. */
async function tryToRemove(ports: CleanupPorts, item: SingleItem): Promise<string | null> {
  try {
    return await removeOne(ports, item);
  } catch (error) {
    if (isOrchError(error) || systemCode(error) === null) throw error;
    if (isGoneError(error)) return 'file' in item ? null : changed;
    return `could not be removed: ${error instanceof Error ? error.message : systemCode(error)}`;
  }
}

/** Deletes refs in one transaction. False if one of them has changed: then none is deleted. */
async function deleteAll({ git }: CleanupPorts, refs: readonly RefItem[]): Promise<boolean> {
  try {
    await git.moveRefs(refs.map(({ ref, oid }) => ({ ref, from: oid, to: null })));
    return true;
  } catch (error) {
    if (!hasCode(error, 'REF_CONFLICT')) throw error;
    return false;
  }
}

type RefItem = Extract<CleanupItem, { kind: 'snapshots' | 'trash' | 'undo' }>;
/** Refs are deleted in one transaction, and the files of an epic's runs in one checkpoint. */
type SingleItem = Exclude<CleanupItem, RefItem | { kind: 'run' }>;

function isRefItem(item: CleanupItem): item is RefItem {
  return item.kind === 'snapshots' || item.kind === 'trash' || item.kind === 'undo';
}

async function removeOne(ports: CleanupPorts, item: SingleItem): Promise<string | null> {
  switch (item.kind) {
    case 'epic':
      return trashEpic(ports, item);
    case 'completed':
      return archiveCompleted(ports, item);
    case 'journal':
      return releaseJournal(
        ports.disk,
        journalFolder(ports.home),
        item.session,
        item.size,
        ports.random.id(6),
      )
        ? null
        : stillThere(item.file);
    case 'trashed_journal':
    case 'log':
    case 'damaged':
    case 'leftover':
      return removeFile(ports, item.file);
  }
}

const changed = 'it changed in the meantime';

function stillThere({ path }: FileFacts): string | null {
  return readFileFacts(path) === null ? null : changed;
}

async function deleteRef({ git }: CleanupPorts, { ref, oid }: RefItem): Promise<string | null> {
  try {
    await git.moveRefs([{ ref, from: oid, to: null }]);
    return null;
  } catch (error) {
    if (!hasCode(error, 'REF_CONFLICT')) throw error;
    if ((await git.readRef(ref)) === null) return null; // another cleanup has deleted it
    return typeof error.data.lock === 'string' ? 'its ref is locked by another process' : changed;
  }
}

/** Takes the lock that every starting session takes, so that none starts on an epic that is being moved. */
async function trashEpic(
  ports: CleanupPorts,
  { epic, ref, oid }: CleanupItem & { kind: 'epic' },
): Promise<string | null> {
  return withLock(ports, join(ports.home, 'locks', nameFile(epic, '.claim.lock')), async () => {
    const isWorkedOn = listLive(ports.home).some((live) => live.epic === epic && checkLive(live) !== 'dead');
    const now = await ports.git.readRef(ref);
    if (now === null) return null;
    if (now !== oid || isWorkedOn) return changed;
    await saveAndTrashEpic(ports, epic);
    return null;
  });
}

/** An earlier removal may have moved the epic's ref, so the check is whether it is still completed. */
async function archiveCompleted(
  ports: CleanupPorts,
  { epic }: CleanupItem & { kind: 'completed' },
): Promise<string | null> {
  if (findNewest((await readView(ports, epic)).state)?.status !== 'completed') return changed;
  try {
    await setArchived(ports, epic, true);
    return null;
  } catch (error) {
    if (!hasCode(error, 'SESSION_ACTIVE', 'EPIC_NOT_FOUND')) throw error;
    return changed;
  }
}

async function removeFile({ disk }: CleanupPorts, seen: FileFacts): Promise<string | null> {
  const now = readFileFacts(seen.path);
  if (now === null) return null;
  if (now.mark !== seen.mark) return changed;
  if (statIfThere(seen.path)?.isDirectory()) removeTree(disk, seen.path);
  else removeIfThere(disk, seen.path);
  await syncFolder(disk, dirname(seen.path));
  return null;
}

/** Removes the files and records of runs from the tree, in one checkpoint per epic. The history keeps them, and the state keeps the runs. */
async function clearRuns(
  ports: CleanupPorts,
  items: readonly CleanupItem[],
): Promise<ReadonlyMap<CleanupItem, string | null>> {
  const results = new Map<CleanupItem, string | null>();
  const byEpic = new Map<EpicId, (CleanupItem & { kind: 'run' })[]>();
  for (const item of items)
    if (item.kind === 'run') byEpic.set(item.epic, [...(byEpic.get(item.epic) ?? []), item]);
  for (const [epic, runs] of byEpic) {
    const { state } = await readView(ports, epic);
    const now = readRuns(state.runs);
    const asSeen = runs.filter(({ run, seen }) => now.get(run)?.head?.at === seen);
    for (const item of runs) results.set(item, asSeen.includes(item) ? null : changed);
    if (asSeen.length === 0) continue;
    const known = readRuns(state.runs);
    const before = Object.entries(readCurrent(state, 'clearedRuns') ?? {}).filter(([run]) => known.has(run));
    const fresh = asSeen.map(({ run, seen }) => [run, Math.max(seen, ports.clock.now())] as const);
    const value = Object.fromEntries([...before, ...fresh]);
    const place = findDestination(ports, epic, { ...defaultSettings, snapshot: false }, null);
    const reason = `Cleaned up after ${count(asSeen.length, 'run')}`;
    await recordTo(ports, place, [{ kind: 'current_set', key: 'clearedRuns', value }], {
      trigger: 'manual',
      reason,
    });
  }
  return results;
}
