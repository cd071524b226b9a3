import { hasCode, isOrchError, OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { findBrokenLink } from '../git/objects/reachable.ts';
import { readCommit } from '../git/objects/read-objects.ts';
import type { Repository } from '../git/repository.ts';
import { snapshotRef } from '../git/snapshot/snapshot-message.ts';
import { parseOid, seqOf } from '../ids.ts';
import { lookUp } from '../keyed.ts';
import type { CheckpointId, EpicId, Oid } from '../types.ts';
import { toUsd } from '../units.ts';
import { findBriefFault } from './brief/write-brief.ts';
import { readDeletedRefs } from './deleted-refs.ts';
import type { CheckpointDocument } from './document/document.ts';
import { type MessageContent, parseMessage } from './document/message.ts';
import { epicRef } from './document/names-in-git.ts';
import { readEpicRef, walkEpicCommits } from './list.ts';
import { readSaved, type Saved } from './read-base.ts';
import { listRunFolders, readRunRecords } from './shards/read-shards.ts';
import type { StorePorts } from './tip.ts';

export type DamagedCheckpoint = {
  readonly epicId: EpicId;
  readonly commit: Oid;
  readonly id: CheckpointId | null;
  readonly code: string;
  readonly problem: string;
};

/** Something worth knowing about an undamaged checkpoint. */
export type Remark = {
  readonly epicId: EpicId;
  readonly id: CheckpointId;
  /** `snapshot`: not here, because it expired or was never fetched. `brief`: differs from the state. */
  readonly about: 'snapshot' | 'brief';
  readonly remark: string;
};

export type Verification = {
  readonly checked: number;
  readonly damaged: readonly DamagedCheckpoint[];
  readonly remarks: readonly Remark[];
};

/** How many checkpoints are read at once: git answers faster than one request at a time. */
const window = 64;

/** Reads every checkpoint of an epic, newest first, and lists those that are damaged. */
async function verifyEpic(ports: StorePorts, epic: EpicId): Promise<Verification> {
  const { git } = ports;
  const tip = await readEpicRef(git, epic);
  const forgotten = readDeletedRefs(ports.home);
  const damaged: DamagedCheckpoint[] = [];
  const remarks: Remark[] = [];
  let checked = 0;
  let waiting: Promise<Result>[] = [];
  const collect = async () => {
    for (const result of await Promise.all(waiting)) {
      if (result.damaged) damaged.push(result.damaged);
      remarks.push(...result.remarks);
    }
    waiting = [];
  };
  const reportDamage = (error: unknown) => {
    checked++;
    damaged.push(describeDamage(epic, objectOf(error) ?? tip, null, error));
  };
  try {
    for await (const commit of walkEpicCommits(ports, epic, reportDamage)) {
      const said = parseMessage(commit.message);
      if (said === null) continue; // not made by orch
      checked++;
      waiting.push(verifyOne(ports, epic, commit, said, forgotten, checked === 1));
      if (waiting.length >= window) await collect();
    }
    await collect();
  } catch (error) {
    await collect();
    reportDamage(error); // the history itself is broken here; older checkpoints cannot be reached
  }
  return { checked, damaged, remarks };
}

/** The same and, with native git, that everything else in their trees exists. */
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

type Forgotten = ReturnType<typeof readDeletedRefs>;
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
      throw new OrchError('INTEGRITY', `the message and the document of ${oid} differ in ${differing}`);
    await verifyShards(git, saved, isNewest);
    const fault = await findBriefFault(git, saved, isNewest);
    if (fault?.kind === 'damaged') throw new OrchError('INTEGRITY', `its brief: ${fault.problem}`);
    const brief = fault
      ? 'its brief differs from its state: another version of orch may have written it'
      : null;
    const snapshot = await remarkOnSnapshot(git, forgotten, epicId, saved.document);
    const remarks: Remark[] = [];
    if (brief) remarks.push({ epicId, id, about: 'brief', remark: brief });
    if (snapshot) remarks.push({ epicId, id, about: 'snapshot', remark: snapshot });
    return { damaged: null, remarks };
  } catch (error) {
    return { damaged: describeDamage(epicId, oid, id, error), remarks: [] };
  }
}

/** Are the records of runs those that the document names? Those of the newest checkpoint are read as well. */
async function verifyShards(git: GitEngine, { commit, document }: Saved, isNewest: boolean): Promise<void> {
  const { shards = {}, epicId, state } = document;
  const found = await listRunFolders(git, commit.tree, epicId);
  const other = [...new Set([...found.keys(), ...Object.keys(shards)])].find(
    (run) => found.get(run) !== lookUp(shards, run),
  );
  if (other !== undefined)
    throw new OrchError('INTEGRITY', `the records of ${other} are not those that ${document.id} names`);
  for (const [run, folder] of isNewest ? found : []) {
    const { damaged } = await readRunRecords(git, folder, run, state.clock);
    if (damaged.length > 0)
      throw new OrchError('INTEGRITY', `some records of ${run} cannot be read: ${damaged.join('; ')}`);
  }
}

/** A missing snapshot is not damage: snapshots expire, and need not be fetched. */
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
    // A ref that is here leads to all of its session's snapshots, so this one should be here too.
    if ((await git.readRef(ref)) !== null) throw error;
    return forgotten.has(ref)
      ? 'its snapshot has expired'
      : 'its snapshot is not here: it was not fetched, or expired elsewhere';
  }
}

/** The first field in which a message and its document differ. */
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
