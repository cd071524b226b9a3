import { join as joinPath } from 'node:path';
import { hasCode, OrchError, systemCode, writeFailed } from '../errors.ts';
import { append } from '../git/append.ts';
import type { GitEngine } from '../git/engine.ts';
import { waitForRefLock } from '../git/ref-wait.ts';
import { nameFile } from '../ids.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Oid } from '../types.ts';
import { formatInstant } from '../units.ts';
import { listBeside } from './beside.ts';
import { type Composed, composeCheckpoints, type Draft } from './compose.ts';
import type { CheckpointDocument } from './document.ts';
import { forgetAll } from './forgotten.ts';
import { type Checkpoint, describeCommit } from './list.ts';
import type { Base } from './read.ts';
import { parseTrackedRef, remotesPrefix } from './remote-refs.ts';
import { isKnownAncestor } from './sync-facts.ts';
import { listEpics, readTip, remember, type StorePorts, type Tip } from './tip.ts';
import { epicRef, trashRef } from './tree.ts';

export type Stored = {
  readonly checkpoint: Checkpoint;
  readonly document: CheckpointDocument;
  /** What was known before it. */
  readonly base: Base;
};

const maxConflicts = 40;

/**
 * Saves a checkpoint: reads the newest one, has it drafted, writes it, and moves the ref from what was read.
 * If somebody else was faster, it is drafted again on theirs; nothing is ever written over.
 * The lock only saves writers the trouble of racing.
 */
export async function save(
  ports: StorePorts,
  epic: EpicId,
  makeDraft: (tip: Tip) => Promise<Draft | null>,
): Promise<Stored[]> {
  const lock = joinPath(ports.home, 'locks', nameFile(epic, '.lock'));
  try {
    return await withLock(ports, lock, () => saveLocked(ports, epic, makeDraft));
  } catch (error) {
    throw systemCode(error) ? writeFailed('the checkpoint could not be written', error) : error;
  }
}

async function saveLocked(
  ports: StorePorts,
  epic: EpicId,
  makeDraft: (tip: Tip) => Promise<Draft | null>,
): Promise<Stored[]> {
  for (let conflicts = 0; ; conflicts++) {
    const tip = await readTip(ports, epic);
    if (tip.oid === null) await refuseSameButForCase(ports.git, epic);
    refuseToHide(epic, tip);
    const draft = await makeDraft(tip);
    if (draft === null) return [];
    const tree = tip.parents[0]?.tree ?? null;
    const beside = tree === null ? [] : await listBeside(ports.git, tree, epic);
    const composed = composeCheckpoints(epic, tip, draft, beside, () => ports.random.id(6));
    try {
      return await write(ports, epic, tip, tree, composed, draft.durable);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || conflicts >= maxConflicts) throw error;
      const { lock } = error.data;
      if (typeof lock === 'string' && !(await waitForRefLock(ports, lock))) throw error;
    }
  }
}

async function write(
  ports: StorePorts,
  epic: EpicId,
  tip: Tip,
  tree: Oid | null,
  composed: readonly Composed[],
  durable: Promise<void>,
): Promise<Stored[]> {
  const parents = tip.parents.map(({ oid }) => oid);
  const drafts = composed.map(({ commit }) => commit);
  const commits = await append(
    ports.git,
    { ref: epicRef(epic), expected: tip.oid, parents, base: tree },
    drafts,
    durable,
  );
  remember(ports, epic, commits, tip);
  for (const { commit, problem, object } of tip.damage) {
    if (object !== null) ports.git.setAside(object, joinPath(ports.home, 'damaged'));
    ports.report(
      `${epic}: a checkpoint could not be read (${commit.slice(0, 12)}: ${problem}); rebuilt without it`,
    );
  }
  return composed.flatMap(({ document, commit }, index) => {
    const oid = commits[index];
    const checkpoint = oid && describeCommit({ ...commit, oid });
    return checkpoint ? [{ checkpoint, document, base: tip }] : [];
  });
}

/** Where not one older checkpoint can be found, a new one would cut off all of them: better none for now. */
function refuseToHide(epic: EpicId, { oid, parents, damage }: Tip): void {
  const lost = damage.find(({ part }) => part === 'commit');
  if (oid === null || parents.length > 0 || lost === undefined) return;
  throw new OrchError(
    'INTEGRITY',
    `the newest checkpoint of ${epic} cannot be read, nor where it came from: ${lost.problem}`,
    {
      hint: `Nothing was changed; recorded events are kept. Another clone may have it: git fetch <remote> ${epicRef(epic)}`,
      data: { epicId: epic, commit: lost.commit },
    },
  );
}

/** Refuses a new epic whose ref, on a file system that folds case, would be another's file. */
export async function refuseSameButForCase(git: GitEngine, epic: EpicId): Promise<void> {
  const same = (await listEpics(git)).find(
    (other) => other !== epic && other.toLowerCase() === epic.toLowerCase(),
  );
  if (same === undefined) return;
  throw new OrchError('EPIC_ID_INVALID', `there is an epic ${same}; ${epic} differs from it only by case`, {
    hint: `Use --epic ${same}`,
    data: { epicId: epic, existing: same },
  });
}

/**
 * Where a ref stands, here and as remotes were last seen to have it. Those are noted too: once git has collected what
 * was deleted, nobody can tell any more that what a remote has is older.
 */
export async function listStands(
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

/** Moves an epic's ref to the trash. Returns where it is now, or null where there was none. */
export async function trashEpic(ports: StorePorts, epic: EpicId): Promise<string | null> {
  const { git, clock, random } = ports;
  const oid = await git.readRef(epicRef(epic));
  if (oid === null) return null;
  const trash = trashRef(epic, formatInstant(clock.now()), random.id(4));
  await forgetAll(ports, await listStands(git, epicRef(epic), oid));
  await git.moveRefs([
    { ref: trash, from: null, to: oid },
    { ref: epicRef(epic), from: oid, to: null },
  ]);
  return trash;
}
