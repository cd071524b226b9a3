import type { CheckpointDocument } from '../../checkpoint/document/document.ts';
import { epicRef } from '../../checkpoint/document/names-in-git.ts';
import { type Checkpoint, type Listing, listEpicCheckpoints } from '../../checkpoint/list.ts';
import { findCheckpoint, readSessionsOf } from '../../checkpoint/names.ts';
import { readSaved, type Saved } from '../../checkpoint/read-base.ts';
import { listEpics } from '../../checkpoint/tip.ts';
import type { Verification } from '../../checkpoint/verify.ts';
import { saveAndTrashEpic } from '../../epic/epics.ts';
import { hasCode, OrchError } from '../../errors.ts';
import { readLeftOut } from '../../git/snapshot/snapshot-message.ts';
import { parseEpicId } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import { checkFacts } from '../../record/clean-facts.ts';
import { epicExists, readView } from '../../record/view.ts';
import { rememberEpic } from '../../record/which/last-used.ts';
import type { Destination } from '../../record/which/which-session.ts';
import type { Fact } from '../../state/facts.ts';
import type { EpicId, Trigger } from '../../types.ts';
import { using, type Where } from '../../where.ts';
import { recordTo, saveByHand } from '../calls.ts';

export type SaveCheckpointInput = {
  readonly epicId: string;
  readonly trigger?: Trigger;
  /** Why, in a person's words; it becomes the checkpoint's summary. */
  readonly reason?: string;
  /** What happened, to record with it. */
  readonly facts?: readonly Fact[];
  /** Who worked: `claude-code`, `codex`, a person's name. */
  readonly agent?: string;
};

/** Saves a checkpoint of an epic, which is created if needed. The checkpoint is on disk when this returns. */
export async function saveCheckpoint(input: SaveCheckpointInput, where: Where = {}): Promise<Checkpoint> {
  const epic = parseEpicId(input.epicId);
  const { trigger = 'manual', reason = null, facts = [], agent = null } = input;
  return using(where, async (orch) => {
    await checkFacts(facts);
    return (await saveByHand(orch, epic, { trigger, reason, facts, agent }, await orch.readSettings()))
      .checkpoint;
  });
}

/** A checkpoint with its document. */
export type LoadedCheckpoint = { readonly checkpoint: Checkpoint; readonly document: Saved['document'] };

/** Loads the newest checkpoint of an epic; null if it has none. Throws if it is damaged, rather than load an older one. */
export async function loadLatestCheckpoint(
  epicId: string,
  where: Where = {},
): Promise<LoadedCheckpoint | null> {
  return (await hasCheckpoints(epicId, where)) ? loadCheckpoint(epicId, 'latest', where) : null;
}

/** Loads a checkpoint by its name: `58`, `latest~2`, `green`, `s7`, `2h ago`, its id or the start of its id. */
export async function loadCheckpoint(
  epicId: string,
  name: string,
  where: Where = {},
): Promise<LoadedCheckpoint> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => {
    const { checkpoint, commit } = await findCheckpoint(orch, epic, name);
    const { document } = await readSaved(orch.git, epic, commit);
    return { checkpoint, document };
  });
}

export type ListOptions = {
  /** How many at the most; all by default. */
  readonly limit?: number;
};

/** Lists an epic's checkpoints, newest first. */
export async function listCheckpoints(
  epicId: string,
  options: ListOptions = {},
  where: Where = {},
): Promise<readonly Checkpoint[]> {
  return (await readListing(epicId, options, where)).checkpoints;
}

/** Lists an epic's checkpoints with the newest number, and the damage that hides some of them. */
export async function readListing(
  epicId: string,
  options: ListOptions = {},
  where: Where = {},
): Promise<Listing> {
  const epic = parseEpicId(epicId);
  return using(where, (orch) => listEpicCheckpoints(orch, epic, options.limit ?? Number.POSITIVE_INFINITY));
}

/** Tells whether an epic has checkpoints in this clone. */
export async function hasCheckpoints(epicId: string, where: Where = {}): Promise<boolean> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => (await orch.git.readRef(epicRef(epic))) !== null);
}

/**
 * Moves an epic's checkpoints to the trash and returns its new ref, `refs/orchestration-local/trash/…`; null if there is
 * no such epic.
 */
export async function deleteEpicCheckpoints(epicId: string, where: Where = {}): Promise<string | null> {
  const epic = parseEpicId(epicId);
  return using(where, (orch) => saveAndTrashEpic(orch, epic));
}

