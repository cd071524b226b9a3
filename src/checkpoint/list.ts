import { hasCode, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { seqOf } from '../ids.ts';
import type { CheckpointId, EpicId, GateColour, Oid, SessionId, Trigger } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { parseMessage } from './document/message.ts';
import { epicRef } from './document/names-in-git.ts';
import { readTip, type StorePorts } from './tip.ts';

/** A checkpoint in a list, read from its commit message alone. */
export type Checkpoint = {
  readonly id: CheckpointId;
  readonly seq: number;
  readonly commit: Oid;
  readonly epicId: EpicId;
  readonly sessionId: SessionId;
  readonly sessionNumber: number;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly trigger: Trigger;
  readonly reason: string | null;
  readonly summary: string;
  /** Everything the epic had cost by then. */
  readonly costUsd: number;
  readonly gates: GateColour;
  readonly snapshot: Oid | null;
  /** What the snapshot lacks, in words: files that were left out, or everything; null if it is complete. */
  readonly notSaved: string | null;
};

/** Reads a checkpoint from its commit message; null for a commit that orch did not make. */
export function describeCommit(commit: Pick<Commit, 'oid' | 'authoredAt' | 'message'>): Checkpoint | null {
  const message = parseMessage(commit.message);
  if (message === null) return null;
  const { id, epicId, sessionId, sessionNumber, trigger, reason, summary, gates, snapshot, notSaved } =
    message;
  return {
    id,
    seq: seqOf(id),
    commit: commit.oid,
    epicId,
    sessionId,
    sessionNumber,
    timestamp: formatInstant(commit.authoredAt),
    trigger,
    reason,
    summary,
    costUsd: toUsd(message.cost),
    gates,
    snapshot,
    notSaved,
  };
}

/** The commit an epic's ref points to; `EPIC_NOT_FOUND` if there is none. */
export async function readEpicRef(git: GitEngine, epic: EpicId): Promise<Oid> {
  const oid = await git.readRef(epicRef(epic));
  if (oid !== null) return oid;
  throw epicNotFound(epic);
}

export function epicNotFound(epic: EpicId): OrchError {
  return new OrchError('EPIC_NOT_FOUND', `no epic ${epic} here`, {
    hint: 'List the epics with: orch status',
    data: { epicId: epic },
  });
}

/** A checkpoint with its position: 0 is the newest. */
export type Found = {
  readonly checkpoint: Checkpoint;
  readonly commit: Commit;
  readonly index: number;
  /** Does a merge come after it? Then older checkpoints may have higher numbers. */
  readonly merged: boolean;
};

/** Walks an epic's checkpoints, newest first, and skips commits that orch did not make. */
export async function* walkEpic(
  ports: StorePorts,
  epic: EpicId,
  onDamage: (error: OrchError) => void,
  most?: number,
): AsyncGenerator<Found> {
  let merged = false;
  let index = 0;
  const lost = (error: OrchError) => {
    index++; // the position of the unreadable one
    onDamage(error);
  };
  for await (const commit of walkEpicCommits(ports, epic, lost, most)) {
    merged ||= commit.parents.length > 1;
    const checkpoint = describeCommit(commit);
    // Older ones may have a former name of the epic.
    if (checkpoint) yield { checkpoint: { ...checkpoint, epicId: epic }, commit, index: index++, merged };
  }
}

/** Walks an epic's commits as far back as they can be read; calls `onDamage` if that is not to the beginning. */
export async function* walkReadable(
  ports: StorePorts,
  epic: EpicId,
  onDamage: (error: OrchError) => void,
  most?: number,
): AsyncGenerator<Commit> {
  let isFirst = true;
  try {
    for await (const commit of walkEpicCommits(ports, epic, onDamage, most)) {
      isFirst = false;
      yield commit;
    }
  } catch (error) {
    if (isFirst || !hasCode(error, 'INTEGRITY')) throw error;
    onDamage(error);
  }
}

/**
 * Walks an epic's commits, newest first. If the newest cannot be read, the walk starts at the newest that can, and
 * `onDamage` gets the reason.
 */
export async function* walkEpicCommits(
  ports: StorePorts,
  epic: EpicId,
  onDamage: (error: OrchError) => void,
  most?: number,
): AsyncGenerator<Commit> {
  let isFirst = true;
  try {
    for await (const commit of ports.git.walk(await readEpicRef(ports.git, epic), most)) {
      isFirst = false;
      yield commit;
    }
  } catch (error) {
    if (!isFirst || !hasCode(error, 'INTEGRITY')) throw error;
    const { parents } = await readTip(ports, epic);
    if (parents.length === 0) throw error;
    onDamage(error);
    for (const { oid } of parents) yield* ports.git.walk(oid, most);
  }
}

export type Listing = {
  readonly checkpoints: readonly Checkpoint[];
  /** The number of the newest one. */
  readonly total: number;
  /** Why some are missing from the list; null if all could be read. */
  readonly damaged: { readonly message: string; readonly object: string | null } | null;
};

/** Lists the newest checkpoints of an epic. A damaged one does not hide those that can be reached without it. */
export async function listEpicCheckpoints(ports: StorePorts, epic: EpicId, limit: number): Promise<Listing> {
  // Commits of others may be among them, so a few more are read; if they are not enough, all are.
  const first = await listWithin(ports, epic, limit, limit + 10);
  return first.isAll ? first.listing : (await listWithin(ports, epic, limit)).listing;
}

async function listWithin(ports: StorePorts, epic: EpicId, limit: number, most?: number) {
  const checkpoints: Checkpoint[] = [];
  let oldest: Commit | null = null;
  let damaged: Listing['damaged'] = null;
  const onDamage = ({ message, data }: OrchError) => {
    damaged = { message, object: typeof data.object === 'string' ? data.object : null };
  };
  try {
    for await (const { checkpoint, commit } of walkEpic(ports, epic, onDamage, most)) {
      oldest = commit;
      if (checkpoints.length >= limit) break;
      checkpoints.push(checkpoint);
    }
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY') || checkpoints.length === 0) throw error;
    onDamage(error);
  }
  const listing: Listing = { checkpoints, total: checkpoints[0]?.seq ?? 0, damaged };
  return { listing, isAll: checkpoints.length >= limit || oldest?.parents.length === 0 };
}
