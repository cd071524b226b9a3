import { hasCode } from '../../errors.ts';
import type { Oid } from '../../types.ts';
import type { Commit, GitEngine, GitObject } from '../engine.ts';
import type { Repository } from '../repository.ts';
import { formatCommit } from './commit-object.ts';
import { hashObject } from './loose-objects.ts';
import { findBrokenLink } from './reachable.ts';
import { readCommit } from './read-objects.ts';

type Ports = { readonly git: GitEngine; readonly repository: Repository };

export type RebuiltHistory = {
  /** The new last commit; null if no commit is intact. */
  readonly now: Oid | null;
  /** Commits that were rewritten with other parents or another tree, old to new. */
  readonly moved: ReadonlyMap<Oid, Oid>;
  readonly leftOut: readonly Oid[];
};

/** A longer history is left as it is. */
const maxRebuilt = 20_000;

/**
 * Rebuilds one of orch's histories without missing objects, because `git gc` fails while a ref leads to one.
 * Intact commits keep their tree and message. `replaceTree` returns the tree for a broken one, or null to drop it.
 * Older commits that only a missing one led to (`also`) take its place. Null if the history is too long. Moves no ref.
 */
export async function rebuildHistory(
  { git, repository }: Ports,
  tip: Oid,
  also: readonly Oid[],
  replaceTree: (commit: Commit) => Promise<Oid | null>,
): Promise<RebuiltHistory | null> {
  const own = await readOwn(git, [tip, ...also]);
  if (own === null) return null;
  const ids = own.map(({ oid }) => oid);
  const broken = new Set(await findBroken(repository, ids, 'alone'));
  const replacements = new Map<Oid, readonly Oid[]>();
  const [moved, leftOut, objects] = [new Map<Oid, Oid>(), [] as Oid[], [] as GitObject[]];
  const foreign = new Map<Oid, boolean>();
  const isReadable = async (oid: Oid) => {
    const isWhole = foreign.get(oid) ?? (await findBrokenLink(repository, [oid], [])) === null;
    foreign.set(oid, isWhole);
    return isWhole;
  };
  const known = new Set(ids);
  const hidden = findHeads(own);
  const last = hidden.pop() ?? null;
  for (const commit of own) {
    const parents: Oid[] = [];
    for (const parent of commit.parents) {
      if (known.has(parent)) parents.push(...(replacements.get(parent) ?? []));
      else if (await isReadable(parent)) parents.push(parent);
      else parents.push(...hidden.splice(0).flatMap((head) => replacements.get(head) ?? []));
    }
    const tree = broken.has(commit.oid) ? await replaceTree(commit) : commit.tree;
    if (tree === null) {
      leftOut.push(commit.oid);
      replacements.set(commit.oid, parents);
      continue;
    }
    const object = formatCommit({ ...commit, tree, parents: [...new Set(parents)] });
    const oid = hashObject(object, git.format);
    replacements.set(commit.oid, [oid]);
    if (oid === commit.oid) continue;
    objects.push(object);
    moved.set(commit.oid, oid);
  }
  if (objects.length > 0) await git.writeObjects(objects);
  const made = new Set([...ids, ...moved.values()]);
  const now = last === null ? null : (replacements.get(last)?.findLast((oid) => made.has(oid)) ?? null);
  return { now, moved, leftOut };
}

/** The commits that are no other's parent, in their order. */
function findHeads(commits: readonly Commit[]): Oid[] {
  const parents = new Set(commits.flatMap((commit) => commit.parents));
  return commits.map(({ oid }) => oid).filter((oid) => !parents.has(oid));
}

/** Reads the commits that orch made, parents before children; null if there are too many. */
async function readOwn(git: GitEngine, tips: readonly Oid[]): Promise<Commit[] | null> {
  const ordered: Commit[] = [];
  const seen = new Set<Oid>();
  // The first tip is popped last, so it comes last in the result.
  const open: { readonly oid: Oid; readonly commit: Commit | null }[] = tips.map((oid) => ({
    oid,
    commit: null,
  }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next.commit !== null) {
      ordered.push(next.commit);
      continue;
    }
    if (seen.has(next.oid)) continue;
    seen.add(next.oid);
    if (seen.size > maxRebuilt) return null;
    const commit = await readIfOwn(git, next.oid);
    if (commit === null) continue;
    open.push({ oid: commit.oid, commit }, ...commit.parents.map((oid) => ({ oid, commit: null })));
  }
  return ordered;
}

/** A commit is ours if formatting it again gives the same id. */
async function readIfOwn(git: GitEngine, oid: Oid): Promise<Commit | null> {
  try {
    const commit = await readCommit(git, oid);
    return hashObject(formatCommit(commit), git.format) === oid ? commit : null;
  } catch (error) {
    if (hasCode(error, 'INTEGRITY')) return null;
    throw error;
  }
}

/** Finds the commits that lead to something missing, by bisection, because most do not. */
export async function findBroken(
  repository: Repository,
  commits: readonly Oid[],
  followed: 'alone' | number,
  without: readonly Oid[] = [],
): Promise<Oid[]> {
  const isWhole = (await findBrokenLink(repository, commits, without, followed)) === null;
  if (isWhole || commits.length < 2) return isWhole ? [] : [...commits];
  const half = commits.length >> 1;
  return [
    ...(await findBroken(repository, commits.slice(0, half), followed, without)),
    ...(await findBroken(repository, commits.slice(half), followed, without)),
  ];
}
