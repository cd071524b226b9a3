import { type Checkpoint, type Listing, listEpicCheckpoints } from '../checkpoint/list.ts';
import { findCheckpoint } from '../checkpoint/names.ts';
import { readSaved, type Saved } from '../checkpoint/read.ts';
import { listEpics } from '../checkpoint/tip.ts';
import { epicRef } from '../checkpoint/tree.ts';
import type { Verification } from '../checkpoint/verify.ts';
import { parseEpicId } from '../ids.ts';
import { checkFacts } from '../session/clean.ts';
import { deleteEpic } from '../session/delete.ts';
import { saveByHand } from '../session/here.ts';
import type { Fact } from '../state/facts.ts';
import type { Trigger } from '../types.ts';
import { using, type Where } from './where.ts';

export type SaveCheckpointInput = {
  readonly epicId: string;
  readonly trigger?: Trigger;
  /** Why, in a person's words; the summary where it is given. */
  readonly reason?: string;
  /** What happened, to be folded into the state. */
  readonly facts?: readonly Fact[];
  /** Who worked: `claude-code`, `codex`, a person's name. */
  readonly agent?: string;
};

/** Saves a checkpoint of an epic, which is made if needed. It is on disk when this returns. */
export async function saveCheckpoint(input: SaveCheckpointInput, where: Where = {}): Promise<Checkpoint> {
  const epic = parseEpicId(input.epicId);
  const { trigger = 'manual', reason = null, facts = [], agent = null } = input;
  return using(where, async (orch) => {
    await checkFacts(facts);
    return (await saveByHand(orch, epic, { trigger, reason, facts, agent }, await orch.readSettings()))
      .checkpoint;
  });
}

/** A checkpoint with all it holds. */
export type LoadedCheckpoint = { readonly checkpoint: Checkpoint; readonly document: Saved['document'] };

/** The newest checkpoint of an epic, or null where it has none. A damaged one is an error, never an older one. */
export async function loadLatestCheckpoint(
  epicId: string,
  where: Where = {},
): Promise<LoadedCheckpoint | null> {
  return (await hasCheckpoints(epicId, where)) ? loadCheckpoint(epicId, 'latest', where) : null;
}

/** A checkpoint by its name: `58`, `latest~2`, `green`, `s7`, `2h ago`, its id or the beginning of it. */
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

/** An epic's checkpoints, newest first. */
export async function listCheckpoints(
  epicId: string,
  options: ListOptions = {},
  where: Where = {},
): Promise<readonly Checkpoint[]> {
  return (await readListing(epicId, options, where)).checkpoints;
}

/** The same, with the newest number, and with what damage keeps some from being listed. */
export async function readListing(
  epicId: string,
  options: ListOptions = {},
  where: Where = {},
): Promise<Listing> {
  const epic = parseEpicId(epicId);
  return using(where, (orch) => listEpicCheckpoints(orch, epic, options.limit ?? Number.POSITIVE_INFINITY));
}

/** Has the epic a checkpoint here? */
export async function hasCheckpoints(epicId: string, where: Where = {}): Promise<boolean> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => (await orch.git.readRef(epicRef(epic))) !== null);
}

/**
 * Moves an epic's checkpoints to the trash: its ref goes to `refs/orchestration-local/trash/…`, which is returned.
 * Null where there is no such epic.
 */
export async function deleteEpicCheckpoints(epicId: string, where: Where = {}): Promise<string | null> {
  const epic = parseEpicId(epicId);
  return using(where, (orch) => deleteEpic(orch, epic));
}

/** Reads every checkpoint of an epic, or of all epics, and says which are not as they were written. */
export async function verifyCheckpoints(
  epicId: string | null = null,
  where: Where = {},
): Promise<Verification> {
  const given = epicId === null ? null : parseEpicId(epicId);
  return using(where, async (orch) => {
    const epics = given === null ? await listEpics(orch.git) : [given];
    // A bundle of its own: every command that saves would load it too.
    const { verifyWhole } = await import('../checkpoint/verify.ts');
    const results: Verification[] = [];
    for (const epic of epics) results.push(await verifyWhole(orch, epic));
    return {
      checked: results.reduce((sum, { checked }) => sum + checked, 0),
      damaged: results.flatMap(({ damaged }) => damaged),
      remarks: results.flatMap(({ remarks }) => remarks),
    };
  });
}
