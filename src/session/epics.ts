import { join } from 'node:path';
import { epicNotFound } from '../checkpoint/list.ts';
import { parseTrackedRef, remotesPrefix } from '../checkpoint/remote-refs.ts';
import { refuseSameButForCase, type Stored } from '../checkpoint/store.ts';
import { epicRef, parseTrashRef, trashPrefix } from '../checkpoint/tree.ts';
import type { Budget } from '../cost/budget.ts';
import { OrchError } from '../errors.ts';
import { parseSnapshotRef, snapshotsPrefix } from '../git/snapshot-ref.ts';
import { nameFile } from '../ids.ts';
import { archivedFact, isArchived } from '../state/naming.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
import { type EpicView, epicExists, readView } from './context.ts';
import { deleteEpic } from './delete.ts';
import { saveByHand } from './here.ts';
import { checkLive, listLive } from './live.ts';
import type { SessionPorts } from './record.ts';
import { recoverInterrupted } from './recover.ts';
import { defaultSettings } from './settings.ts';
import { describeMoney } from './status.ts';

/** What there is of an epic: what somebody should know before it is renamed, put away or deleted. */
export type EpicHoldings = {
  readonly epicId: EpicId;
  readonly checkpoints: number;
  readonly budget: Budget;
  /** The sessions whose files are kept here. */
  readonly snapshots: number;
  /** Where it was shared, as far as this clone has seen. */
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
  const names = tracked
    .filter((ref) => parseTrackedRef(ref) === epicRef(epic))
    .map((ref) => ref.slice(remotesPrefix.length).replace(/\/epics\/[^/]+$/, ''));
  return {
    epicId: epic,
    checkpoints: tip.seq,
    budget: describeMoney(state),
    snapshots: snapshots.filter((ref) => parseSnapshotRef(ref)?.epic === epic).length,
    remotes: names,
    archived: isArchived(state),
  };
}

/** The epics in the trash, the last deleted first. */
export async function listTrashed({ git }: SessionPorts): Promise<TrashedEpic[]> {
  const found = [...(await git.listRefs(trashPrefix))].flatMap(([ref, oid]) => {
    const trashed = parseTrashRef(ref);
    return trashed ? [{ ...trashed, ref, oid }] : [];
  });
  return found.sort((a, b) => b.at - a.at);
}

/** Puts an epic away, or takes it out again. Null where it is as it should be. */
export function archiveEpic(ports: SessionPorts, epic: EpicId, away: boolean): Promise<Stored | null> {
  return withEpic(ports, epic, async ({ state }) =>
    isArchived(state) === away
      ? null
      : sayOf(ports, epic, archivedFact(away), away ? 'Archived' : 'Unarchived'),
  );
}

/** Moves an epic to the trash; returns the ref it is under now. */
export function discardEpic(ports: SessionPorts, epic: EpicId): Promise<string | null> {
  return withEpic(ports, epic, () => deleteEpic(ports, epic));
}

/** Brings an epic back from the trash. */
export async function bringBackEpic(ports: SessionPorts, { epic, ref, oid }: TrashedEpic): Promise<void> {
  await refuseSameButForCase(ports.git, epic);
  await ports.git.moveRefs([
    { ref: epicRef(epic), from: null, to: oid },
    { ref, from: oid, to: null },
  ]);
}

/** Says something of the epic itself, with a checkpoint; its files have nothing to do with it. */
export function sayOf(
  ports: SessionPorts,
  epic: EpicId,
  fact: ReturnType<typeof archivedFact>,
  reason: string,
): Promise<Stored> {
  const settings = { ...defaultSettings, snapshot: false };
  return saveByHand(ports, epic, { trigger: 'manual', reason, facts: [fact], agent: null }, settings);
}

/** Under the lock that a session which starts takes, so that none begins on an epic that is just leaving. */
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
