import { join } from 'node:path';
import { epicRef, parseTrackedRef, remotesPrefix } from '../../checkpoint/document/names-in-git.ts';
import { archivedRuns, keptRuns, listBeside, runOfPath } from '../../checkpoint/document/run-files.ts';
import { walkEpic } from '../../checkpoint/list.ts';
import { findCheckpoint } from '../../checkpoint/names.ts';
import { readBase } from '../../checkpoint/read-base.ts';
import { listRunFolders } from '../../checkpoint/shards/read-shards.ts';
import { listTrashed } from '../../epic/epics.ts';
import { hasCode, isOrchError, nullFor } from '../../errors.ts';
import { readCommit } from '../../git/objects/read-objects.ts';
import type { Repository } from '../../git/repository.ts';
import { parseSnapshotRef, snapshotsPrefix } from '../../git/snapshot/snapshot-message.ts';
import { parseUndoRef, readUndoCommit, undoPrefix } from '../../git/worktree/undo-refs.ts';
import { listFolded } from '../../journal/pending.ts';
import { journalFolder, journalPath } from '../../journal/read.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { findNewest, listSessions, type SessionCondition } from '../../record/sessions.ts';
import { type EpicView, readView } from '../../record/view.ts';
import { listAllEpics } from '../../record/which/which-epic.ts';
import { readCurrent } from '../../state/current.ts';
import { isArchived } from '../../state/epic-names.ts';
import { bounds } from '../../state/lists.ts';
import { readRuns } from '../../state/runs.ts';
import { statIfThere } from '../../system/disk.ts';
import type { EpicId, Millis, SessionId } from '../../types.ts';
import { readFileFacts, readFileItems } from './file-items.ts';

import type { CleanupFacts, CleanupItem, EpicFacts } from './plan-cleanup.ts';

export type CleanupPorts = SessionPorts & { readonly repository: Repository };

/** Reads everything that may be removed, and what the decision depends on. Changes nothing. */
export async function readCleanupFacts(ports: CleanupPorts): Promise<CleanupFacts> {
  const epics = new Map<EpicId, EpicFacts>();
  const items: CleanupItem[] = [];
  const runs = new Map<string, SessionId[]>();
  for (const epic of await listAllEpics(ports)) {
    const view = await tryToRead(ports, epic);
    epics.set(epic, 'problem' in view ? unreadable(view.problem) : await describeEpic(ports, view));
    const oid = await ports.git.readRef(epicRef(epic)).catch(() => null); // unreadable: `tryToRead` has its problem
    if (oid !== null) items.push({ kind: 'epic', epic, ref: epicRef(epic), oid });
    if (oid !== null && epics.get(epic)?.completedAt != null) items.push({ kind: 'completed', epic });
    if ('problem' in view) continue;
    items.push(...(await listFoldedJournals(ports, view)), ...(await listRunItems(ports, view)));
    for (const key of Object.keys(view.state.runs)) addRun(runs, key);
  }
  items.push(...(await listSnapshots(ports)));
  items.push(...(await listTrashed(ports)).map((trashed) => ({ kind: 'trash' as const, ...trashed })));
  items.push(...readFileItems(ports, runs));
  items.push(...(await listUndoItems(ports)));
  return { epics, items };
}

