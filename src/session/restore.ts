import { join } from 'node:path';
import type { Checkpoint } from '../checkpoint/list.ts';
import { isPlainFile, type RestorePlan } from '../checkpoint/restore.ts';
import { hasCode, OrchError, systemCode, writeFailed } from '../errors.ts';
import { editTree, type TreeEdit } from '../git/edit-tree.ts';
import { findEntry } from '../git/read.ts';
import { carryOut, type Prepared, prepareRestore } from '../git/restore.ts';
import { bringBytesBack, keepBytes } from '../git/restore-bytes.ts';
import { diffTrees, emptyTree } from '../git/tree-diff.ts';
import { type FoundUndo, pointUndo, readUndo, type Undo, writeUndo } from '../git/undo.ts';
import { removeIfThere } from '../system/files.ts';
import { withLock } from '../system/lock.ts';
import type { Oid } from '../types.ts';
import { placeFor, recordIn } from './here.ts';
import { type Proposal, proposeRestore } from './restore-plan.ts';
import type { RestorePorts, RestoreTarget } from './restore-target.ts';

export type Restored = {
  readonly plan: RestorePlan;
  /** The checkpoint that holds what was there before. */
  readonly saved: Checkpoint;
  /** The commit that `--undo` goes back to; null where nothing had to be changed after all. */
  readonly undo: Oid | null;
};

/**
 * Brings the code of a target into the working tree. What is there is saved first, as a checkpoint and as the undo of
 * this worktree, both on disk before the first file changes. HEAD, branches and index stay as they are.
 */
export function restore(ports: RestorePorts, target: RestoreTarget): Promise<Restored> {
  const lock = join(ports.home, 'locks', 'restore.lock');
  return withLock(ports, lock, () => restoreLocked(ports, target)).catch((error: unknown) => {
    throw systemCode(error) ? writeFailed('the restore could not be finished', error) : error;
  });
}

async function restoreLocked(ports: RestorePorts, target: RestoreTarget): Promise<Restored> {
  const saved = await saveFirst(ports, target);
  // Looked at again: files may have changed since it was shown, and a checkpoint may write one itself.
  const proposal = await proposeRestore(ports, target);
  const { plan, present, worktree } = proposal;
  if (isNothing(plan)) return { plan, saved: saved.checkpoint, undo: null };
  const prepared = await prepareRestore(ports, present, plan);
  try {
    const last = await readUndo(ports);
    const undo = await describeUndo(ports, proposal, prepared, { saved: saved.snapshot, last });
    await writeUndo(ports, undo);
    await carryOut(ports, worktree, prepared, plan).catch(async (error: unknown) => {
      // Nothing was changed: what could be undone before still can.
      if (hasCode(error, 'REF_CONFLICT')) await pointUndo(ports, last?.commit ?? null);
      throw error;
    });
    await giveBytesBack(ports, proposal);
    return { plan, saved: saved.checkpoint, undo: await writeUndo(ports, { ...undo, isFinished: true }) };
  } finally {
    removeIfThere(ports.disk, prepared.index);
  }
}

/** Notes that the last restore came to its end, where it was cut short with nothing left to do. */
export async function finishLast(ports: RestorePorts): Promise<void> {
  const last = await readUndo(ports);
  if (last && !last.undo.isFinished) await writeUndo(ports, { ...last.undo, isFinished: true });
}

/** Is everything as it is wanted already? */
export function isNothing({ write, remove }: RestorePlan): boolean {
  return write.size + remove.size === 0;
}

/** What is done, in words; an undo of an undo of an undo is an undo. */
function describeWork({ source, label }: RestoreTarget): string {
  return source.kind === 'undo' ? 'undoing a restore' : `restoring ${label}`;
}

async function saveFirst(
  ports: RestorePorts,
  target: RestoreTarget,
): Promise<{ checkpoint: Checkpoint; snapshot: Oid }> {
  const { epic } = target;
  const place = placeFor(ports, epic, await ports.readSettings(), null);
  const withSnapshot = { ...place, settings: { ...place.settings, snapshot: true } };
  const ask = { trigger: 'manual' as const, reason: `Before ${describeWork(target)}` };
  const { stored } = await recordIn(ports, withSnapshot, [], ask);
  const snapshot = stored?.checkpoint.snapshot ?? null;
  if (stored && snapshot) return { checkpoint: stored.checkpoint, snapshot };
  throw new OrchError('WRITE_FAILED', 'what is there now could not be saved, so nothing was restored', {
    hint: `Nothing was changed. See why with: orch checkpoint create --epic ${epic}`,
  });
}

/** What has to be known to undo this restore, and, where one before it was cut short, that one with it. */
async function describeUndo(
  ports: RestorePorts,
  { target, present, worktree }: Proposal,
  { from, to }: Prepared,
  { saved, last }: { readonly saved: Oid; readonly last: FoundUndo | null },
): Promise<Undo> {
  const { epic, scope, source } = target;
  const touched = await diffTrees(ports.repository, from, to);
  const files = touched.flatMap(({ path, from: entry }) =>
    entry && isPlainFile(entry) ? [[path, entry] as const] : [],
  );
  const bytes = await keepBytes(ports, worktree, new Map(files));
  const leftOut = present.leftOut.map(({ path, reason }) => ({ path, reason }));
  const undoes = source.kind === 'undo' ? source.commit : null;
  const undo = {
    epic,
    tree: from,
    restored: [{ from, to }],
    bytes,
    over: describeWork(target),
    scope,
    leftOut,
    isFinished: false,
    saved,
    undoes,
  };
  if (last === null || last.undo.isFinished || last.commit === undoes) return undo;
  const before = last.undo;
  return {
    ...undo,
    tree: await addSaved(ports, before, { from: present.tree, to: from }),
    restored: [...before.restored, { from, to }],
    bytes: before.bytes ?? bytes,
    scope: scope === null || before.scope === null ? null : [...before.scope, ...scope],
    leftOut: [...before.leftOut, ...leftOut],
  };
}

/** What a restore that was cut short began from, with the ignored files that only this one replaces. */
async function addSaved(
  { git, repository }: RestorePorts,
  before: Undo,
  saved: { readonly from: Oid; readonly to: Oid },
): Promise<Oid> {
  const edits = new Map<string, TreeEdit>();
  for (const { path, to } of await diffTrees(repository, saved.from, saved.to)) {
    const entries = await Promise.all(before.restored.map((done) => findEntry(git, done.to, path)));
    if (entries.every((entry) => entry === null)) edits.set(path, to);
  }
  if (edits.size === 0) return before.tree;
  const { tree, objects } = await editTree(git, before.tree, edits);
  await git.writeObjects(objects);
  return tree;
}

/** Where an undo has to give back bytes that git's conversion would not. */
async function giveBytesBack(ports: RestorePorts, { target, plan, worktree }: Proposal): Promise<void> {
  const bytes = target.source.kind === 'undo' ? target.source.undo.bytes : null;
  if (bytes === null) return;
  const files = await diffTrees(ports.repository, emptyTree(ports.git.format), bytes);
  await bringBytesBack(
    ports,
    worktree,
    files.filter(({ path }) => plan.write.has(path)),
  );
}
