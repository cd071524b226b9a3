import { openQuarantine } from '../../git/objects/quarantine.ts';
import type { Repository } from '../../git/repository.ts';
import { findMergeDrivers, type MergedTree, mergePairs, type Pair } from '../../git/worktree/merge-tree.ts';
import { listTouched, type Touched } from '../../git/worktree/touched-paths.ts';
import type { Orch } from '../../orch.ts';
import type { Oid } from '../../types.ts';
import { mergedName } from '../names.ts';

/* Which workers change the same places, while they still work. Merges are tried, and nothing of them is kept. */

/** What a task has changed so far: its newest snapshot, and where it began. */
export type Work = { readonly task: string; readonly commit: Oid; readonly base: Oid };

/** Two tasks whose work conflicts as it is now; the other one may be `merged`: what is merged so far. */
export type Collision = {
  readonly one: string;
  readonly other: string;
  readonly commits: Pair;
  readonly files: readonly string[];
};

type Options = {
  /** What is merged so far, as one more side. */
  readonly merged?: Oid | null;
  /** The folder whose attributes count: the worktree of the merged branch. */
  readonly worktree?: Repository;
  /** What earlier calls have found, so that nothing is compared twice. */
  readonly known?: Compared;
};

/** What is known about commits and pairs of them. It keeps only what the last call needed. */
export type Compared = {
  touched: ReadonlyMap<string, Touched>;
  conflicts: ReadonlyMap<string, readonly string[]>;
};

export function nothingCompared(): Compared {
  return { touched: new Map(), conflicts: new Map() };
}

type Side = Work & { readonly touched: Touched };
type Match = { readonly one: Side; readonly other: Side };

/**
 * Finds the works that conflict with one another, or with what is merged. Only those that touch the same place are merged
 * on trial, all with one process, and their objects are thrown away.
 */
export async function findCollisions(
  orch: Orch,
  works: readonly Work[],
  { merged = null, worktree = orch.repository, known = nothingCompared() }: Options = {},
): Promise<Collision[]> {
  const matches = await findMatches(worktree, works, merged, known);
  const conflicts = await findConflicts(orch, worktree, matches, known);
  const withMerged = new Map<string, readonly string[]>();
  for (const [{ one, other }, files] of conflicts)
    if (other.task === mergedName) withMerged.set(one.task, files);
  return [...conflicts].flatMap(([{ one, other }, all]): Collision[] => {
    // A side that lacks what is merged meanwhile conflicts with everyone who has it: that is between it and `merged`.
    const settled = [one, other].flatMap(({ task }) => withMerged.get(task) ?? []);
    const files = other.task === mergedName ? all : all.filter((path) => !settled.includes(path));
    if (files.length === 0) return [];
    return [{ one: one.task, other: other.task, commits: [one.commit, other.commit], files }];
  });
}

/** Which works touch the same places, and so have to be compared. */
async function findMatches(
  worktree: Repository,
  works: readonly Work[],
  merged: Oid | null,
  known: Compared,
): Promise<Match[]> {
  const bases = merged === null ? [] : [...new Set(works.map(({ base }) => base))];
  const ranges = [
    ...works,
    ...bases.flatMap((base) => (merged === null ? [] : [{ task: mergedName, commit: merged, base }])),
  ];
  const missing = ranges.filter((range) => !known.touched.has(keyOf(range)));
  const listed = await listTouched(worktree, missing);
  const found = new Map(missing.map((range, index) => [keyOf(range), listed[index] ?? noPaths]));
  const sides = ranges.map((range): Side => {
    const touched = known.touched.get(keyOf(range)) ?? found.get(keyOf(range)) ?? noPaths;
    return { ...range, touched };
  });
  known.touched = new Map(sides.map((side) => [keyOf(side), side.touched]));
  return pairUp(sides.slice(0, works.length), sides.slice(works.length));
}

const keyOf = ({ base, commit }: Pick<Work, 'base' | 'commit'>) => `${base} ${commit}`;
const noPaths: Touched = { all: [], added: [], deleted: [] };

