import type { Checkpoint } from '../checkpoint/list.ts';
import { editTree, type TreeEdit } from '../git/objects/tree-object.ts';
import { readWorkTree } from '../git/snapshot/snapshot.ts';
import { findEntryOnDisk, isTruncatedCopy } from '../git/worktree/exact-bytes.ts';
import { diffTrees } from '../git/worktree/tree-diff.ts';
import { type KeptUndo, listUndos, updateUndo } from '../git/worktree/undo-refs.ts';
import type { Oid } from '../types.ts';
import { describeUndoTarget, type RestorePorts, type RestoreTarget } from './find-target.ts';
import { findInterrupted, isWithin, planRollback, type TouchedPath } from './plan-restore.ts';
import { showPaths } from './propose-restore.ts';

/** How an interrupted restore was resolved. */
export type InterruptedRestore = {
  /** `restoring ckpt 51`. */
  readonly over: string;
  readonly how: 'completed' | 'rolled_back';
  /** The files that were rolled back. */
  readonly files: readonly string[];
  /** Files that changed after the interruption, so they were left alone. */
  readonly kept: readonly string[];
  /** The checkpoint that holds what the interrupted restore left; null if no file was rolled back. */
  readonly saved: Checkpoint | null;
  /** The number of the checkpoint that holds the files from before it. */
  readonly before: number | null;
};

/** Reads the restore that was interrupted in this worktree; null if the newest one finished. */
export async function readInterrupted(ports: RestorePorts): Promise<KeptUndo | null> {
  return findInterrupted((await listUndos(ports)).map((kept) => ({ ...kept, ...kept.undo })));
}

type RollBack = (target: RestoreTarget) => Promise<{ readonly saved: Checkpoint | null }>;

/** Marks an interrupted restore as complete if it wrote everything, else rolls it back. Newer work is left alone. */
export async function resolveInterrupted(
  ports: RestorePorts,
  interrupted: KeptUndo,
  rollBack: RollBack,
): Promise<InterruptedRestore> {
  const { over, savedSeq: before = null } = interrupted.undo;
  const { maxFileBytes } = await ports.readSettings();
  const { tree: present } = await readWorkTree(ports, maxFileBytes);
  const touched = await readTouched(ports, interrupted, present);
  const plan = planRollback(touched);
  if (plan.kind === 'complete') {
    await updateUndo(ports, interrupted, { isFinished: true });
    return { over, before, how: 'completed', files: [], kept: [], saved: null };
  }
  const target = await describeRollback(ports, interrupted, { present, touched, paths: plan.paths });
  const { saved } = plan.paths.length === 0 ? { saved: null } : await rollBack(target);
  await updateUndo(ports, interrupted, { isFinished: false, rolledBack: true });
  const [files, kept] = [showPaths(plan.paths), showPaths(plan.keep)];
  return { over, before, how: 'rolled_back', files, kept, saved };
}

/** Every path of the restore: before it, as it should have become, and now. */
async function readTouched(
  { repository, git }: RestorePorts,
  { undo }: KeptUndo,
  present: Oid,
): Promise<TouchedPath[]> {
  const wanted = new Map<string, TreeEdit[]>();
  for (const { from, to } of undo.restored)
    for (const change of await diffTrees(repository, from, to))
      wanted.set(change.path, [...(wanted.get(change.path) ?? []), change.to]);
  const entriesOf = async (tree: Oid) =>
    new Map((await diffTrees(repository, tree, undo.tree)).map((change) => [change.path, change]));
  const differing = await entriesOf(present);
  const before = new Map<string, TreeEdit>();
  for (const { to } of undo.restored)
    for (const [path, change] of await entriesOf(to)) before.set(path, change.to);
  const touched: TouchedPath[] = [];
  for (const [path, targets] of wanted) {
    const changed = differing.get(path);
    const then = changed?.to ?? before.get(path) ?? null;
    // A file that is ignored by now is in no tree: its bytes show whether the restore wrote it.
    const now = (changed ? changed.from : then) ?? findEntryOnDisk({ repository, git }, path, targets);
    const blobs = [then, ...targets].flatMap((entry) => (entry ? [entry.oid] : []));
    const isCutShort = now !== null && (await isTruncatedCopy({ repository, git }, path, blobs));
    touched.push({ path, before: then, wanted: targets, present: now, isCutShort });
  }
  return touched;
}

/** The current files, except for those that the interrupted restore changed. */
async function describeRollback(
  { git }: RestorePorts,
  interrupted: KeptUndo,
  { present, touched, paths }: { present: Oid; touched: readonly TouchedPath[]; paths: readonly string[] },
): Promise<RestoreTarget> {
  const edits = new Map(
    touched.filter(({ path }) => paths.includes(path)).map(({ path, before }) => [path, before]),
  );
  const { tree, objects } = await editTree(git, present, edits);
  await git.writeObjects(objects);
  const target = describeUndoTarget(interrupted);
  const leftOut = target.leftOut.filter(({ path }) => isWithin(path, paths));
  return { ...target, tree, leftOut, scope: paths };
}
