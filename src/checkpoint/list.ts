import { hasCode, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { seqOf } from '../ids.ts';
import type { CheckpointId, EpicId, GateColour, Oid, SessionId, Trigger } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { parseMessage } from './message.ts';
import { readTip, type StorePorts } from './tip.ts';
import { epicRef } from './tree.ts';

/** A checkpoint as a list shows it: read from its commit's message alone. */
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
  /** All that the epic had cost by then. */
  readonly costUsd: number;
  readonly gates: GateColour;
  readonly snapshot: Oid | null;
  /** What of the code is not in it, in words: files that were left out, or all of it; null where nothing is missing. */
  readonly notSaved: string | null;
};

/** What a commit's message says of its checkpoint, or null where it is somebody else's commit. */
export function describeCommit(commit: Pick<Commit, 'oid' | 'authoredAt' | 'message'>): Checkpoint | null {
  const said = parseMessage(commit.message);
  if (said === null) return null;
  return {
    id: said.id,
    seq: seqOf(said.id),
    commit: commit.oid,
    epicId: said.epicId,
    sessionId: said.sessionId,
    sessionNumber: said.sessionNumber,
    timestamp: formatInstant(commit.authoredAt),
    trigger: said.trigger,
    reason: said.reason,
    summary: said.summary,
    costUsd: toUsd(said.cost),
    gates: said.gates,
    snapshot: said.snapshot,
    notSaved: said.notSaved,
  };
}

/** Where an epic's ref stands; `EPIC_NOT_FOUND` where there is none. */
export async function findEpic(git: GitEngine, epic: EpicId): Promise<Oid> {
  const oid = await git.readRef(epicRef(epic));
  if (oid !== null) return oid;
  throw epicNotFound(epic);
}

export function epicNotFound(epic: EpicId): OrchError {
  return new OrchError('EPIC_NOT_FOUND', `there is no epic ${epic} here`, {
    hint: 'See what there is with: orch status',
    data: { epicId: epic },
  });
}

/** A checkpoint in its place: 0 is the newest. */
export type Found = {
  readonly checkpoint: Checkpoint;
  readonly commit: Commit;
  readonly index: number;
  /** Was a merge seen on the way? Then what is older need not have a lower number. */
  readonly merged: boolean;
};

/** An epic's checkpoints, newest first; somebody else's commits are passed over. */
export async function* walkEpic(
  ports: StorePorts,
  epic: EpicId,
  onDamage: (error: OrchError) => void,
  most?: number,
): AsyncGenerator<Found> {
  let merged = false;
  let index = 0;
  const lost = (error: OrchError) => {
    index++; // the place of the one that cannot be read
    onDamage(error);
  };
  for await (const commit of walkEpicCommits(ports, epic, lost, most)) {
    merged ||= commit.parents.length > 1;
    const checkpoint = describeCommit(commit);
    // Older ones may say a name that the epic had before.
    if (checkpoint) yield { checkpoint: { ...checkpoint, epicId: epic }, commit, index: index++, merged };
  }
}

/** An epic's commits as far back as they can be read; `onDamage` is told where that is not to the beginning. */
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
 * An epic's commits, newest first. Where the newest itself cannot be read, the walk begins at the newest that can,
 * and `onDamage` is told why.
 */
export async function* walkEpicCommits(
  ports: StorePorts,
  epic: EpicId,
  onDamage: (error: OrchError) => void,
  most?: number,
): AsyncGenerator<Commit> {
  let isFirst = true;
  try {
    for await (const commit of ports.git.walk(await findEpic(ports.git, epic), most)) {
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
  /** What keeps some from being listed; null where all could be read. */
  readonly damaged: { readonly message: string; readonly object: string | null } | null;
};

/** The newest checkpoints of an epic. A damaged one does not hide those that can be reached without it. */
export async function listEpicCheckpoints(ports: StorePorts, epic: EpicId, limit: number): Promise<Listing> {
  // A few more than asked for: commits of others may be among them. If that is not enough, all are gone through.
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
