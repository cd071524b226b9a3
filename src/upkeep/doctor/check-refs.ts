import { join } from 'node:path';
import { parseMessage } from '../../checkpoint/document/message.ts';
import {
  documentName,
  epicFolder,
  epicRef,
  epicsPrefix,
  parseTrackedRef,
  remotesPrefix,
} from '../../checkpoint/document/names-in-git.ts';
import { type Checkpoint, describeCommit, walkEpic } from '../../checkpoint/list.ts';
import { noteLost } from '../../checkpoint/lost-objects.ts';
import { readBase } from '../../checkpoint/read-base.ts';
import { readRemembered } from '../../checkpoint/tip.ts';
import { hasCode } from '../../errors.ts';
import type { Commit } from '../../git/engine.ts';
import { listUnreachableCommits } from '../../git/objects/reachable.ts';
import { readCommit } from '../../git/objects/read-objects.ts';
import { rebuildHistory } from '../../git/objects/rebuild-history.ts';
import { editTree } from '../../git/objects/tree-object.ts';
import { listBrokenRefs } from '../../git/refs/file-refs.ts';
import { replaceBrokenRef } from '../../git/refs/move-refs.ts';
import { parseSnapshotRef } from '../../git/snapshot/snapshot-message.ts';
import { undoPrefix } from '../../git/worktree/undo-refs.ts';
import { isEpicId, parseEpicId } from '../../ids.ts';
import { findMissingPaths } from '../../restore/missing-code.ts';
import { makeFolder } from '../../system/disk.ts';
import type { EpicId, Millis, Oid } from '../../types.ts';
import { formatInstant } from '../../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok } from './finding.ts';

/** A ref file without a commit id hides all its checkpoints, although every one of them still exists. */

export const refCheck: Check = {
  name: 'refs',
  run: (ports) => {
    const { commonDir, refStorage } = ports.repository;
    if (refStorage !== 'files') return ok('managed by git');
    // Epics come first, because snapshots are found through their epic.
    const broken = listBrokenRefs(commonDir, 'refs/orchestration/');
    if (broken.length === 0) return ok('all point to a commit');
    return fail(
      `no commit id in ${listSome(broken)}`,
      'Point it to the newest intact checkpoint: orch doctor --fix. The broken file is kept in .git/orchestration/damaged',
      async () => {
        for (const ref of broken) await repairRef(ports, ref);
      },
    );
  },
};

/** Keeps the broken file under another name, and replaces it if its commit can be found. */
async function repairRef(ports: DoctorPorts, ref: string): Promise<void> {
  const { disk, home, repository, random } = ports;
  const name = ref.slice(epicsPrefix.length);
  const epic = ref.startsWith(epicsPrefix) && isEpicId(name) ? parseEpicId(name) : null;
  const target = epic ? await findNewest(ports, epic) : await findSnapshot(ports, ref);
  if (target === null) throw new Error(`the commit of ${ref} is unknown here; another clone may know it`);
  const folder = join(home, 'damaged');
  await makeFolder(disk, folder);
  const { commonDir } = repository;
  disk.link(join(commonDir, ref), join(folder, `${ref.replaceAll('/', '-')}.${random.id(6)}`));
  await replaceBrokenRef(disk, commonDir, ref, target);
}

type IntactCheckpoint = { readonly oid: Oid; readonly at: Millis; readonly seq: number };

/**
 * Finds the newest intact checkpoint of an epic. An unreachable commit may belong to a deleted epic of the same name, or
 * was never acknowledged: if this clone remembers the ref, only commits on top of that count.
 */
async function findNewest({ git, repository, ...ports }: DoctorPorts, epic: EpicId): Promise<Oid | null> {
  const remembered = await readIntact(git, epic, readRemembered({ git, ...ports }, epic));
  const lost = git.name === 'native' ? await listUnreachableCommits(repository) : [];
  const [base] = remembered;
  let newest: IntactCheckpoint | null = base ?? null;
  for (const found of await readIntact(git, epic, lost)) {
    if (base && !(await git.isAncestor(base.oid, found.oid))) continue;
    if (newest === null || isNewer(found, newest)) newest = found;
  }
  return newest?.oid ?? null;
}

function isNewer(a: IntactCheckpoint, b: IntactCheckpoint): boolean {
  return a.at > b.at || (a.at === b.at && a.seq > b.seq);
}