/** Pairs up the works with one another, and each with what was merged since it began. */
function pairUp(works: readonly Side[], merged: readonly Side[]): Match[] {
  const places = new Map([...works, ...merged].map((side) => [side, listPlaces(side.touched)]));
  const matches: Match[] = [];
  for (const [index, one] of works.entries()) {
    const others = [...works.slice(index + 1), ...merged.filter(({ base }) => base === one.base)];
    for (const other of others)
      if (one.commit !== other.commit && meet(places.get(one), places.get(other)))
        matches.push({ one, other });
  }
  return matches;
}

type Places = {
  readonly paths: ReadonlySet<string>;
  /** The folders of what was added. */
  readonly filled: ReadonlySet<string>;
  /** The folders of what was deleted: they may have been renamed. */
  readonly emptied: ReadonlySet<string>;
};

function listPlaces({ all, added, deleted }: Touched): Places {
  return { paths: new Set(all), filled: listFolders(added), emptied: listFolders(deleted) };
}

/** Can two conflict? In a file both touch, a name that is a file here and a folder there, or a folder that was renamed. */
function meet(one: Places | undefined, other: Places | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return (
    shareAny(one.paths, other.paths) ||
    shareAny(one.paths, other.filled) ||
    shareAny(one.filled, other.paths) ||
    shareAny(one.filled, other.emptied) ||
    shareAny(one.emptied, other.filled)
  );
}

function shareAny(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  const [few, many] = one.size < other.size ? [one, other] : [other, one];
  for (const each of few) if (many.has(each)) return true;
  return false;
}

/** The folders that paths are in, up to the top. */
function listFolders(paths: readonly string[]): Set<string> {
  const folders = new Set<string>();
  for (const path of paths)
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  return folders;
}

/** Merges the pairs that were not compared before, and returns the files in which each conflicts. */
async function findConflicts(
  orch: Orch,
  worktree: Repository,
  matches: readonly Match[],
  known: Compared,
): Promise<Map<Match, readonly string[]>> {
  const pairs = new Map(matches.map(({ one, other }) => [pairKey(one, other), pairOf(one, other)]));
  const open = [...pairs].filter(([key]) => !known.conflicts.has(key));
  const merges = await mergeOnTrial(
    orch,
    worktree,
    open.map(([, pair]) => pair),
  );
  const combined = merges.flatMap((merge) => (merge?.kind === 'merged' ? merge.combined : []));
  const driven = new Set(await findMergeDrivers(worktree, [...new Set(combined)]));
  const found = new Map(
    open.flatMap(([key], index) => {
      const merge = merges[index];
      // What could not be compared, because it was just removed, is compared the next time.
      if (merge === null || merge === undefined) return [];
      const files =
        merge.kind === 'conflict' ? merge.files : merge.combined.filter((path) => driven.has(path));
      return [[key, files] as const];
    }),
  );
  const filesOf = (match: Match) => {
    const key = pairKey(match.one, match.other);
    return known.conflicts.get(key) ?? found.get(key);
  };
  const results = matches.flatMap((match) => {
    const files = filesOf(match);
    return files === undefined ? [] : [[match, files] as const];
  });
  known.conflicts = new Map(results.map(([{ one, other }, files]) => [pairKey(one, other), files]));
  return new Map(results);
}

/** In an order that does not depend on who is named first. */
function pairOf(one: Side, other: Side): Pair {
  return one.commit < other.commit ? [one.commit, other.commit] : [other.commit, one.commit];
}

const pairKey = (one: Side, other: Side) => pairOf(one, other).join(' ');

async function mergeOnTrial(
  orch: Orch,
  worktree: Repository,
  pairs: readonly Pair[],
): Promise<(MergedTree | null)[]> {
  if (pairs.length === 0) return [];
  const quarantine = await openQuarantine(orch);
  try {
    return await mergePairs(worktree, pairs, quarantine.environment);
  } finally {
    quarantine.close();
  }
}
