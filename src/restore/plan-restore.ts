import { linkMode, submoduleMode, type TreeEdit } from '../git/objects/tree-object.ts';
import type { FoundFile } from '../git/snapshot/work-tree-changes.ts';
import type { TreeChange } from '../git/worktree/tree-diff.ts';

/*
 * Decides what a restore does to the working tree, from two trees and what was found on disk. Pure.
 * Paths are latin1 bytes, as in git.
 */

export type RestoreFacts = {
  /** The changes that turn the present tree into the wanted one. */
  readonly changes: readonly TreeChange[];
  /** What is on disk where the present tree has nothing: at the paths to write, and at the folders above them. */
  readonly found: ReadonlyMap<string, FoundFile>;
  /** Folders at such paths that contain files the present tree does not have. */
  readonly occupied: ReadonlySet<string>;
  /** On disk but not in the present tree, so an undo could not bring it back. Folders end with a slash. */
  readonly leftOutNow: ReadonlyMap<string, string>;
  /** Was on disk then, but is not in the wanted tree. */
  readonly leftOutThen: ReadonlyMap<string, string>;
  /** Paths that git is configured to skip, and why: what is on disk there is unknown. */
  readonly unseen: ReadonlyMap<string, string>;
  /** Not in the wanted tree because it was ignored, and by which rules: it may have existed. */
  readonly ignored: ReadonlyMap<string, string>;
  /** Files that an earlier restore wrote and that are ignored by now: removed if the wanted tree does not have them. */
  readonly ours: ReadonlySet<string>;
  /** Larger files are not saved. */
  readonly maxFileBytes: number;
};

export type RestorePlan = {
  readonly write: ReadonlyMap<string, NonNullable<TreeEdit>>;
  readonly remove: ReadonlySet<string>;
  /** Written where nothing exists now. */
  readonly comesBack: ReadonlySet<string>;
  /** Ignored files that are in the way, or were restored: not in the present tree, so they are saved for the undo. */
  readonly save: ReadonlySet<string>;
  /** Left alone although the wanted tree differs. */
  readonly kept: readonly { readonly path: string; readonly reason: string }[];
};

/** Decides which files are written, removed, saved for the undo, or left alone. */
export function planRestore(facts: RestoreFacts): RestorePlan {
  const kept = new Map<string, string>();
  const write = new Map<string, NonNullable<TreeEdit>>();
  const remove = new Set<string>();
  const comesBack = new Set<string>();
  const save = new Set<string>();

  for (const change of facts.changes) {
    const reason = whyKept(facts, change);
    if (reason !== null) kept.set(change.path, reason);
    else if (change.to === null) remove.add(change.path);
  }
  const stays = new Set(
    facts.changes.filter(({ path, from }) => from && kept.has(path)).map(({ path }) => path),
  );
  for (const { path, from, to } of facts.changes) {
    if (to === null || kept.has(path)) continue;
    const obstacle = from === null ? findObstacle(facts, path, remove) : null;
    const reason = obstacle?.reason ?? (isBlocked(path, stays) ? 'a file that stays is in the way' : null);
    if (reason !== null) {
      kept.set(path, reason);
      continue;
    }
    write.set(path, to);
    if (obstacle) save.add(obstacle.path);
    if (obstacle && obstacle.path !== path) remove.add(obstacle.path);
    if (from === null && obstacle?.path !== path) comesBack.add(path);
  }
  for (const path of facts.ours) {
    if (write.has(path) || kept.has(path) || !isSaveable(facts, path)) continue;
    save.add(path);
    remove.add(path);
  }
  return { write, remove, comesBack, save, kept: [...kept].map(([path, reason]) => ({ path, reason })) };
}

/** Is everything as wanted already? */
export function changesNothing({ write, remove }: RestorePlan): boolean {
  return write.size + remove.size === 0;
}

function whyKept(facts: RestoreFacts, { path, from, to }: TreeChange): string | null {
  if (from?.mode === submoduleMode || to?.mode === submoduleMode) return 'a submodule';
  const now = findTouching(facts.leftOutNow, path);
  if (now !== null) return `not saved: ${now}`;
  const then = findTouching(facts.leftOutThen, path);
  if (then !== null) return `not in the snapshot: ${then}`;
  return facts.unseen.get(path) ?? (to === null ? (facts.ignored.get(path) ?? null) : null);
}

/** Why a path, or one above or below it, was left out. */
function findTouching(leftOut: ReadonlyMap<string, string>, path: string): string | null {
  if (leftOut.size === 0) return null;
  for (const above of [path, ...foldersAbove(path)]) {
    const reason = leftOut.get(above) ?? leftOut.get(`${above}/`);
    if (reason !== undefined) return reason;
  }
  for (const [below, reason] of leftOut) if (below.startsWith(`${path}/`)) return reason;
  return null;
}

