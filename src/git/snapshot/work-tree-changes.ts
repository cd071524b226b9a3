import { accessSync, constants, lstatSync, type Stats } from 'node:fs';
import { systemCode } from '../../errors.ts';
import { formatPath } from '../objects/tree-object.ts';

/*
 * Decides which files go into a snapshot, from git's listing and what is on disk.
 * Paths are bytes (latin1), because a file name need not be text.
 */

export type LeftOut = {
  readonly path: string;
  readonly reason:
    | 'too large'
    | 'nested repository'
    | 'unreadable'
    | 'special file'
    | 'refused by git'
    | 'submodule with new commits'
    | 'submodule with changes inside'
    | `secret inside: ${string}`;
  readonly bytes: number | null;
};

export type Listing = {
  /** In the index, and different or missing on disk. */
  readonly changed: ReadonlySet<string>;
  /** Not in the user's index and not ignored; the path of a nested repository ends with a slash. */
  readonly untracked: ReadonlySet<string>;
};

/** What is at a path. `behind link`: a folder above it is now a link, so the path itself is gone. */
export type FoundFile = {
  readonly kind:
    | 'file'
    | 'link'
    | 'folder'
    | 'repository'
    | 'special'
    | 'unreadable'
    | 'missing'
    | 'behind link';
  readonly bytes: number;
  /** The kind of secret in its content or name. */
  readonly secret?: string;
};

export type Changes = {
  readonly store: readonly string[];
  readonly remove: readonly string[];
  /** Paths to remove without checking the disk, where git would follow a link. */
  readonly removeBlindly: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** The untracked files in the resulting index. */
  readonly untracked: ReadonlySet<string>;
  /** The tracked files that are not in the resulting index, because they are not on disk. */
  readonly gone: ReadonlySet<string>;
};

/** How an index from an earlier snapshot differs from the user's own. */
export type IndexDifferences = {
  readonly untracked: ReadonlySet<string>;
  readonly gone: ReadonlySet<string>;
};

export const noDifferences: IndexDifferences = { untracked: new Set(), gone: new Set() };

/** Parses `git ls-files -z -v -m -o`: a letter, a space, a path. Lowercase: git is told to assume it unchanged. */
export function parseListing(text: string): Listing {
  const entries = text.split('\0').filter((entry) => entry !== '');
  const ofKind = (letter: string) =>
    new Set(entries.filter((entry) => entry[0] === letter).map((entry) => entry.slice(2)));
  return { changed: ofKind('C'), untracked: ofKind('?') };
}

/** Lists the paths to check on disk: changed files, and untracked files that are new or gone. */
export function listPathsToInspect({ changed, untracked }: Listing, known: IndexDifferences): Set<string> {
  const appeared = [...untracked].filter((path) => !known.untracked.has(path));
  const disappeared = [...known.untracked].filter((path) => !untracked.has(path));
  return new Set([...changed, ...appeared, ...disappeared, ...known.gone]);
}

/**
 * Decides how to update an index that has the user's tracked files and the differences of an earlier snapshot.
 * Null if that is impossible, and a new copy of the user's index is needed.
 */
export function decideChanges(
  listing: Listing,
  found: ReadonlyMap<string, FoundFile>,
  { untracked: known, gone }: IndexDifferences,
  maxFileBytes: number,
): Changes | null {
  const at = (path: string): FoundFile => found.get(path) ?? { kind: 'missing', bytes: 0 };
  const store: string[] = [];
  const remove: string[] = [];
  const removeBlindly: string[] = [];
  const leftOut: LeftOut[] = [];
  const untracked = new Set<string>();
  const goneNow = new Set(gone);

  for (const path of listing.untracked) {
    if (path.endsWith('/')) leftOut.push(leaveOut(path, 'nested repository'));
    else if (known.has(path)) untracked.add(path);
    else {
      const problem = problemWith(path, at(path), maxFileBytes);
      if (problem) leftOut.push(problem);
      else if (isStorable(at(path))) {
        store.push(path);
        untracked.add(path);
      }
    }
  }
  for (const path of listing.changed) {
    const problem = problemWith(path, at(path), maxFileBytes);
    if (problem && known.has(path)) return null; // unlike a tracked file, it must not stay in the index
    if (problem) leftOut.push(problem);
    else if (isStorable(at(path))) store.push(path);
    else if (!isSubmodule(path, at(path), listing)) {
      if (!known.has(path)) goneNow.add(path);
      if (at(path).kind !== 'behind link') remove.push(path);
      else if (!hasParentIn(path, untracked)) removeBlindly.push(path);
    }
  }
  // Now ignored or in a nested repository: git would not remove it, because it exists.
  const nowIgnored = [...known].some((path) => !listing.untracked.has(path) && isThere(at(path)));
  // Not listed as untracked, because it is tracked, nor as changed, because it is not in this index.
  const cameBack = [...gone].some((path) => isThere(at(path)) || at(path).kind === 'repository');
  const rulesChanged = [...store, ...remove, ...removeBlindly].some((path) =>
    /(^|\/)\.gitattributes$/.test(path),
  );
  if (nowIgnored || cameBack || (rulesChanged && known.size > 0)) return null;
  return { store, remove, removeBlindly, leftOut, untracked, gone: goneNow };
}

