import { isOrchError, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { readCommit } from '../git/read.ts';
import { parseOid, seqOf } from '../ids.ts';
import type { CheckpointId, EpicId, Oid } from '../types.ts';
import { toUsd } from '../units.ts';
import type { CheckpointDocument } from './document.ts';
import { findEpic, walkEpicCommits } from './list.ts';
import { type MessageContent, parseMessage } from './message.ts';
import { readSaved } from './read.ts';
import type { StorePorts } from './tip.ts';

export type DamagedCheckpoint = {
  readonly epicId: EpicId;
  readonly commit: Oid;
  readonly id: CheckpointId | null;
  readonly code: string;
  readonly problem: string;
};

export type Verification = { readonly checked: number; readonly damaged: readonly DamagedCheckpoint[] };

/** How many are read at once: git answers faster than it can be asked one by one. */
const window = 64;

/** Reads every checkpoint of an epic from its newest back, and says which are not as they were written. */
export async function verifyEpic(ports: StorePorts, epic: EpicId): Promise<Verification> {
  const { git } = ports;
  const tip = await findEpic(git, epic);
  const damaged: DamagedCheckpoint[] = [];
  let checked = 0;
  let waiting: Promise<DamagedCheckpoint | null>[] = [];
  const settle = async () => {
    for (const result of await Promise.all(waiting)) if (result) damaged.push(result);
    waiting = [];
  };
  const complain = (error: unknown) => {
    checked++;
    damaged.push(describeDamage(epic, objectOf(error) ?? tip, null, error));
  };
  try {
    for await (const commit of walkEpicCommits(ports, epic, complain)) {
      const said = parseMessage(commit.message);
      if (said === null) continue; // somebody else's commit: nothing of ours to check
      checked++;
      waiting.push(verifyOne(git, epic, commit, said));
      if (waiting.length >= window) await settle();
    }
    await settle();
  } catch (error) {
    await settle();
    complain(error); // the history itself is broken here; what is older cannot be reached
  }
  return { checked, damaged };
}

async function verifyOne(
  git: GitEngine,
  epic: EpicId,
  { oid }: Commit,
  said: MessageContent,
): Promise<DamagedCheckpoint | null> {
  try {
    const { document } = await readSaved(git, epic, await readCommit(git, oid));
    const differing = findDifference(said, document);
    if (differing === null) return null;
    throw new OrchError('INTEGRITY', `the message of ${oid} and its document differ in ${differing}`);
  } catch (error) {
    return describeDamage(epic, oid, said.id, error);
  }
}

/** What a message says that its document does not. */
function findDifference(said: MessageContent, document: CheckpointDocument): string | null {
  const same: { readonly [what: string]: boolean } = {
    seq: document.seq === seqOf(said.id),
    session: document.sessionId === said.sessionId && document.sessionNumber === said.sessionNumber,
    trigger: document.trigger === said.trigger,
    reason: document.reason === said.reason,
    cost: document.costUsd === toUsd(said.cost),
    snapshot: document.snapshot === said.snapshot,
    head: document.gitCommit === said.head,
  };
  return Object.keys(same).find((what) => same[what] === false) ?? null;
}

function describeDamage(
  epicId: EpicId,
  commit: Oid,
  id: CheckpointId | null,
  error: unknown,
): DamagedCheckpoint {
  if (!isOrchError(error) || !['INTEGRITY', 'FORMAT_UNSUPPORTED'].includes(error.code)) throw error;
  return { epicId, commit, id, code: error.code, problem: error.message };
}

function objectOf(error: unknown): Oid | null {
  return isOrchError(error) && typeof error.data.object === 'string' ? parseOid(error.data.object) : null;
}
