import { join } from 'node:path';
import { walkEpic } from '../checkpoint/list.ts';
import { findCheckpoint } from '../checkpoint/names.ts';
import { readBase } from '../checkpoint/read.ts';
import { parseTrackedRef, remotesPrefix } from '../checkpoint/remote-refs.ts';
import { listEpics } from '../checkpoint/tip.ts';
import { epicRef, parseTrashRef, trashPrefix } from '../checkpoint/tree.ts';
import { hasCode, isOrchError } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { parseSnapshotRef, snapshotsPrefix } from '../git/snapshot-ref.ts';
import { parseUndoRef, readUndoCommit, undoPrefix } from '../git/undo.ts';
import { type EpicView, readView } from '../session/context.ts';
import { findNewest, listSessions } from '../session/fate.ts';
import { journalFolder, journalPath, listJournals, readJournal } from '../session/journal.ts';
import { listFolded } from '../session/pending.ts';
import type { SessionPorts } from '../session/record.ts';
import { readCurrent } from '../state/current.ts';
import { bounds } from '../state/lists.ts';
import { isArchived } from '../state/naming.ts';
import { statIfThere } from '../system/files.ts';
import type { EpicId, Millis, Oid, SessionId } from '../types.ts';
import { lookAt, readFileThings } from './cleanup-files.ts';
import { listRunThings } from './cleanup-runs.ts';
import type { CleanupFacts, EpicFacts, Thing } from './cleanup-types.ts';

export type CleanupPorts = SessionPorts & { readonly repository: Repository };

/** Looks at everything that may be removed, and at what that depends on; changes nothing. */
export async function readCleanupFacts(ports: CleanupPorts): Promise<CleanupFacts> {
  const epics = new Map<EpicId, EpicFacts>();
  const things: Thing[] = [];
  const runs = new Map<string, SessionId[]>();
  for (const epic of await listKnownEpics(ports)) {
    const view = await tryToRead(ports, epic);
    epics.set(epic, 'problem' in view ? unreadable(view.problem) : await describeEpic(ports, view));
    const oid = await ports.git.readRef(epicRef(epic)).catch(() => null); // unreadable: its problem is told
    if (oid !== null) things.push({ kind: 'epic', epic, ref: epicRef(epic), oid });
    if (oid !== null && epics.get(epic)?.completedAt != null) things.push({ kind: 'completed', epic });
    if ('problem' in view) continue;
    things.push(...(await listFoldedJournals(ports, view)), ...(await listRunThings(ports, view)));
    for (const key of Object.keys(view.state.runs)) addRun(runs, key);
  }
  things.push(...(await listSnapshots(ports)), ...(await listTrash(ports)));
  things.push(...readFileThings(ports, runs));
  things.push(...(await listUndoThings(ports)));
  return { epics, things };
}

/** Those with a checkpoint, and those that have a journal only. */
async function listKnownEpics({ git, home }: CleanupPorts): Promise<Set<EpicId>> {
  const folder = journalFolder(home);
  const begun = listJournals(folder).flatMap((session) => readJournal(folder, session)?.header.epic ?? []);
  return new Set([...(await listEpics(git)), ...begun]);
}

/** A damaged epic, or one of a newer orch, hides none of the others: it is left alone. */
async function tryToRead(
  ports: CleanupPorts,
  epic: EpicId,
): Promise<EpicView | { readonly problem: string }> {
  try {
    const view = await readView(ports, epic);
    const [damage] = view.tip.damage;
    return damage ? { problem: `a checkpoint of its epic is damaged: ${damage.problem}` } : view;
  } catch (error) {
    if (!isOrchError(error)) throw error;
    return { problem: `its epic cannot be read: ${error.message}` };
  }
}

function unreadable(problem: string): EpicFacts {
  const nothing = {
    tip: null,
    sessions: new Map(),
    isComplete: false,
    pending: 0,
    green: null,
    latest: null,
    completedAt: null,
  };
  return { ...nothing, problem };
}

async function describeEpic(ports: CleanupPorts, view: EpicView): Promise<EpicFacts> {
  const sessions = new Map<SessionId, { fate: EpicFate; at: Millis }>();
  for (const { id, value, fate } of listSessions(view, ports.home))
    sessions.set(id, { fate, at: value.endedAt ?? value.seenAt });
  const { tip, pending } = view;
  try {
    const green = readCurrent(view.state, 'lastGreen') && (await findGreen(ports, view.epic));
    const isComplete = sessions.size < bounds.sessions;
    const latest = tip.oid === null ? null : await findLatestCode(ports, view.epic);
    const newest = findNewest(view.state);
    const isDone = newest?.status === 'completed' && !isArchived(view.state);
    const completedAt = isDone ? (newest.endedAt ?? newest.seenAt) : null;
    const known = { sessions, isComplete, pending: pending.length, green, latest, completedAt };
    return { tip: tip.oid, problem: null, ...known };
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return unreadable(`a checkpoint of its epic is damaged: ${error.message}`);
  }
}

