import { composeRenamed } from '../checkpoint/compose-merge.ts';
import { recordDeletedRefs } from '../checkpoint/deleted-refs.ts';
import { epicRef } from '../checkpoint/document/names-in-git.ts';
import { readRunFiles } from '../checkpoint/document/run-files.ts';
import { readEpicRef } from '../checkpoint/list.ts';
import { copyLocalBudget, keepLocalBudget } from '../checkpoint/local-budget.ts';
import { mergeHistory } from '../checkpoint/merge.ts';
import { nothing, readEnd } from '../checkpoint/read-base.ts';
import { listRunFolders } from '../checkpoint/shards/read-shards.ts';
import { listRefPositions, refuseCaseVariant } from '../checkpoint/store.ts';
import { listEpics, readTip, remember, type StorePorts } from '../checkpoint/tip.ts';
import { isOrchError, OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { append } from '../git/objects/append-commits.ts';
import { parseSnapshotRef, snapshotRef, snapshotsPrefix } from '../git/snapshot/snapshot-message.ts';
import type { SessionPorts } from '../record/ports.ts';
import { epicExists, readView } from '../record/view.ts';
import { renameUsed } from '../record/which/last-used.ts';
import { isRenamedTo, listFormerNames, renamedFact } from '../state/epic-names.ts';
import type { EpicId, Oid } from '../types.ts';
import { recordOnEpic, saveJournals, withEpic } from './epics.ts';

/** Renames an epic, with its history, money and snapshots. */
export async function renameEpic(ports: SessionPorts, from: EpicId, to: EpicId): Promise<void> {
  if (await finishRename(ports, from, to)) return;
  await refuseName(ports, from, to);
  await withEpic(ports, from, async () => {
    await recordOnEpic(ports, from, renamedFact(from, to), `Renamed to ${to}`);
    await applyRename(ports, from, to);
  });
}

/** Carries out a rename that is recorded, by this clone or, through a sync, by another. */
export async function applyRename(ports: SessionPorts, from: EpicId, to: EpicId): Promise<void> {
  await saveJournals(ports, from, `Saved before the epic became ${to}`);
  // The budget that applies here is copied first: without it, a higher one from another clone would apply.
  await copyLocalBudget(ports, from, to);
  await moveRefs(ports, from, to);
  renameUsed(ports.disk, ports.home, from, to);
}

/** Finishes a rename that a crash interrupted. False if there was no such rename. */
export async function finishRename(ports: SessionPorts, from: EpicId, to: EpicId): Promise<boolean> {
  return (await finishRenames(ports)).some((done) => done.from === from && done.to === to);
}

/** Refuses a new name that another epic has. */
export async function refuseName(ports: SessionPorts, from: EpicId, to: EpicId): Promise<void> {
  if (from === to)
    throw new OrchError('USAGE', `the epic is already called ${to}`, { hint: 'Choose another name.' });
  if (epicExists(await readView(ports, to)))
    throw new OrchError('USAGE', `there is already an epic ${to}`, {
      hint: `Choose another name, or rename that one first: orch epic rename ${to} NEW-NAME`,
      data: { epicId: to },
    });
  await refuseCaseVariant(ports.git, to);
}

export type Renamed = { readonly from: EpicId; readonly to: EpicId };

/**
 * Carries out renames that other clones have made, or that a crash interrupted: an epic that still has its former name
 * here is joined with the renamed one. An epic that a session is running on waits until the session has ended.
 */
export async function finishRenames(ports: SessionPorts, holdsBudgets = true): Promise<Renamed[]> {
  const renamed: Renamed[] = [];
  for (const to of await listEpics(ports.git)) {
    try {
      const { state, oid } = await readTip(ports, to);
      for (const { name: from } of listFormerNames(state)) {
        const old = await readTip(ports, from);
        if (oid === null || old.oid === null || !isRenamedTo(from, old.state, to, state)) continue;
        // A new epic may have been started under the former name.
        if (!(await shareHistory(ports.git, old.oid, oid))) continue;
        // A rename by another clone must not raise the budget here.
        if (holdsBudgets) await keepLocalBudget(ports, to, (await readView(ports, from)).state, state);
        await withEpic(ports, from, () => applyRename(ports, from, to));
        renamed.push({ from, to });
      }
    } catch (error) {
      if (!isOrchError(error)) throw error;
      ports.report(`${to} still has its former name here: ${error.message}`);
    }
  }
  return renamed;
}

/**
 * Moves the refs of an epic to another name. If that name exists already (another clone renamed the epic first, or a
 * crash interrupted this), both are merged. The old refs are remembered as deleted, so that no sync brings them back.
 */
async function moveRefs(ports: StorePorts, from: EpicId, to: EpicId): Promise<void> {
  const { git } = ports;
  const old = await readEpicRef(git, from);
  const snapshots = await planSnapshots(ports, from, to);
  const gone = [{ ref: epicRef(from), from: old, to: null }, ...snapshots.gone];
  for (const { ref, from: oid } of gone)
    await recordDeletedRefs(ports, await listRefPositions(git, ref, oid));
  if ((await git.readRef(epicRef(to))) === null) {
    const saved = await readEnd(git, from, old);
    const { tree } = saved.commit;
    const files = await readRunFiles(git, tree, from);
    const { commit } = composeRenamed(to, saved, files, await listRunFolders(git, tree, from));
    const target = { ref: epicRef(to), expected: null, parents: [old], base: null };
    const commits = await append(git, target, [commit], undefined, [...snapshots.made, ...gone]);
    remember(ports, to, commits, { ...nothing, oid: old, parents: [saved.commit] });
    return;
  }
  // Both are this clone's own, so no other clone has counted any of it.
  await mergeHistory(ports, to, old);
  await git.moveRefs([...snapshots.made, ...gone]);
}

/** Plans the snapshot refs to move. If a session has different snapshots under both names, the old ones stay until they expire. */
async function planSnapshots({ git }: StorePorts, from: EpicId, to: EpicId) {
  const all = await git.listRefs(snapshotsPrefix);
  const moves = [...all].flatMap(([ref, oid]) => {
    const whose = parseSnapshotRef(ref);
    if (whose?.epic !== from) return [];
    const target = snapshotRef(to, whose.session);
    const there = all.get(target);
    return there === undefined || there === oid ? [{ ref, oid, target, isThere: there === oid }] : [];
  });
  return {
    made: moves.flatMap(({ target, oid, isThere }) =>
      isThere ? [] : [{ ref: target, from: null, to: oid }],
    ),
    gone: moves.map(({ ref, oid }) => ({ ref, from: oid, to: null })),
  };
}

/** Do two histories have a root in common? */
async function shareHistory(git: GitEngine, a: Oid, b: Oid): Promise<boolean> {
  if ((await git.isAncestor(a, b)) || (await git.isAncestor(b, a))) return true;
  const [roots, others] = [await listRoots(git, a), await listRoots(git, b)];
  return roots.some((root) => others.includes(root));
}

async function listRoots(git: GitEngine, from: Oid): Promise<Oid[]> {
  const roots: Oid[] = [];
  for await (const { oid, parents } of git.walk(from)) if (parents.length === 0) roots.push(oid);
  return roots;
}
