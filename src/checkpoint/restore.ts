import type { TreeEdit } from '../git/edit-tree.ts';
import { linkMode, submoduleMode } from '../git/tree.ts';
import type { TreeChange } from '../git/tree-diff.ts';
import type { Found } from '../git/work-tree-changes.ts';

/*
 * What a restore does to the working tree, decided from two trees and what was found on disk. Pure.
 * Paths are bytes, one to a character (latin1), as git has them.
 */

export type RestoreFacts = {
  /** What has to become of the present tree, so that it is the wanted one. */
  readonly changes: readonly TreeChange[];
  /** What is on disk where the present tree has nothing: at the paths to be written, and at the folders above. */
  readonly found: ReadonlyMap<string, Found>;
  /** Folders at such paths that hold files the present tree has not. */
  readonly occupied: ReadonlySet<string>;
  /** Not in the present tree though on disk, so nobody could bring it back. A folder ends with a slash. */
  readonly leftOutNow: ReadonlyMap<string, string>;
  /** On disk then, though not in the wanted tree. */
  readonly leftOutThen: ReadonlyMap<string, string>;
  /** What git was told not to look at, with why: nobody knows what is on disk there. */
  readonly unseen: ReadonlyMap<string, string>;
  /** Not in the wanted tree because rules ignore it, with which: it may have been there. */
  readonly ignored: ReadonlyMap<string, string>;
  /** Files an earlier restore wrote, which are ignored by now: they go if the wanted tree has them not. */
  readonly ours: ReadonlySet<string>;
  /** A file that is larger is not saved. */
  readonly maxFileBytes: number;
};

export type Kept = { readonly path: string; readonly reason: string };

export type RestorePlan = {
  readonly write: ReadonlyMap<string, NonNullable<TreeEdit>>;
  readonly remove: ReadonlySet<string>;
  /** Written where nothing is now. */
  readonly comesBack: ReadonlySet<string>;
  /** Ignored files that are in the way, or were restored: not in the present tree, so they are saved for the undo. */
  readonly save: ReadonlySet<string>;
  /** What stays as it is, though the wanted tree has it otherwise. */
  readonly kept: readonly Kept[];
};

/** Decides what is written, what is removed, what is saved besides, and what stays. */
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
    const reason = obstacle?.reason ?? (standsInTheWay(path, stays) ? 'what is there stays' : null);
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

function whyKept(facts: RestoreFacts, { path, from, to }: TreeChange): string | null {
  if (from?.mode === submoduleMode || to?.mode === submoduleMode) return 'a submodule';
  const now = findTouching(facts.leftOutNow, path);
  if (now !== null) return `not saved: ${now}`;
  const then = findTouching(facts.leftOutThen, path);
  if (then !== null) return `not in the snapshot: ${then}`;
  return facts.unseen.get(path) ?? (to === null ? (facts.ignored.get(path) ?? null) : null);
}

/** The reason of what is left out at a path, above it or below it. */
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

/** What is on disk where a file has to come, or where one of its folders has to. Null: nothing. */
function findObstacle(facts: RestoreFacts, path: string, remove: ReadonlySet<string>): Obstacle | null {
  for (const folder of foldersAbove(path).reverse()) {
    if (remove.has(folder)) return null;
    const kind = facts.found.get(folder)?.kind ?? 'missing';
    if (kind === 'folder') continue;
    if (kind === 'missing' || kind === 'behind link') return null;
    return { path: folder, reason: isSaveable(facts, folder) ? null : sayWhy(facts, folder) };
  }
  const kind = facts.found.get(path)?.kind ?? 'missing';
  if (kind === 'missing' || kind === 'behind link') return null;
  if (kind === 'folder') {
    return facts.occupied.has(path) ? { path, reason: 'a folder with ignored files is there' } : null;
  }
  return { path, reason: isSaveable(facts, path) ? null : sayWhy(facts, path) };
}

function isSaveable({ found, maxFileBytes }: RestoreFacts, path: string): boolean {
  const { kind, bytes } = found.get(path) ?? { kind: 'missing', bytes: 0 };
  return kind === 'link' || (kind === 'file' && bytes <= maxFileBytes);
}

function sayWhy({ found }: RestoreFacts, path: string): string {
  const kind = found.get(path)?.kind;
  if (kind === 'repository') return 'a repository of its own is there';
  if (kind === 'file') return 'an ignored file is there, too large to be saved';
  return kind === 'unreadable' ? 'an unreadable file is there' : 'a special file is there';
}

/** Is a file that stays above or below a path, so that the path cannot be written? */
function standsInTheWay(path: string, stays: ReadonlySet<string>): boolean {
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

/** Is it a file whose bytes git may convert on their way in and out? */
export function isPlainFile(entry: TreeEdit): boolean {
  return entry !== null && entry.mode !== linkMode && entry.mode !== submoduleMode;
}
