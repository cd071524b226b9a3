import { join as joinPath } from 'node:path';
import { OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { append } from '../git/objects/append-commits.ts';
import { isKnownAncestor } from '../git/objects/walk-history.ts';
import { nameFile } from '../ids.ts';
import type { Event } from '../state/facts.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Oid } from '../types.ts';
import { formatInstant } from '../units.ts';
import { composeCheckpoints, type Draft } from './compose.ts';
import { recordDeletedRefs } from './deleted-refs.ts';
import type { CheckpointDocument } from './document/document.ts';
import { epicRef, parseTrackedRef, remotesPrefix, trashRef } from './document/names-in-git.ts';
import { listBeside } from './document/run-files.ts';
import { type Checkpoint, describeCommit } from './list.ts';
import type { Base } from './read-base.ts';
import { foldShards, mergeShards, noShardEdits, type ShardEdits } from './shards/edit-shards.ts';
import { listRunFolders } from './shards/read-shards.ts';
import { listEpics, readTip, remember, type StorePorts, type Tip } from './tip.ts';

export type Stored = {
  readonly checkpoint: Checkpoint;
  readonly document: CheckpointDocument;
  /** What was known before it. */
  readonly base: Base;
};

/**
 * Runs `work` while other writers of the epic wait. The lock only avoids the race: what keeps a checkpoint from being
 * overwritten is that the ref moves only from the tip the checkpoint was composed on.
 */
export function withEpicLock<T>(ports: StorePorts, epic: EpicId, work: () => Promise<T>): Promise<T> {
  return withLock(ports, joinPath(ports.home, 'locks', nameFile(epic, '.lock')), work);
}

/** Reads the tip for the next checkpoint; refuses if none may be written there. */
export async function readTipToSaveOn(ports: StorePorts, epic: EpicId): Promise<Tip> {
  const tip = await readTip(ports, epic);
  if (tip.oid === null) await refuseCaseVariant(ports.git, epic);
  refuseToHide(epic, tip);
  return tip;
}

/**
 * Writes a draft as a checkpoint on a tip, then moves the ref from that tip; `REF_CONFLICT` if another process moved it
 * first. A draft with very many events becomes several checkpoints; the last one is returned.
 */
export async function saveOn(ports: StorePorts, epic: EpicId, tip: Tip, draft: Draft): Promise<Stored> {
  const tree = tip.parents[0]?.tree ?? null;
  const beside = tree === null ? [] : await listBeside(ports.git, tree, epic);
  const shards = await foldShardsOn(ports.git, epic, tip, draft.events);
  const composed = composeCheckpoints(epic, tip, draft, beside, shards, () => ports.random.id(6));
  const commits = await append(
    ports.git,
    { ref: epicRef(epic), expected: tip.oid, parents: tip.parents.map(({ oid }) => oid), base: tree },
    composed.map(({ commit }) => commit),
    draft.durable,
  );
  remember(ports, epic, commits, tip);
  setDamageAside(ports, epic, tip);
  for (const shard of shards.damaged)
    ports.report(`${epic}: records of tasks could not be read (${shard}); those recorded now are kept`);
  const [last, oid] = [composed.at(-1), commits.at(-1)];
  const checkpoint = last && oid && describeCommit({ ...last.commit, oid });
  if (!last || !checkpoint) throw new Error('the saved draft gave no checkpoint');
  return { checkpoint, document: last.document, base: tip };
}

/** Folds events into the shards at a tip. It has several parents if the checkpoint that merged them is unreadable. */
async function foldShardsOn(
  git: GitEngine,
  epic: EpicId,
  { parents, state }: Tip,
  events: readonly Event[],
): Promise<ShardEdits> {
  let joined = noShardEdits;
  for (const { tree } of parents) {
    const folders = await listRunFolders(git, tree, epic);
    const { objects, ...merged } = await mergeShards(git, joined.folders, folders, state.clock);
    joined = { ...merged, objects: [...joined.objects, ...objects] };
  }
  const { objects, ...folded } = await foldShards(git, joined.folders, events, state.clock);
  return { ...folded, objects: [...joined.objects, ...objects] };
}

function setDamageAside(ports: StorePorts, epic: EpicId, { damage }: Tip): void {
  for (const { commit, problem, object } of damage) {
    if (object !== null) ports.git.moveDamagedObject(object, joinPath(ports.home, 'damaged'));
    ports.report(
      `${epic}: a checkpoint could not be read (${commit.slice(0, 12)}: ${problem}); rebuilt without it`,
    );
  }
}

/** Refuses if no older checkpoint can be found: a new one would cut all of them off. */
function refuseToHide(epic: EpicId, { oid, parents, damage }: Tip): void {
  const lost = damage.find(({ part }) => part === 'commit');
  if (oid === null || parents.length > 0 || lost === undefined) return;
  throw new OrchError(
    'INTEGRITY',
    `neither the newest checkpoint of ${epic} nor its parents can be read: ${lost.problem}`,
    {
      hint: `Nothing was changed, and recorded events are kept. Another clone may have it: git fetch <remote> ${epicRef(epic)}`,
      data: { epicId: epic, commit: lost.commit },
    },
  );
}

/** Refuses a new epic whose ref would share a file with another one on a file system that ignores case. */
export async function refuseCaseVariant(git: GitEngine, epic: EpicId): Promise<void> {
  const same = (await listEpics(git)).find(
    (other) => other !== epic && other.toLowerCase() === epic.toLowerCase(),
  );
  if (same === undefined) return;
  throw new OrchError('EPIC_ID_INVALID', `${epic} differs only by case from the existing epic ${same}`, {
    hint: `Use --epic ${same}`,
    data: { epicId: epic, existing: same },
  });
}

/**
 * The positions of a ref here and as last seen on remotes. Remote positions are recorded too: once git has collected the
 * deleted commits, nothing tells any more that a remote's position is older.
 */
export async function listRefPositions(
  git: GitEngine,
  ref: string,
  oid: Oid,
): Promise<{ ref: string; oid: Oid }[]> {
  const stands = [{ ref, oid }];
  for (const [tracked, seen] of await git.listRefs(remotesPrefix)) {
    if (parseTrackedRef(tracked) !== ref || seen === oid) continue;
    if (await isKnownAncestor(git, seen, oid)) stands.push({ ref, oid: seen });
  }
  return stands;
}

/** Moves an epic's ref to the trash. Returns the new ref, or null if there was none. */
export async function trashEpic(ports: StorePorts, epic: EpicId): Promise<string | null> {
  const { git, clock, random } = ports;
  const oid = await git.readRef(epicRef(epic));
  if (oid === null) return null;
  const trash = trashRef(epic, formatInstant(clock.now()), random.id(4));
  await recordDeletedRefs(ports, await listRefPositions(git, epicRef(epic), oid));
  await git.moveRefs([
    { ref: trash, from: null, to: oid },
    { ref: epicRef(epic), from: oid, to: null },
  ]);
  return trash;
}
