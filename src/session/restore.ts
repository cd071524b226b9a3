import { join } from 'node:path';
import type { Checkpoint } from '../checkpoint/list.ts';
import { isPlainFile, type RestorePlan } from '../checkpoint/restore.ts';
import { hasCode, OrchError, systemCode, writeFailed } from '../errors.ts';
import { carryOut, type Prepared, prepareRestore } from '../git/restore.ts';
import { bringBytesBack, keepBytes } from '../git/restore-bytes.ts';
import { diffTrees, emptyTree } from '../git/tree-diff.ts';
import { addUndo, dropUndo, listUndos, type Undo, updateUndo } from '../git/undo.ts';
import { removeIfThere } from '../system/files.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Oid } from '../types.ts';
import { type Place, placeFor, recordIn } from './here.ts';
import { readInterrupted, type Settled, settle } from './restore-interrupted.ts';
import { type Proposal, proposeRestore } from './restore-plan.ts';
import { findUndo, type RestorePorts, type RestoreTarget } from './restore-target.ts';

export type Restored = {
  readonly plan: RestorePlan;
  /** The checkpoint that holds what was there before; null where nothing had to be changed after all. */
  readonly saved: Checkpoint | null;
  /** The commit that `--undo` goes back to; null where nothing had to be changed after all. */
  readonly undo: Oid | null;
  /** What was done first about restores that had been interrupted, the last one first. */
  readonly settled: readonly Settled[];
};

/**
 * Brings the code of a target into the working tree. What is there is saved first, as a checkpoint and as the undo of
 * this restore, both on disk before the first file changes. HEAD, branches and index stay as they are. A restore that
 * was interrupted is completed or rolled back before anything else; an undo undoes it.
 */
export function restore(ports: RestorePorts, target: RestoreTarget): Promise<Restored> {
  const lock = join(ports.home, 'locks', 'restore.lock');
  return withLock(ports, lock, () => restoreLocked(ports, target)).catch((error: unknown) => {
    throw systemCode(error) ? writeFailed('the restore could not be finished', error) : error;
  });
}

async function restoreLocked(ports: RestorePorts, target: RestoreTarget): Promise<Restored> {
  const undone = target.source.kind === 'undo' ? target.source.commit : null;
  if (undone !== null) await refuseOutdated(ports, undone);
  const roll = (rollback: RestoreTarget) => bringBack(ports, rollback, 'rollback');
  const settled: Settled[] = [];
  for (;;) {
    const half = await readInterrupted(ports);
    // To undo an interrupted restore is to roll it back.
    if (half === null || half.commit === undone) break;
    settled.push(await settle(ports, half, roll));
  }
  return { ...(await bringBack(ports, target)), settled };
}

/** What was shown and agreed to must still be what is undone. */
async function refuseOutdated(ports: RestorePorts, commit: Oid): Promise<void> {
  const { source } = await findUndo(ports);
  if (source.kind === 'undo' && source.commit === commit) return;
  throw new OrchError('REF_CONFLICT', 'another restore ran here meanwhile, so the undo would be another', {
    hint: 'Nothing was changed. Run the same command again.',
  });
}

async function bringBack(
  ports: RestorePorts,
  target: RestoreTarget,
  role: 'restore' | 'rollback' = 'restore',
): Promise<Omit<Restored, 'settled'>> {
  const first = await proposeRestore(ports, target);
  if (isNothing(first.plan)) {
    if (role === 'restore' && target.source.kind === 'undo') {
      // Killed after git had written the files, and before they had their own bytes again.
      await giveBytesBack(ports, first, () => true);
      await finishLast(ports);
    }
    return { plan: first.plan, saved: null, undo: null };
  }
  const work = role === 'rollback' ? `rolling back an interrupted restore` : describeWork(target);
  const saved = await saveFirst(ports, target.epic, work);
  // Looked at again: files may have changed since it was shown, and a checkpoint may write one itself.
  const proposal = await proposeRestore(ports, target);
  const { plan, present, worktree } = proposal;
  if (isNothing(plan)) return { plan, saved: saved.checkpoint, undo: null };
  const prepared = await prepareRestore(ports, present, plan);
  try {
    const undo = await describeUndo(ports, proposal, prepared, { work, ...saved });
    const kept = await addUndo(ports, role === 'rollback' ? { ...undo, rolledBack: true } : undo);
    await carryOut(ports, worktree, prepared, plan).catch(async (error: unknown) => {
      // Nothing was changed: what could be undone before still can.
      if (hasCode(error, 'REF_CONFLICT')) await dropUndo(ports, kept);
      throw error;
    });
    await giveBytesBack(ports, proposal, (path) => plan.write.has(path));
    const { commit } = await updateUndo(ports, kept, { isFinished: true });
    if (role === 'restore') await recordRestored(ports, target, saved.checkpoint);
    return { plan, saved: saved.checkpoint, undo: commit };
  } finally {
    removeIfThere(ports.disk, prepared.index);
  }
}

