import { join } from 'node:path';
import type { Checkpoint } from '../checkpoint/list.ts';
import { explainWrites, hasCode, OrchError } from '../errors.ts';
import { applyRestore, type PreparedRestore, prepareRestore } from '../git/worktree/check-out.ts';
import { restoreExactBytes, saveExactBytes } from '../git/worktree/exact-bytes.ts';
import { diffTrees, emptyTree } from '../git/worktree/tree-diff.ts';
import { addUndo, dropUndo, listUndos, type Undo, updateUndo } from '../git/worktree/undo-refs.ts';
import { type Destination, findDestination } from '../record/which/which-session.ts';
import { recordTo } from '../session/calls.ts';
import { removeIfThere } from '../system/disk.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Oid } from '../types.ts';
import { findUndo, type RestorePorts, type RestoreTarget } from './find-target.ts';
import { type InterruptedRestore, readInterrupted, resolveInterrupted } from './interrupted.ts';
import { changesNothing, isPlainFile, type RestorePlan } from './plan-restore.ts';
import { type Proposal, proposeRestore } from './propose-restore.ts';

export type Restored = {
  readonly plan: RestorePlan;
  /** The checkpoint that holds the previous files; null if nothing had to change after all. */
  readonly saved: Checkpoint | null;
  /** The commit that `--undo` goes back to; null if nothing had to change after all. */
  readonly undo: Oid | null;
  /** The interrupted restores that were completed or rolled back first, newest first. */
  readonly settled: readonly InterruptedRestore[];
};

/**
 * Restores the code of a target into the working tree. The current files are saved first, as a checkpoint and as the
 * undo of this restore, both on disk before the first file changes. HEAD, branches and index do not change. An
 * interrupted restore is completed or rolled back before anything else; an undo undoes it.
 */
export function restoreFiles(ports: RestorePorts, target: RestoreTarget): Promise<Restored> {
  const lock = join(ports.home, 'locks', 'restore.lock');
  return explainWrites('the restore could not be finished', () =>
    withLock(ports, lock, () => restoreLocked(ports, target)),
  );
}

async function restoreLocked(ports: RestorePorts, target: RestoreTarget): Promise<Restored> {
  const undone = target.source.kind === 'undo' ? target.source.commit : null;
  if (undone !== null) await refuseOutdated(ports, undone);
  const settled: InterruptedRestore[] = [];
  for (;;) {
    const interrupted = await readInterrupted(ports);
    // Undoing an interrupted restore rolls it back.
    if (interrupted === null || interrupted.commit === undone) break;
    settled.push(
      await resolveInterrupted(ports, interrupted, (rollback) => saveAndWrite(ports, rollback, 'rollback')),
    );
  }
  return { ...(await saveAndWrite(ports, target, 'restore')), settled };
}

/** The user agreed to one particular undo; another restore may have run since. */
async function refuseOutdated(ports: RestorePorts, commit: Oid): Promise<void> {
  const { source } = await findUndo(ports);
  if (source.kind !== 'undo' || source.commit !== commit) throw undoOutdated();
}

export function undoOutdated(): OrchError {
  return new OrchError('REF_CONFLICT', 'another restore ran here in the meantime, so this undo is outdated', {
    hint: 'Nothing was changed. Run the same command again.',
  });
}

async function saveAndWrite(
  ports: RestorePorts,
  target: RestoreTarget,
  role: 'restore' | 'rollback',
): Promise<Omit<Restored, 'settled'>> {
  const first = await proposeRestore(ports, target);
  if (changesNothing(first.plan)) {
    if (role === 'restore' && target.source.kind === 'undo') {
      // Killed after git had written the files, but before they had their original bytes again.
      await writeOriginalBytes(ports, first, () => true);
      await markLastFinished(ports);
    }
    return { plan: first.plan, saved: null, undo: null };
  }
  const work = role === 'rollback' ? 'rolling back an interrupted restore' : describeWork(target);
  const saved = await saveCurrentFiles(ports, target.epic, work);
  // Planned again: files may have changed since the preview, and saving a checkpoint may write one itself.
  const proposal = await proposeRestore(ports, target);
  const { plan, present, worktree } = proposal;
  if (changesNothing(plan)) return { plan, saved: saved.checkpoint, undo: null };
  const prepared = await prepareRestore(ports, present, plan);
  try {
    const undo = await describeUndo(ports, proposal, prepared, { work, ...saved });
    const kept = await addUndo(ports, role === 'rollback' ? { ...undo, rolledBack: true } : undo);
    await applyRestore(ports, worktree, prepared, plan).catch(async (error: unknown) => {
      // No file was changed, so the previous undo stays the newest.
      if (hasCode(error, 'REF_CONFLICT')) await dropUndo(ports, kept);
      throw error;
    });
    await writeOriginalBytes(ports, proposal, (path) => plan.write.has(path));
    const { commit } = await updateUndo(ports, kept, { isFinished: true });
    if (role === 'restore') await recordRestored(ports, target, saved.checkpoint);
    return { plan, saved: saved.checkpoint, undo: commit };
  } finally {
    removeIfThere(ports.disk, prepared.index);
  }
}