type EpicFate = ReturnType<typeof listSessions>[number]['fate'];

async function findGreen(ports: CleanupPorts, epic: EpicId): Promise<SessionId | null> {
  try {
    return (await findCheckpoint(ports, epic, 'green')).checkpoint.sessionId;
  } catch (error) {
    if (hasCode(error, 'CHECKPOINT_NOT_FOUND')) return null;
    throw error;
  }
}

/** So far back the newest code is looked for. */
const farBack = 500;

/** The session whose code `latest` means. Of clocks that are apart, the times of snapshots need not tell. */
async function findLatestCode(ports: CleanupPorts, epic: EpicId): Promise<SessionId | null> {
  for await (const { checkpoint } of walkEpic(ports, epic, () => {}, farBack)) {
    if (checkpoint.snapshot !== null) return checkpoint.sessionId;
  }
  return null;
}

/** What every checkpoint releases by itself, and a crash may have left. */
async function listFoldedJournals(ports: CleanupPorts, view: EpicView): Promise<Thing[]> {
  const [before] = view.saved?.commit.parents ?? [];
  if (before === undefined || view.journals.length === 0) return [];
  const folder = journalFolder(ports.home);
  const { state } = await readBase(ports.git, view.epic, before);
  return listFolded(folder, state, view.journals).flatMap(({ session, size }) => {
    const file = lookAt(journalPath(folder, session));
    return file ? [{ kind: 'journal' as const, session, size, file }] : [];
  });
}

/** This clone's, and what it keeps of those on remotes: as long as either is there, git frees nothing. */
async function listSnapshots({ git }: CleanupPorts): Promise<Thing[]> {
  const things: Thing[] = [];
  for (const [ref, oid] of [
    ...(await git.listRefs(snapshotsPrefix)),
    ...(await git.listRefs(remotesPrefix)),
  ]) {
    const whose = parseSnapshotRef(parseTrackedRef(ref) ?? ref);
    const at = whose && (await readTime(git, oid));
    if (whose && at !== null) things.push({ kind: 'snapshots', ...whose, ref, oid, at });
  }
  return things;
}

/** When a commit was made; null where it cannot be read. */
async function readTime(git: CleanupPorts['git'], oid: Oid): Promise<Millis | null> {
  try {
    return (await readCommit(git, oid)).committedAt;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null; // damaged: `orch doctor` has more to say of it than its age
  }
}

async function listTrash({ git }: CleanupPorts): Promise<Thing[]> {
  return [...(await git.listRefs(trashPrefix))].flatMap(([ref, oid]) => {
    const found = parseTrashRef(ref);
    return found ? [{ kind: 'trash' as const, ...found, ref, oid }] : [];
  });
}

/** What restores replaced. The newest of a working tree is what `--undo` brings back; so is one that is half-done. */
async function listUndoThings({ git, repository }: CleanupPorts): Promise<Thing[]> {
  const things: Extract<Thing, { kind: 'undo' }>[] = [];
  const newest = new Map<string | null, { readonly ref: string; readonly number: number }>();
  for (const [ref, oid] of await git.listRefs(undoPrefix)) {
    const named = parseUndoRef(ref);
    const found = named && (await readUndoIfWhole(git, oid));
    if (!named || !found) continue;
    const { worktree, number } = named;
    const isGone = worktree !== null && !statIfThere(join(repository.commonDir, 'worktrees', worktree));
    if (!found.undo.rolledBack && !isGone && number >= (newest.get(worktree)?.number ?? 0))
      newest.set(worktree, { ref, number });
    things.push({ kind: 'undo', worktree, isGone, isNewest: false, ref, oid, at: found.at });
  }
  return things.map((thing) => ({ ...thing, isNewest: newest.get(thing.worktree)?.ref === thing.ref }));
}

async function readUndoIfWhole(git: CleanupPorts['git'], oid: Oid) {
  try {
    return await readUndoCommit(git, oid);
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null; // damaged: `orch doctor` has more to say of it than its age
  }
}

/** `<run>@<session>`: a run is written by each session that works on it. */
function addRun(runs: Map<string, SessionId[]>, key: string): void {
  const [, run, session] = /^(.+)@(sess-[a-z0-9]{4,32})$/.exec(key) ?? [];
  if (run && session) runs.set(run, [...(runs.get(run) ?? []), session as SessionId]); // the shape was just checked
}