/** An undo that was interrupted with nothing left to do has reached its end. */
async function finishLast(ports: RestorePorts): Promise<void> {
  const last = (await listUndos(ports)).findLast(({ undo }) => !undo.rolledBack);
  if (last && !last.undo.isFinished)
    await updateUndo(ports, last, { isFinished: true, rolledBack: last.undo.undoes === null });
}

/** Is everything as it is wanted already? */
export function isNothing({ write, remove }: RestorePlan): boolean {
  return write.size + remove.size === 0;
}

/** What is done, in words; an undo of an undo of an undo is an undo. */
function describeWork({ source, label }: RestoreTarget): string {
  return source.kind === 'undo' ? 'undoing a restore' : `restoring ${label}`;
}

/** The restored code is the epic's newest from now on: a checkpoint of its own, so that nothing continues from the other. */
async function recordRestored(
  ports: RestorePorts,
  { epic, source, scope }: RestoreTarget,
  { id, seq }: Checkpoint,
): Promise<void> {
  const from = source.kind === 'undo' ? null : source.checkpoint;
  const fact = {
    kind: 'restored' as const,
    checkpoint: from && { id: from.id, seq: from.seq },
    leftBehind: { id, seq },
    paths: scope?.length ?? null,
    isUndo: source.kind === 'undo',
  };
  const reason = from ? `Restored ckpt ${from.seq}` : 'Restore undone';
  try {
    await recordIn(ports, await snapshotPlace(ports, epic), [fact], { trigger: 'manual', reason });
  } catch (cause) {
    throw new OrchError('WRITE_FAILED', 'the files are restored, but the restore could not be recorded', {
      hint: `When the disk can be written again, save them: orch checkpoint create --epic ${epic}`,
      cause,
    });
  }
}

type Saved = { readonly checkpoint: Checkpoint; readonly snapshot: Oid };

async function saveFirst(ports: RestorePorts, epic: EpicId, work: string): Promise<Saved> {
  const reason = `Before ${work}`;
  const { stored } = await recordIn(ports, await snapshotPlace(ports, epic), [], {
    trigger: 'manual',
    reason,
  });
  const snapshot = stored?.checkpoint.snapshot ?? null;
  if (stored && snapshot) return { checkpoint: stored.checkpoint, snapshot };
  throw new OrchError('WRITE_FAILED', 'what is there now could not be saved, so nothing was restored', {
    hint: `Nothing was changed. See why with: orch checkpoint create --epic ${epic}`,
  });
}

async function snapshotPlace(ports: RestorePorts, epic: EpicId): Promise<Place> {
  const place = placeFor(ports, epic, await ports.readSettings(), null);
  return { ...place, settings: { ...place.settings, snapshot: true } };
}

/** What has to be known to undo this restore. */
async function describeUndo(
  ports: RestorePorts,
  { target, present, worktree }: Proposal,
  { from, to }: Prepared,
  { work, checkpoint, snapshot }: Saved & { readonly work: string },
): Promise<Undo> {
  const touched = await diffTrees(ports.repository, from, to);
  const files = touched.flatMap(({ path, from: entry }) =>
    entry && isPlainFile(entry) ? [[path, entry] as const] : [],
  );
  return {
    epic: target.epic,
    tree: from,
    restored: [{ from, to }],
    bytes: await keepBytes(ports, worktree, new Map(files)),
    over: work,
    scope: target.scope,
    leftOut: present.leftOut.map(({ path, reason }) => ({ path, reason })),
    isFinished: false,
    saved: snapshot,
    savedSeq: checkpoint.seq,
    undoes: target.source.kind === 'undo' ? target.source.commit : null,
  };
}

/** Where an undo has to give back bytes that git's conversion would not. */
async function giveBytesBack(
  ports: RestorePorts,
  { target, worktree }: Proposal,
  isWanted: (path: string) => boolean,
): Promise<void> {
  const bytes = target.source.kind === 'undo' ? target.source.undo.bytes : null;
  if (bytes === null) return;
  const files = await diffTrees(ports.repository, emptyTree(ports.git.format), bytes);
  await bringBytesBack(
    ports,
    worktree,
    files.filter(({ path }) => isWanted(path)),
  );
}
