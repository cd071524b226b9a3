import { hasCode, isOrchError, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { snapshotRef } from '../git/snapshot-ref.ts';
import { findBrokenLink } from '../git/storage.ts';
import { parseOid, seqOf } from '../ids.ts';
import type { CheckpointId, EpicId, Oid } from '../types.ts';
import { toUsd } from '../units.ts';
import { findBriefFault } from './brief/check.ts';
import type { CheckpointDocument } from './document.ts';
import { readForgotten } from './forgotten.ts';
import { findEpic, walkEpicCommits } from './list.ts';
import { type MessageContent, parseMessage } from './message.ts';
import { readSaved } from './read.ts';
import type { StorePorts } from './tip.ts';
import { epicRef } from './tree.ts';

export type DamagedCheckpoint = {
  readonly epicId: EpicId;
  readonly commit: Oid;
  readonly id: CheckpointId | null;
  readonly code: string;
  readonly problem: string;
};

/** Something worth knowing of a checkpoint that is as it was written. */
export type Remark = {
  readonly epicId: EpicId;
  readonly id: CheckpointId;
  /** `snapshot`: it is not here, because it expired or was never fetched. `brief`: it says something else. */
  readonly about: 'snapshot' | 'brief';
  readonly remark: string;
};

export type Verification = {
  readonly checked: number;
  readonly damaged: readonly DamagedCheckpoint[];
  readonly remarks: readonly Remark[];
};

/** How many are read at once: git answers faster than it can be asked one by one. */
const window = 64;

/** Reads every checkpoint of an epic from its newest back, and says which are not as they were written. */
export async function verifyEpic(ports: StorePorts, epic: EpicId): Promise<Verification> {
  const { git } = ports;
  const tip = await findEpic(git, epic);
  const forgotten = readForgotten(ports.home);
  const damaged: DamagedCheckpoint[] = [];
  const remarks: Remark[] = [];
  let checked = 0;
  let waiting: Promise<Result>[] = [];
  const settle = async () => {
    for (const result of await Promise.all(waiting)) {
      if (result.damaged) damaged.push(result.damaged);
      remarks.push(...result.remarks);
    }
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
      waiting.push(verifyOne(ports, epic, commit, said, forgotten, checked === 1));
      if (waiting.length >= window) await settle();
    }
    await settle();
  } catch (error) {
    await settle();
    complain(error); // the history itself is broken here; what is older cannot be reached
  }
  return { checked, damaged, remarks };
}

/** The same, and, where git is at hand, that everything else in their trees is there too. */
export async function verifyWhole(
  ports: StorePorts & { readonly repository: Repository },
  epicId: EpicId,
): Promise<Verification> {
  const found = await verifyEpic(ports, epicId);
  const commit = await ports.git.readRef(epicRef(epicId));
  if (found.damaged.length > 0 || ports.git.name !== 'native' || commit === null) return found;
  const problem = await findBrokenLink(ports.repository, [commit], []);
  if (problem === null) return found;
  return { ...found, damaged: [{ epicId, commit, id: null, code: 'INTEGRITY', problem }] };
}

type Forgotten = ReturnType<typeof readForgotten>;
type Result = { readonly damaged: DamagedCheckpoint | null; readonly remarks: readonly Remark[] };

async function verifyOne(
  { git }: StorePorts,
  epicId: EpicId,
  { oid }: Commit,
  { id, ...said }: MessageContent,
  forgotten: Forgotten,
  isNewest: boolean,
): Promise<Result> {
  try {
    const saved = await readSaved(git, epicId, await readCommit(git, oid));
    const differing = findDifference({ id, ...said }, saved.document);
    if (differing !== null)
      throw new OrchError('INTEGRITY', `the message of ${oid} and its document differ in ${differing}`);
    const fault = await findBriefFault(git, saved, isNewest);
    if (fault?.kind === 'damaged') throw new OrchError('INTEGRITY', `its brief: ${fault.problem}`);
    const brief = fault ? 'its brief is not what its state gives: another orch may have written it' : null;
    const snapshot = await remarkOnSnapshot(git, forgotten, epicId, saved.document);
    const remarks: Remark[] = [];
    if (brief) remarks.push({ epicId, id, about: 'brief', remark: brief });
    if (snapshot) remarks.push({ epicId, id, about: 'snapshot', remark: snapshot });
    return { damaged: null, remarks };
  } catch (error) {
    return { damaged: describeDamage(epicId, oid, id, error), remarks: [] };
  }
}

/** That a snapshot is not here is no damage: it is let go of after a while, and need not be fetched. */
async function remarkOnSnapshot(
  git: GitEngine,
  forgotten: Forgotten,
  epic: EpicId,
  { snapshot, sessionId }: CheckpointDocument,
): Promise<string | null> {
  if (snapshot === null) return null;
  try {
    await readCommit(git, snapshot);
    return null;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    const ref = snapshotRef(epic, sessionId);
    // A ref that is here leads to all of its session's snapshots: then it should be there too.
    if ((await git.readRef(ref)) !== null) throw error;
    return forgotten.has(ref)
      ? 'its snapshot has expired'
      : 'its snapshot is not here: not fetched, or expired elsewhere';
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
