/*
 * What of the working tree goes into a snapshot, decided from what git listed and what was found on disk. Pure.
 * Paths are bytes, one to a character (latin1): a file's name need not be text.
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
  /** In the index, and different on disk, or gone. */
  readonly changed: ReadonlySet<string>;
  /** Not in the user's index and not ignored; a nested repository ends with a slash. */
  readonly untracked: ReadonlySet<string>;
};

/** What is at a path. `behind link`: a folder above it is a link now, so the path itself is gone. */
export type Found = {
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
  /** What kind of secret is in it, or in its name. */
  readonly secret?: string;
};

export type Changes = {
  readonly store: readonly string[];
  readonly remove: readonly string[];
  /** To be removed without a look at the disk, where git would see what a link leads to. */
  readonly removeBlindly: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** The untracked files the index holds afterwards. */
  readonly untracked: ReadonlySet<string>;
  /** The tracked files it holds no more, because they are not on disk. */
  readonly gone: ReadonlySet<string>;
};

/** How an index differs from the user's own, after an earlier snapshot. */
export type Known = { readonly untracked: ReadonlySet<string>; readonly gone: ReadonlySet<string> };

export const nothingKnown: Known = { untracked: new Set(), gone: new Set() };

/** Reads `git ls-files -z -v -m -o`: a letter, a space, a path. A small letter: the user wants no look at it. */
export function parseListing(text: string): Listing {
  const entries = text.split('\0').filter((entry) => entry !== '');
  const ofKind = (letter: string) =>
    new Set(entries.filter((entry) => entry[0] === letter).map((entry) => entry.slice(2)));
  return { changed: ofKind('C'), untracked: ofKind('?') };
}

/** The paths whose state on disk decides: what changed, and what is untracked and not in the index yet, or no more. */
export function pathsToLookAt({ changed, untracked }: Listing, known: Known): Set<string> {
  const appeared = [...untracked].filter((path) => !known.untracked.has(path));
  const disappeared = [...known.untracked].filter((path) => !untracked.has(path));
  return new Set([...changed, ...appeared, ...disappeared, ...known.gone]);
}

/**
 * What has to be done to an index that holds the user's tracked files, with what an earlier snapshot added and removed.
 * Null: it cannot be had from this index, only from a new copy of the user's.
 */
export function decideChanges(
  listing: Listing,
  found: ReadonlyMap<string, Found>,
  { untracked: known, gone }: Known,
  maxFileBytes: number,
): Changes | null {
  const at = (path: string): Found => found.get(path) ?? { kind: 'missing', bytes: 0 };
  const store: string[] = [];
  const remove: string[] = [];
  const removeBlindly: string[] = [];
  const leftOut: LeftOut[] = [];
  const untracked = new Set<string>();
  const goneNow = new Set(gone);

  for (const path of listing.untracked) {
    if (path.endsWith('/')) leftOut.push(describe(path, 'nested repository'));
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
    if (problem && known.has(path)) return null; // it must not stay as it was, as a tracked file would
    if (problem) leftOut.push(problem);
    else if (isStorable(at(path))) store.push(path);
    else if (!isSubmodule(path, at(path), listing)) {
      if (!known.has(path)) goneNow.add(path);
      if (at(path).kind !== 'behind link') remove.push(path);
      else if (!hasParentIn(path, untracked)) removeBlindly.push(path);
    }
  }
  // Ignored by now, or in a nested repository by now: git would not remove it, since it is there.
  const nowIgnored = [...known].some((path) => !listing.untracked.has(path) && isThere(at(path)));
  // Tracked, so not listed as untracked; and not in this index, so not listed as changed.
  const cameBack = [...gone].some((path) => isThere(at(path)) || at(path).kind === 'repository');
  const rulesChanged = [...store, ...remove, ...removeBlindly].some((path) =>
    /(^|\/)\.gitattributes$/.test(path),
  );
  if (nowIgnored || cameBack || (rulesChanged && known.size > 0)) return null;
  return { store, remove, removeBlindly, leftOut, untracked, gone: goneNow };
}

function isStorable({ kind }: Found): boolean {
  return kind === 'file' || kind === 'link';
}

function isThere({ kind }: Found): boolean {
  return isStorable({ kind, bytes: 0 }) || kind === 'special' || kind === 'unreadable';
}

/** A repository where the index has a submodule stays as the index has it; where it has a file, the file is gone. */
function isSubmodule(path: string, { kind }: Found, { untracked }: Listing): boolean {
  return kind === 'repository' && !untracked.has(`${path}/`);
}

function problemWith(path: string, { kind, bytes, secret }: Found, maxFileBytes: number): LeftOut | null {
  if (kind === 'special') return describe(path, 'special file');
  if (kind === 'unreadable') return describe(path, 'unreadable');
  if (kind === 'file' && bytes > maxFileBytes) return describe(path, 'too large', bytes);
  if (secret !== undefined) return describe(path, `secret inside: ${secret}`);
  return null;
}

/** Something left out, its path as text for people. */
export function describe(path: string, reason: LeftOut['reason'], bytes: number | null = null): LeftOut {
  return { path: Buffer.from(path, 'latin1').toString('utf8'), reason, bytes };
}

/** A file that takes the place of a folder takes the folder's files out of the index by itself. */
function hasParentIn(path: string, paths: ReadonlySet<string>): boolean {
  for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
    if (paths.has(path.slice(0, end))) return true;
  }
  return false;
}
