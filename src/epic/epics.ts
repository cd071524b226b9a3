import { join } from 'node:path';
import {
  epicRef,
  parseTrackedRef,
  parseTrashRef,
  remotesPrefix,
  trashPrefix,
} from '../checkpoint/document/names-in-git.ts';
import { epicNotFound } from '../checkpoint/list.ts';
import { refuseCaseVariant, type Stored, trashEpic } from '../checkpoint/store.ts';
import { readTip } from '../checkpoint/tip.ts';
import type { Budget } from '../cost/budget.ts';
import { OrchError } from '../errors.ts';
import { parseSnapshotRef, snapshotsPrefix } from '../git/snapshot/snapshot-message.ts';
import { nameFile } from '../ids.ts';
import { checkLive, listLive } from '../journal/live.ts';
import { markOf, readPending } from '../journal/pending.ts';
import { journalFolder, releaseJournal } from '../journal/read.ts';
import { defaultSettings } from '../journal/session-settings.ts';
import type { SessionPorts } from '../record/ports.ts';
import { type EpicView, epicExists, readView } from '../record/view.ts';
import { saveByHand } from '../session/calls.ts';
import { describeMoney } from '../session/epic-status.ts';
import { recoverInterrupted } from '../session/recover.ts';
import { archivedFact, isArchived } from '../state/epic-names.ts';
import type { State } from '../state/lists.ts';
import { makeFolder, statIfThere, syncFolder } from '../system/disk.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Millis, Oid } from '../types.ts';

/** What an epic consists of: what a user should know before renaming, archiving or deleting it. */
export type EpicHoldings = {
  readonly epicId: EpicId;
  readonly checkpoints: number;
  readonly budget: Budget;
  /** The number of sessions with snapshots in this clone. */
  readonly snapshots: number;
  /** The remotes that have it, as far as this clone knows. */
  readonly remotes: readonly string[];
  readonly archived: boolean;
};

/** An epic in the trash. */
export type TrashedEpic = {
  readonly epic: EpicId;
  readonly at: Millis;
  readonly ref: string;
  readonly oid: Oid;
};

export async function readHoldings(ports: SessionPorts, view: EpicView): Promise<EpicHoldings> {
  const { epic, state, tip } = view;
  const snapshots = [...(await ports.git.listRefs(snapshotsPrefix)).keys()];
  const tracked = [...(await ports.git.listRefs(remotesPrefix)).keys()];
  return {
    epicId: epic,
    checkpoints: tip.seq,
    budget: describeMoney(state),
    snapshots: snapshots.filter((ref) => parseSnapshotRef(ref)?.epic === epic).length,
    remotes: tracked
      .filter((ref) => parseTrackedRef(ref) === epicRef(epic))
      .map((ref) => ref.slice(remotesPrefix.length).replace(/\/epics\/[^/]+$/, '')),
    archived: isArchived(state),
  };
}

/** Lists the epics in the trash, the last deleted first. */
export async function listTrashed({ git }: Pick<SessionPorts, 'git'>): Promise<TrashedEpic[]> {
  const found = [...(await git.listRefs(trashPrefix))].flatMap(([ref, oid]) => {
    const trashed = parseTrashRef(ref);
    return trashed ? [{ ...trashed, ref, oid }] : [];
  });
  return found.sort((a, b) => b.at - a.at);
}

/** Archives an epic, or unarchives it. Null if there is nothing to change. */
export function setArchived(ports: SessionPorts, epic: EpicId, archived: boolean): Promise<Stored | null> {
  return withEpic(ports, epic, async ({ state }) =>
    isArchived(state) === archived
      ? null
      : recordOnEpic(ports, epic, archivedFact(archived), archived ? 'Archived' : 'Unarchived'),
  );
}

/** Moves an epic to the trash and returns its new ref, or null if there is no such epic. Unsaved events are saved first. */
export async function saveAndTrashEpic(ports: SessionPorts, epic: EpicId): Promise<string | null> {
  await saveJournals(ports, epic, 'Saved before the epic was deleted');
  return trashEpic(ports, epic);
}

/** Brings an epic back from the trash. */
export async function restoreTrashed(ports: SessionPorts, { epic, ref, oid }: TrashedEpic): Promise<void> {
  await refuseCaseVariant(ports.git, epic);
  await ports.git.moveRefs([
    { ref: epicRef(epic), from: null, to: oid },
    { ref, from: oid, to: null },
  ]);
}

/** Records a fact about the epic itself in a checkpoint of its own, without a snapshot. */
export function recordOnEpic(
  ports: SessionPorts,
  epic: EpicId,
  fact: ReturnType<typeof archivedFact>,
  reason: string,
): Promise<Stored> {
  const settings = { ...defaultSettings, snapshot: false };
  return saveByHand(ports, epic, { trigger: 'manual', reason, facts: [fact], agent: null }, settings);
}

/** Runs `work` under the lock that every starting session takes, so that none starts on an epic that is being moved. */
export async function withEpic<T>(
  ports: SessionPorts,
  epic: EpicId,
  work: (view: EpicView) => Promise<T>,
): Promise<T> {
  return withLock(ports, join(ports.home, 'locks', nameFile(epic, '.claim.lock')), async () => {
    if (!epicExists(await readView(ports, epic))) throw epicNotFound(epic);
    refuseRunning(ports, epic);
    await recoverInterrupted(ports, epic, { ...defaultSettings, snapshot: false });
    return work(await readView(ports, epic));
  });
}

export function refuseRunning({ home }: SessionPorts, epic: EpicId): void {
  const live = listLive(home).find((record) => record.epic === epic && checkLive(record) !== 'dead');
  if (live === undefined) return;
  throw new OrchError('SESSION_ACTIVE', `session ${live.session} is running on ${epic}`, {
    hint: `End it first: orch pause -e ${epic}`,
    data: { epicId: epic, sessionId: live.session, pid: live.holder.pid },
  });
}

/**
 * Saves everything recorded on an epic in a checkpoint and moves its journals to the trash: as long as there are
 * journals, the epic exists. They go before the ref does, so a crash in between leaves an epic that has all of them.
 */
export async function saveJournals(ports: SessionPorts, epic: EpicId, reason: string): Promise<void> {
  const { state } = await readTip(ports, epic);
  if (readPending(journalFolder(ports.home), epic, state).events.length > 0)
    await saveByHand(ports, epic, { trigger: 'manual', reason, facts: [], agent: null });
  await trashJournals(ports, epic, (await readTip(ports, epic)).state);
}

/**
 * Moves an epic's journals to the trash if the checkpoints have all of their events. What another process records at
 * this very moment stays, and so does the epic under its name.
 */
async function trashJournals(
  { disk, home, random }: SessionPorts,
  epic: EpicId,
  state: State,
): Promise<void> {
  const folder = journalFolder(home);
  const trash = join(home, 'trash');
  await makeFolder(disk, trash);
  for (const { session, header, size } of readPending(folder, epic, state).journals)
    if (markOf(state, header) >= size) releaseJournal(disk, folder, session, size, random.id(8), trash);
  // A journal that a power loss puts back after the ref is gone would begin the epic again and count everything twice.
  if (statIfThere(folder) !== null) await syncFolder(disk, folder);
  await syncFolder(disk, trash);
}