/** An interrupted undo with nothing left to do is finished. */
async function markLastFinished(ports: RestorePorts): Promise<void> {
  const last = (await listUndos(ports)).findLast(({ undo }) => !undo.rolledBack);
  if (last && !last.undo.isFinished)
    await updateUndo(ports, last, { isFinished: true, rolledBack: last.undo.undoes === null });
}

function describeWork({ source, label }: RestoreTarget): string {
  return source.kind === 'undo' ? 'undoing a restore' : `restoring ${label}`;
}

/** Saves the restored code as the epic's newest checkpoint, so that sessions continue from it. */
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
    await recordTo(ports, await findPlace(ports, epic), [fact], { trigger: 'manual', reason });
  } catch (cause) {
    throw new OrchError('WRITE_FAILED', 'the files are restored, but the restore could not be recorded', {
      hint: `When the disk is writable again, save the files: orch checkpoint create --epic ${epic}`,
      cause,
    });
  }
}

type SavedFiles = { readonly checkpoint: Checkpoint; readonly snapshot: Oid };

async function saveCurrentFiles(ports: RestorePorts, epic: EpicId, work: string): Promise<SavedFiles> {
  const why = { trigger: 'manual' as const, reason: `Before ${work}` };
  const { stored } = await recordTo(ports, await findPlace(ports, epic), [], why);
  const snapshot = stored?.checkpoint.snapshot ?? null;
  if (stored && snapshot) return { checkpoint: stored.checkpoint, snapshot };
  throw new OrchError('WRITE_FAILED', 'your current files could not be saved, so nothing was restored', {
    hint: `Nothing was changed. Find out why: orch checkpoint create --epic ${epic}`,
  });
}

async function findPlace(ports: RestorePorts, epic: EpicId): Promise<Destination> {
  const place = findDestination(ports, epic, await ports.readSettings(), null);
  return { ...place, settings: { ...place.settings, snapshot: true } };
}

async function describeUndo(
  ports: RestorePorts,
  { target, present, worktree }: Proposal,
  { from, to }: PreparedRestore,
  { work, checkpoint, snapshot }: SavedFiles & { readonly work: string },
): Promise<Undo> {
  const touched = await diffTrees(ports.repository, from, to);
  const files = touched.flatMap(({ path, from: entry }) =>
    entry && isPlainFile(entry) ? [[path, entry] as const] : [],
  );
  return {
    epic: target.epic,
    tree: from,
    restored: [{ from, to }],
    bytes: await saveExactBytes(ports, worktree, new Map(files)),
    over: work,
    scope: target.scope,
    leftOut: present.leftOut.map(({ path, reason }) => ({ path, reason })),
    isFinished: false,
    saved: snapshot,
    savedSeq: checkpoint.seq,
    undoes: target.source.kind === 'undo' ? target.source.commit : null,
  };
}

/** In an undo, writes the bytes of the files that git's conversion (line endings, filters) would not give back. */
async function writeOriginalBytes(
  ports: RestorePorts,
  { target, worktree }: Proposal,
  isWanted: (path: string) => boolean,
): Promise<void> {
  const bytes = target.source.kind === 'undo' ? target.source.undo.bytes : null;
  if (bytes === null) return;
  const files = await diffTrees(ports.repository, emptyTree(ports.git.format), bytes);
  await restoreExactBytes(
    ports,
    worktree,
    files.filter(({ path }) => isWanted(path)),
  );
}