/** An epic that is damaged, or was written by a newer orch, is left alone. */
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
  const sessions = new Map<SessionId, { condition: SessionCondition; at: Millis }>();
  for (const { id, value, condition } of listSessions(view, ports.home))
    sessions.set(id, { condition, at: value.endedAt ?? value.seenAt });
  const { tip, pending } = view;
  try {
    const found =
      readCurrent(view.state, 'lastGreen') &&
      (await findCheckpoint(ports, view.epic, 'green').catch(nullFor('CHECKPOINT_NOT_FOUND')));
    const green = found ? found.checkpoint.sessionId : null;
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

/** How many checkpoints are searched for the newest code. */
const mostSearched = 500;

/** Finds the session whose code `latest` means. The times of snapshots are no guide if clocks differ. */
async function findLatestCode(ports: CleanupPorts, epic: EpicId): Promise<SessionId | null> {
  for await (const { checkpoint } of walkEpic(ports, epic, () => {}, mostSearched)) {
    if (checkpoint.snapshot !== null) return checkpoint.sessionId;
  }
  return null;
}

/** Lists the journals that the next checkpoint would release, and that a crash may have left. */
async function listFoldedJournals(ports: CleanupPorts, view: EpicView): Promise<CleanupItem[]> {
  const [before] = view.saved?.commit.parents ?? [];
  if (before === undefined || view.journals.length === 0) return [];
  const folder = journalFolder(ports.home);
  const { state } = await readBase(ports.git, view.epic, before);
  return listFolded(folder, state, view.journals).flatMap(({ session, size }) => {
    const file = readFileFacts(journalPath(folder, session));
    return file ? [{ kind: 'journal' as const, session, size, file }] : [];
  });
}

/** Lists this clone's snapshots and those it has seen on remotes: git frees nothing as long as either ref exists. */
async function listSnapshots({ git }: CleanupPorts): Promise<CleanupItem[]> {
  const items: CleanupItem[] = [];
  for (const [ref, oid] of [
    ...(await git.listRefs(snapshotsPrefix)),
    ...(await git.listRefs(remotesPrefix)),
  ]) {
    const whose = parseSnapshotRef(parseTrackedRef(ref) ?? ref);
    const commit = whose && (await readCommit(git, oid).catch(nullFor('INTEGRITY'))); // `orch doctor` reports damage
    if (commit) items.push({ kind: 'snapshots', ...whose, ref, oid, at: commit.committedAt });
  }
  return items;
}

/** Lists what restores replaced. The newest one of a worktree, finished or not, is what `--undo` brings back. */
async function listUndoItems({ git, repository }: CleanupPorts): Promise<CleanupItem[]> {
  const items: Extract<CleanupItem, { kind: 'undo' }>[] = [];
  const newest = new Map<string | null, { readonly ref: string; readonly number: number }>();
  for (const [ref, oid] of await git.listRefs(undoPrefix)) {
    const named = parseUndoRef(ref);
    const found = named && (await readUndoCommit(git, oid).catch(nullFor('INTEGRITY')));
    if (!named || !found) continue;
    const { worktree, number } = named;
    const isGone = worktree !== null && !statIfThere(join(repository.commonDir, 'worktrees', worktree));
    if (!found.undo.rolledBack && !isGone && number >= (newest.get(worktree)?.number ?? 0))
      newest.set(worktree, { ref, number });
    items.push({ kind: 'undo', worktree, isGone, isNewest: false, ref, oid, at: found.at });
  }
  return items.map((item) => ({ ...item, isNewest: newest.get(item.worktree)?.ref === item.ref }));
}

/** Adds the session of a key `<run>@<session>`. */
function addRun(runs: Map<string, SessionId[]>, key: string): void {
  const [, run, session] = /^(.+)@(sess-[a-z0-9]{4,32})$/.exec(key) ?? [];
  if (run && session) runs.set(run, [...(runs.get(run) ?? []), session as SessionId]); // the shape was just checked
}

/** Lists the runs that keep files or records in the newest checkpoint of an epic. */
async function listRunItems({ git }: CleanupPorts, view: EpicView): Promise<CleanupItem[]> {
  const { epic, state, saved } = view;
  const newest = keptRuns(state);
  const archived = archivedRuns(state);
  if (saved === null) return [];
  const withRecords = await listRunFolders(git, saved.commit.tree, epic);
  const inTree = newest.size === 0 ? [] : (await listBeside(git, saved.commit.tree, epic)).map(runOfPath);
  return [...readRuns(state.runs)].flatMap(([run, { head }]): CleanupItem[] => {
    if (head === null) return [];
    const files = newest.has(run) ? inTree.filter((id) => id === run).length : 0;
    const hasRecords = withRecords.has(run) && head.status === 'succeeded' && !archived.has(run);
    const { plan, status, endedAt, at } = head;
    if (files === 0 && !hasRecords) return [];
    return [{ kind: 'run', epic, run, plan, status, files, hasRecords, at: endedAt ?? at, seen: at }];
  });
}
