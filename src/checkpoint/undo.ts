import type { TreeEdit } from '../git/edit-tree.ts';

/*
 * Which restore an undo is about, and how one that was interrupted is rolled back. Pure.
 */

/** What is known of one restore in a worktree. */
export type UndoFacts = {
  /** Did the restore reach its end? */
  readonly isFinished: boolean;
  /** Was it rolled back, or is it itself such a rollback? Then there is nothing of it to undo. */
  readonly rolledBack?: boolean;
  /** The undo that it carried out, where it was one. */
  readonly undoes: string | null;
};

/** The restore that was interrupted; null where the newest one reached its end. `undos` is oldest first. */
export function findInterrupted<T extends UndoFacts>(undos: readonly T[]): T | null {
  const newest = undos.findLast(({ rolledBack }) => !rolledBack);
  return newest && !newest.isFinished ? newest : null;
}

export type UndoChoice<T> =
  | { readonly kind: 'nothing' }
  /** Brings back what was there before it. */
  | { readonly kind: 'before'; readonly of: T }
  /** An undo was interrupted: brings back what that undo wanted to bring back. */
  | { readonly kind: 'continue'; readonly undoes: string };

/**
 * What `--undo` does: the newest restore is undone, whether it reached its end or was interrupted. An undo is a restore
 * too, so undoing it does again what it undid.
 */
export function chooseUndo<T extends UndoFacts>(undos: readonly T[]): UndoChoice<T> {
  const newest = undos.findLast(({ rolledBack }) => !rolledBack);
  if (newest === undefined) return { kind: 'nothing' };
  if (!newest.isFinished && newest.undoes !== null) return { kind: 'continue', undoes: newest.undoes };
  return { kind: 'before', of: newest };
}

/** A path that an interrupted restore was about. */
export type TouchedPath = {
  readonly path: string;
  readonly before: TreeEdit;
  /** What the restore wanted there. */
  readonly wanted: readonly TreeEdit[];
  readonly present: TreeEdit;
  /** Is what is on disk the beginning of either: a file that was being written? */
  readonly isCutShort: boolean;
};

export type Rollback =
  /** Nothing was left to do: it counts as complete. */
  | { readonly kind: 'complete' }
  /** `keep` changed since the restore was interrupted: that is new work, and stays. */
  | { readonly kind: 'roll back'; readonly paths: readonly string[]; readonly keep: readonly string[] };

/** Decides, path by path, what the restore did and what is newer work. */
export function planRollback(touched: readonly TouchedPath[]): Rollback {
  const paths: string[] = [];
  const keep: string[] = [];
  let isPartial = false;
  for (const { path, before, wanted, present, isCutShort } of touched) {
    const isWanted = wanted.some((each) => isSame(each, present));
    if (isSame(before, present) && !isWanted) isPartial = true;
    else if (isWanted) paths.push(path);
    else if (present === null || isCutShort) {
      isPartial = true;
      paths.push(path);
    } else keep.push(path);
  }
  return isPartial || touched.length === 0 ? { kind: 'roll back', paths, keep } : { kind: 'complete' };
}

function isSame(a: TreeEdit, b: TreeEdit): boolean {
  return a === null || b === null ? a === b : a.mode === b.mode && a.oid === b.oid;
}