/** Reads the commits that are intact checkpoints of this epic. */
async function readIntact(
  git: DoctorPorts['git'],
  epic: EpicId,
  oids: readonly Oid[],
): Promise<IntactCheckpoint[]> {
  const whole: IntactCheckpoint[] = [];
  for (const oid of oids) {
    try {
      const { message, committedAt } = await readCommit(git, oid);
      if (parseMessage(message)?.epicId !== epic) continue;
      const { damage, seq } = await readBase(git, epic, oid);
      if (damage.length === 0) whole.push({ oid, at: committedAt, seq });
    } catch (error) {
      if (!hasCode(error, 'INTEGRITY')) throw error;
    }
  }
  return whole;
}

/** Finds the newest snapshot that a checkpoint of its session names. */
async function findSnapshot(ports: DoctorPorts, ref: string): Promise<Oid | null> {
  const session = parseSnapshotRef(ref)?.session;
  return (await listWithCode(ports, ref)).find(({ sessionId }) => sessionId === session)?.snapshot ?? null;
}

/** Lists the checkpoints with code of the epic that a snapshot ref belongs to, the newest first. */
async function listWithCode(ports: DoctorPorts, ref: string) {
  const epic = parseSnapshotRef(ref)?.epic;
  if (epic === undefined || (await ports.git.readRef(epicRef(epic))) === null) return [];
  const found: (Checkpoint & { readonly snapshot: Oid })[] = [];
  const ignoreDamage = () => {}; // the check `checkpoints` reports it
  for await (const { checkpoint } of walkEpic(ports, epic, ignoreDamage)) {
    const { snapshot } = checkpoint;
    if (snapshot !== null) found.push({ ...checkpoint, snapshot });
  }
  return found;
}

/** A ref whose history has missing objects. */
export type BrokenRef = { readonly ref: string; readonly oid: Oid; readonly problem: string };

/**
 * Points refs to the same history without the missing parts, or deletes them if nothing intact is left: as long as a ref
 * leads to missing objects, `git gc` and every push of it fail. What was lost is written down first.
 */
export async function repairBrokenRefs(ports: DoctorPorts, broken: readonly BrokenRef[]): Promise<void> {
  for (const { ref, oid, problem } of broken) {
    const remade = ref.startsWith(remotesPrefix)
      ? { now: null, moved: new Map<Oid, Oid>(), leftOut: [] } // the next sync fetches it again
      : await rebuildHistory(ports, oid, await findHidden(ports, ref), (commit) =>
          replaceTree(ports, commit),
        );
    if (remade === null) continue; // the history is too long to rebuild
    const { moved, leftOut } = remade;
    // Without its own commit, the history of an undo ref holds no undo.
    const now = ref.startsWith(undoPrefix) && leftOut.includes(oid) ? null : remade.now;
    const lost = new Set([...leftOut, oid].filter((each) => !moved.has(each)));
    const withoutCode = (await listWithCode(ports, ref)).filter(({ snapshot }) => lost.has(snapshot));
    const checkpoints = withoutCode.map(({ id }) => id);
    const at = formatInstant(ports.clock.now());
    await noteLost(ports, { at, ref, oid, problem, now, checkpoints, remade: Object.fromEntries(moved) });
    await ports.git.moveRefs([{ ref, from: oid, to: now }]);
  }
}

/** Finds commits that a ref may have led to, behind a missing one. */
async function findHidden(ports: DoctorPorts, ref: string): Promise<Oid[]> {
  const session = parseSnapshotRef(ref)?.session;
  const own = (await listWithCode(ports, ref)).filter(({ sessionId }) => sessionId === session);
  const hidden = own.map(({ snapshot }) => snapshot);
  if (session !== undefined)
    for (const [tracked, theirs] of await ports.git.listRefs(remotesPrefix))
      if (parseTrackedRef(tracked) === ref) hidden.push(theirs);
  if (!ref.startsWith(epicsPrefix)) return hidden;
  for (const oid of await listUnreachableCommits(ports.repository)) {
    const checkpoint = describeCommit(await readCommit(ports.git, oid));
    if (checkpoint && epicRef(checkpoint.epicId) === ref) hidden.push(oid);
  }
  return hidden;
}

/**
 * Rebuilds the tree of a checkpoint without missing files: it needs only its own document, not the older ones. A
 * snapshot without some of its files would be a different one, so it is left out.
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