function isStorable({ kind }: FoundFile): boolean {
  return kind === 'file' || kind === 'link';
}

function isThere({ kind }: FoundFile): boolean {
  return isStorable({ kind, bytes: 0 }) || kind === 'special' || kind === 'unreadable';
}

/** A repository at the path of a submodule stays as it is in the index; at the path of a file, the file is gone. */
function isSubmodule(path: string, { kind }: FoundFile, { untracked }: Listing): boolean {
  return kind === 'repository' && !untracked.has(`${path}/`);
}

function problemWith(path: string, { kind, bytes, secret }: FoundFile, maxFileBytes: number): LeftOut | null {
  if (kind === 'special') return leaveOut(path, 'special file');
  if (kind === 'unreadable') return leaveOut(path, 'unreadable');
  if (kind === 'file' && bytes > maxFileBytes) return leaveOut(path, 'too large', bytes);
  if (secret !== undefined) return leaveOut(path, `secret inside: ${secret}`);
  return null;
}

export function leaveOut(path: string, reason: LeftOut['reason'], bytes: number | null = null): LeftOut {
  return { path: formatPath(path), reason, bytes };
}

/** Adding a file in place of a folder already removes the folder's files from the index. */
function hasParentIn(path: string, paths: ReadonlySet<string>): boolean {
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    if (paths.has(path.slice(0, end))) return true;
  }
  return false;
}

/** Finds out what is at each path of a working tree. */
export function inspectPaths(worktree: string, paths: Iterable<string>): Map<string, FoundFile> {
  const behindLink = rememberLinks(worktree);
  const found = new Map<string, FoundFile>();
  for (const path of paths) {
    found.set(path, behindLink(path) ? { kind: 'behind link', bytes: 0 } : inspectPath(worktree, path));
  }
  return found;
}

/** Joins a path in bytes to the working tree. */
export function fullPath(worktree: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${worktree}/`), Buffer.from(path, 'latin1')]);
}

function statOf(worktree: string, path: string): Stats | 'missing' | 'unreadable' {
  try {
    return lstatSync(fullPath(worktree, path));
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '') ? 'missing' : 'unreadable';
  }
}

function inspectPath(worktree: string, path: string): FoundFile {
  const stat = statOf(worktree, path);
  if (typeof stat === 'string') return { kind: stat, bytes: 0 };
  if (stat.isSymbolicLink()) return { kind: 'link', bytes: stat.size };
  if (stat.isDirectory()) {
    const isRepository = typeof statOf(worktree, `${path}/.git`) !== 'string';
    return { kind: isRepository ? 'repository' : 'folder', bytes: 0 };
  }
  if (!stat.isFile()) return { kind: 'special', bytes: 0 };
  return { kind: isReadable(fullPath(worktree, path)) ? 'file' : 'unreadable', bytes: stat.size };
}

function isReadable(path: Buffer): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch (error) {
    return systemCode(error) === 'ENOENT'; // it just disappeared, which git can handle
  }
}

/** Tells whether a folder above a path is a link; checks each folder once. */
function rememberLinks(worktree: string): (path: string) => boolean {
  const links = new Map<string, boolean>();
  const isBehindLink = (path: string): boolean => {
    const end = path.lastIndexOf('/', path.length - 2);
    if (end < 0) return false;
    const folder = path.slice(0, end);
    const known = links.get(folder);
    if (known !== undefined) return known;
    const stat = statOf(worktree, folder);
    const answer = isBehindLink(folder) || (typeof stat !== 'string' && stat.isSymbolicLink());
    links.set(folder, answer);
    return answer;
  };
  return isBehindLink;
}