type Obstacle = { readonly path: string; readonly reason: string | null };

/** What is on disk where a file, or one of its folders, has to be written; null for nothing. */
function findObstacle(facts: RestoreFacts, path: string, remove: ReadonlySet<string>): Obstacle | null {
  for (const folder of foldersAbove(path).reverse()) {
    if (remove.has(folder)) return null;
    const kind = facts.found.get(folder)?.kind ?? 'missing';
    if (kind === 'folder') continue;
    if (kind === 'missing' || kind === 'behind link') return null;
    return { path: folder, reason: isSaveable(facts, folder) ? null : describeObstacle(facts, folder) };
  }
  const kind = facts.found.get(path)?.kind ?? 'missing';
  if (kind === 'missing' || kind === 'behind link') return null;
  if (kind === 'folder') {
    return facts.occupied.has(path) ? { path, reason: 'a folder with ignored files is in the way' } : null;
  }
  return { path, reason: isSaveable(facts, path) ? null : describeObstacle(facts, path) };
}

function isSaveable({ found, maxFileBytes }: RestoreFacts, path: string): boolean {
  const { kind, bytes } = found.get(path) ?? { kind: 'missing', bytes: 0 };
  return kind === 'link' || (kind === 'file' && bytes <= maxFileBytes);
}

function describeObstacle({ found }: RestoreFacts, path: string): string {
  const kind = found.get(path)?.kind;
  if (kind === 'repository') return 'a nested repository is in the way';
  if (kind === 'file') return 'an ignored file, too large to save, is in the way';
  return kind === 'unreadable' ? 'an unreadable file is in the way' : 'a special file is in the way';
}

/** Is a file that stays above or below a path, so that the path cannot be written? */
function isBlocked(path: string, stays: ReadonlySet<string>): boolean {
  if (stays.size === 0) return false;
  if (foldersAbove(path).some((folder) => stays.has(folder))) return true;
  return [...stays].some((other) => other.startsWith(`${path}/`));
}

/** `a/b/c` → `a/b`, `a`. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    folders.push(path.slice(0, end));
  }
  return folders;
}

/** Is a path one of these, or below one of them? No list means everything. */
export function isWithin(path: string, scope: readonly string[] | null): boolean {
  return scope === null || scope.some((each) => each === '' || path === each || path.startsWith(`${each}/`));
}

/** May git convert the bytes of this entry when it reads or writes them? */
export function isPlainFile(entry: TreeEdit): boolean {
  return entry !== null && entry.mode !== linkMode && entry.mode !== submoduleMode;
}

/* Which restore an undo refers to, and how an interrupted restore is rolled back. Pure. */

/** One earlier restore in a worktree. */
type UndoFacts = {
  readonly isFinished: boolean;
  /** Was it rolled back, or is it a rollback itself? Then there is nothing to undo. */
  readonly rolledBack?: boolean;
  /** If it was an undo: which one. */
  readonly undoes: string | null;
};

/** Finds the interrupted restore; null if the newest one finished. `undos` is oldest first. */
export function findInterrupted<T extends UndoFacts>(undos: readonly T[]): T | null {
  const newest = undos.findLast(({ rolledBack }) => !rolledBack);
  return newest && !newest.isFinished ? newest : null;
}

type UndoChoice<T> =
  | { readonly kind: 'nothing' }
  /** Bring back the files from before it. */
  | { readonly kind: 'before'; readonly of: T }
  /** An undo was interrupted: bring back what it was bringing back. */
  | { readonly kind: 'continue'; readonly undoes: string };

/** Decides what `--undo` undoes: the newest restore, finished or interrupted. An undo is a restore too, so undoing it redoes. */
export function chooseUndo<T extends UndoFacts>(undos: readonly T[]): UndoChoice<T> {
  const newest = undos.findLast(({ rolledBack }) => !rolledBack);
  if (newest === undefined) return { kind: 'nothing' };
  if (!newest.isFinished && newest.undoes !== null) return { kind: 'continue', undoes: newest.undoes };
  return { kind: 'before', of: newest };
}

/** A path of an interrupted restore. */
export type TouchedPath = {
  readonly path: string;
  readonly before: TreeEdit;
  /** What the restore wanted there. */
  readonly wanted: readonly TreeEdit[];
  readonly present: TreeEdit;
  /** Does the file on disk begin like one of them, so that it was being written? */
  readonly isCutShort: boolean;
};

type Rollback =
  /** Everything had been written. */
  | { readonly kind: 'complete' }
  /** The files in `keep` changed after the interruption: that is new work, and it is left alone. */
  | { readonly kind: 'roll back'; readonly paths: readonly string[]; readonly keep: readonly string[] };

/** Decides for each path whether the restore wrote it or it is newer work. */
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
