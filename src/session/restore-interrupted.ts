import type { Checkpoint } from '../checkpoint/list.ts';
import { isWithin } from '../checkpoint/restore.ts';
import { findInterrupted, planRollback, type TouchedPath } from '../checkpoint/undo.ts';
import { editTree, type TreeEdit } from '../git/edit-tree.ts';
import { findOnDisk, startsLike } from '../git/restore-bytes.ts';
import { readWorkTree } from '../git/snapshot.ts';
import { diffTrees } from '../git/tree-diff.ts';
import { type KeptUndo, listUndos, updateUndo } from '../git/undo.ts';
import type { Oid } from '../types.ts';
import { showPaths } from './restore-paths.ts';
import type { RestorePorts, RestoreTarget } from './restore-target.ts';

/** What was done about a restore that had been interrupted. */
export type Settled = {
  /** In words: `restoring ckpt 51`. */
  readonly over: string;
  readonly how: 'completed' | 'rolled_back';
  /** The files that were brought back. */
  readonly files: readonly string[];
  /** Files of that restore that changed since it was interrupted: they stay. */
  readonly kept: readonly string[];
  /** The checkpoint that holds what it had left; null where no file had to be brought back. */
  readonly saved: Checkpoint | null;
  /** The number of the checkpoint that holds what was there before it. */
  readonly before: number | null;
};

/** The restore that was interrupted in this worktree; null where the newest one reached its end. */
export async function readInterrupted(ports: RestorePorts): Promise<KeptUndo | null> {
  return findInterrupted((await listUndos(ports)).map((kept) => ({ ...kept, ...kept.undo })));
}

type BringBack = (rollback: RestoreTarget) => Promise<{ readonly saved: Checkpoint | null }>;

/** Completes an interrupted restore, or rolls back what it did; work that came after it stays. */
export async function settle(ports: RestorePorts, half: KeptUndo, bringBack: BringBack): Promise<Settled> {
  const { undo } = half;
  const { maxFileBytes } = await ports.readSettings();
  const { tree: present } = await readWorkTree(ports, maxFileBytes);
  const touched = await readTouched(ports, half, present);
  const decided = planRollback(touched);
  const told = { over: undo.over, before: undo.savedSeq ?? null };
  if (decided.kind === 'complete') {
    await updateUndo(ports, half, { isFinished: true });
    return { ...told, how: 'completed', files: [], kept: [], saved: null };
  }
  const target = await describeRollback(ports, half, { present, touched, paths: decided.paths });
  const { saved } = decided.paths.length === 0 ? { saved: null } : await bringBack(target);
  await updateUndo(ports, half, { isFinished: false, rolledBack: true });
  const [files, kept] = [showPaths(decided.paths), showPaths(decided.keep)];
  return { ...told, how: 'rolled_back', files, kept, saved };
}

/** Every path the restore was about: as it was, as it was to be, and as it is. */
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
    // In no tree, because it is ignored by now: then its bytes tell whether the restore wrote it.
    const now = (changed ? changed.from : then) ?? findOnDisk({ repository, git }, path, targets);
    const blobs = [then, ...targets].flatMap((entry) => (entry ? [entry.oid] : []));
    const isCutShort = now !== null && (await startsLike({ repository, git }, path, blobs));
    touched.push({ path, before: then, wanted: targets, present: now, isCutShort });
  }
  return touched;
}

/** The files as they are, but for those that the restore has changed. */
async function describeRollback(
  { git }: RestorePorts,
  { undo, commit, at }: KeptUndo,
  { present, touched, paths }: { present: Oid; touched: readonly TouchedPath[]; paths: readonly string[] },
): Promise<RestoreTarget> {
  const edits = new Map(
    touched.filter(({ path }) => paths.includes(path)).map(({ path, before }) => [path, before]),
  );
  const { tree, objects } = await editTree(git, present, edits);
  await git.writeObjects(objects);
  const { epic, over, leftOut } = undo;
  return {
    epic,
    tree,
    label: `what was there before ${over}`,
    leftOut: leftOut.filter(({ path }) => isWithin(path, paths)),
    scope: paths,
    source: { kind: 'undo', undo, commit, at },
  };
}
