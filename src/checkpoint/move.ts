import { append } from '../git/append.ts';
import type { GitEngine } from '../git/engine.ts';
import { parseSnapshotRef, snapshotRef, snapshotsPrefix } from '../git/snapshot-ref.ts';
import type { EpicId, Oid } from '../types.ts';
import { readRunFiles } from './beside.ts';
import { composeRenamed } from './derived.ts';
import { forgetAll } from './forgotten.ts';
import { findEpic } from './list.ts';
import { mergeHistory } from './merge.ts';
import { nothing, readEnd } from './read.ts';
import { listStands } from './store.ts';
import { remember, type StorePorts } from './tip.ts';
import { epicRef } from './tree.ts';

/**
 * Moves an epic to another name, with its snapshots. Where that name is there already (another clone renamed it first,
 * or a crash came between), both become one. Old refs are noted as let go of, so that no sync brings them back.
 */
export async function moveEpic(ports: StorePorts, from: EpicId, to: EpicId): Promise<void> {
  const { git } = ports;
  const old = await findEpic(git, from);
  const snapshots = await planSnapshots(ports, from, to);
  const gone = [{ ref: epicRef(from), from: old, to: null }, ...snapshots.gone];
  for (const { ref, from: oid } of gone) await forgetAll(ports, await listStands(git, ref, oid));
  if ((await git.readRef(epicRef(to))) === null) {
    const saved = await readEnd(git, from, old);
    const { commit } = composeRenamed(to, saved, await readRunFiles(git, saved.commit.tree, from));
    const target = { ref: epicRef(to), expected: null, parents: [old], base: null };
    const commits = await append(git, target, [commit], undefined, [...snapshots.made, ...gone]);
    remember(ports, to, commits, { ...nothing, oid: old, parents: [saved.commit] });
    return;
  }
  // Both are this clone's own: nothing that one of them has more was counted by anybody else.
  await mergeHistory(git, to, old);
  await git.moveRefs([...snapshots.made, ...gone]);
}

/** Where a session has snapshots under both names, those of the old one stay: they expire as its own would. */
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

/** Do two histories have a beginning in common? */
export async function shareHistory(git: GitEngine, a: Oid, b: Oid): Promise<boolean> {
  if ((await git.isAncestor(a, b)) || (await git.isAncestor(b, a))) return true;
  const [roots, others] = [await listRoots(git, a), await listRoots(git, b)];
  return roots.some((root) => others.includes(root));
}

async function listRoots(git: GitEngine, from: Oid): Promise<Oid[]> {
  const roots: Oid[] = [];
  for await (const { oid, parents } of git.walk(from)) if (parents.length === 0) roots.push(oid);
  return roots;
}
