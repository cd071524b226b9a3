import { join } from 'node:path';
import { describeCommit, walkEpic } from '../checkpoint/list.ts';
import { noteLost } from '../checkpoint/lost.ts';
import { parseTrackedRef, remotesPrefix } from '../checkpoint/remote-refs.ts';
import { documentName, epicFolder, epicRef, epicsPrefix } from '../checkpoint/tree.ts';
import { editTree } from '../git/edit-tree.ts';
import type { Commit } from '../git/engine.ts';
import { readCommit } from '../git/read.ts';
import { remakeHistory } from '../git/remake.ts';
import { parseSnapshotRef } from '../git/snapshot-ref.ts';
import { listUnreachableCommits } from '../git/storage.ts';
import { undoPrefix } from '../git/undo.ts';
import { findMissingPaths } from '../session/lost-code.ts';
import type { Oid } from '../types.ts';
import { formatInstant } from '../units.ts';
import type { DoctorPorts } from './doctor-types.ts';

/** A ref that leads to something of which a part is missing. */
export type BrokenRef = { readonly ref: string; readonly oid: Oid; readonly problem: string };

/**
 * Points refs to the same history without what is missing, or removes them where nothing of it is whole: as long as one
 * leads to what is missing, `git gc` and every push of it fail. What is known of it is noted first.
 */
export async function setRefsAside(ports: DoctorPorts, broken: readonly BrokenRef[]): Promise<void> {
  for (const { ref, oid, problem } of broken) {
    const remade = ref.startsWith(remotesPrefix)
      ? { now: null, moved: new Map<Oid, Oid>(), leftOut: [] } // the next sync brings it again
      : await remakeHistory(ports, oid, await findHidden(ports, ref), (commit) => replaceTree(ports, commit));
    if (remade === null) continue; // too long a history to be made again
    const { moved, leftOut } = remade;
    // What stood before an undo is no undo.
    const now = ref.startsWith(undoPrefix) && leftOut.includes(oid) ? null : remade.now;
    const checkpoints = await findCheckpointsOf(ports, ref, new Set([...leftOut, oid]), moved);
    const at = formatInstant(ports.clock.now());
    await noteLost(ports, { at, ref, oid, problem, now, checkpoints, remade: Object.fromEntries(moved) });
    await ports.git.moveRefs([{ ref, from: oid, to: now }]);
  }
}

/** What a ref may have led to, behind something that is missing. */
async function findHidden(ports: DoctorPorts, ref: string): Promise<Oid[]> {
  const whose = parseSnapshotRef(ref);
  const hidden: Oid[] = [];
  if (whose !== null && (await ports.git.readRef(epicRef(whose.epic))) !== null) {
    for await (const { checkpoint } of walkEpic(ports, whose.epic, passOver))
      if (checkpoint.sessionId === whose.session && checkpoint.snapshot) hidden.push(checkpoint.snapshot);
    for (const [tracked, theirs] of await ports.git.listRefs(remotesPrefix))
      if (parseTrackedRef(tracked) === ref) hidden.push(theirs);
  }
  if (!ref.startsWith(epicsPrefix)) return hidden;
  for (const oid of await listUnreachableCommits(ports.repository)) {
    const checkpoint = describeCommit(await readCommit(ports.git, oid));
    if (checkpoint && epicRef(checkpoint.epicId) === ref) hidden.push(oid);
  }
  return hidden;
}

const passOver = () => {}; // the check of checkpoints tells of damage

/**
 * A checkpoint is whole without older documents beside its own. A snapshot without some of its files would be another
 * one: it is left out.
 */
async function replaceTree(ports: DoctorPorts, commit: Commit): Promise<Oid | null> {
  const checkpoint = describeCommit(commit);
  if (checkpoint === null) return null;
  const { folders, files } = await findMissingPaths(ports, commit.tree);
  const own = join(...epicFolder(checkpoint.epicId), documentName(checkpoint.id));
  if (folders.length > 0 || files.includes(own)) return null;
  const edited = await editTree(ports.git, commit.tree, new Map(files.map((path) => [path, null])));
  await ports.git.writeObjects(edited.objects);
  return edited.tree;
}

/** The checkpoints whose code is lost with a snapshot ref. */
async function findCheckpointsOf(
  ports: DoctorPorts,
  ref: string,
  gone: ReadonlySet<Oid>,
  moved: ReadonlyMap<Oid, Oid>,
): Promise<string[]> {
  const whose = parseSnapshotRef(ref);
  if (whose === null || (await ports.git.readRef(`refs/orchestration/epics/${whose.epic}`)) === null)
    return [];
  const found: string[] = [];
  const passOver = () => {}; // the check of checkpoints tells of damage
  for await (const { checkpoint } of walkEpic(ports, whose.epic, passOver)) {
    const { snapshot, id } = checkpoint;
    if (snapshot !== null && gone.has(snapshot) && !moved.has(snapshot)) found.push(id);
  }
  return found;
}