/** Verifies every checkpoint of an epic, or of all epics, and lists the damaged ones. */
export async function verifyCheckpoints(
  epicId: string | null = null,
  where: Where = {},
): Promise<Verification> {
  const given = epicId === null ? null : parseEpicId(epicId);
  return using(where, async (orch) => {
    const epics = given === null ? await listEpics(orch.git) : [given];
    // Loaded late, so that commands which only save do not load it too.
    const { verifyWhole } = await import('../../checkpoint/verify.ts');
    const results: Verification[] = [];
    for (const epic of epics) results.push(await verifyWhole(orch, epic));
    return {
      checked: results.reduce((sum, { checked }) => sum + checked, 0),
      damaged: results.flatMap(({ damaged }) => damaged),
      remarks: results.flatMap(({ remarks }) => remarks),
    };
  });
}

type LeftOut = Awaited<ReturnType<typeof listLeftOut>>;

/** A checkpoint, with every file its snapshot left out. */
export type DetailedCheckpoint = LoadedCheckpoint & { readonly leftOut: LeftOut };

/** Saves a checkpoint in the running session, or in the one for the day's calls. */
export async function createCheckpoint(
  orch: Orch,
  place: Destination,
  reason: string | null,
): Promise<DetailedCheckpoint> {
  const { stored } = await recordTo(orch, place, [], { trigger: 'manual', reason });
  if (stored === null) throw new Error('the requested checkpoint was not made');
  await rememberEpic(orch, place.epic);
  const { checkpoint, document } = stored;
  return { checkpoint, document, leftOut: await listLeftOut(orch, document) };
}

/** Reads a checkpoint by its name, with every file its snapshot left out. */
export async function readCheckpoint(orch: Orch, epic: EpicId, name: string): Promise<DetailedCheckpoint> {
  const loaded = await loadCheckpoint(epic, name, orch);
  return { ...loaded, leftOut: await listLeftOut(orch, loaded.document) };
}

/** Explains why the code of a checkpoint is lost in this clone; null if it is not. */
export async function findLostCode(orch: Orch, checkpoint: Checkpoint): Promise<string | null> {
  return (await import('../../restore/missing-code.ts')).findLostCode(orch, checkpoint);
}

/** Lists an epic's checkpoints, newest first; none if the epic exists but has no checkpoint yet. */
export function listEpicOrBegun(
  orch: Orch,
  epic: EpicId,
  limit = Number.POSITIVE_INFINITY,
): Promise<Listing> {
  return listEpicCheckpoints(orch, epic, limit).catch(async (error: unknown): Promise<Listing> => {
    if (!hasCode(error, 'EPIC_NOT_FOUND') || !epicExists(await readView(orch, epic))) throw error;
    return { checkpoints: [], total: 0, damaged: null };
  });
}

/** Lists the newest checkpoints of one run of a plan; `ofRun` counts all of them. */
export async function listRunCheckpoints(
  orch: Orch,
  epic: EpicId,
  run: string,
  limit: number,
): Promise<Listing & { readonly ofRun: number }> {
  const listed = await listEpicOrBegun(orch, epic);
  const sessions = await readSessionsOf(orch, epic, run);
  const all = listed.checkpoints.filter(({ sessionId }) => sessions.has(sessionId));
  return { ...listed, checkpoints: all.slice(0, limit), ofRun: all.length };
}

type Made = { readonly checkpoint: Checkpoint; readonly document: CheckpointDocument };

/** Lists all files that a checkpoint's snapshot left out: its document names the first ones, the snapshot all. */
export async function listLeftOut(
  { git }: Orch,
  { leftOut = [], leftOutTotal = leftOut.length, snapshot }: CheckpointDocument,
): Promise<readonly { readonly path: string; readonly reason: string }[]> {
  const first = leftOut.map(({ path, reason }) => ({ path, reason }));
  if (leftOutTotal <= first.length || snapshot === null) return first;
  const all = await readLeftOut(git, snapshot);
  return all === null || all.length < first.length ? first : all;
}

/** Explains that a requested checkpoint was saved without the code; null if it has the code. */
export function explainMissingCode({ checkpoint, document }: Made): OrchError | null {
  const { snapshotFailed } = document;
  if (snapshotFailed === undefined) return null;
  const { seq, epicId } = checkpoint;
  const message = `checkpoint ${seq} of ${epicId} was made without the code: ${snapshotFailed}`;
  return new OrchError('SNAPSHOT_FAILED', message, {
    hint: `Everything else is saved. Fix the cause, then save the code with: orch checkpoint create -e ${epicId}`,
    data: { epicId, checkpoint, reason: snapshotFailed },
  });
}

/** Throws if a requested checkpoint was saved without the code. */
export function refuseWithoutCode(made: Made): void {
  const missing = explainMissingCode(made);
  if (missing) throw missing;
}
