import { hasCode } from '../errors.ts';
import type { Oid } from '../types.ts';
import { formatCommit } from './commit.ts';
import type { Commit, GitEngine, GitObject } from './engine.ts';
import { hashObject } from './objects.ts';
import { readCommit } from './read.ts';
import type { Repository } from './repository.ts';
import { findBrokenLink } from './storage.ts';

type Ports = { readonly git: GitEngine; readonly repository: Repository };

export type Remade = {
  /** What stands for the last commit; null where nothing of the history is whole. */
  readonly now: Oid | null;
  /** Commits that had to be made again on other parents or with another tree. */
  readonly moved: ReadonlyMap<Oid, Oid>;
  readonly leftOut: readonly Oid[];
};

/** So many commits of orch's are looked at: a history that is longer stays as it is. */
const mostRemade = 20_000;

/**
 * Makes a history of orch's again without what is missing: as long as a ref leads to something missing, `git gc` fails.
 * A commit that is whole keeps its tree and its message. `replaceTree` gives the tree for one that is not, or null to
 * leave it out. Older commits that only a missing one led to (`also`) take its place. Null where the history is too
 * long. No ref moves.
 */
export async function remakeHistory(
  { git, repository }: Ports,
  tip: Oid,
  also: readonly Oid[],
  replaceTree: (commit: Commit) => Promise<Oid | null>,
): Promise<Remade | null> {
  const own = await readOwn(git, [tip, ...also]);
  if (own === null) return null;
  const ids = own.map(({ oid }) => oid);
  const broken = new Set(await findBroken(repository, ids, 'alone'));
  const standsFor = new Map<Oid, readonly Oid[]>();
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
      if (known.has(parent)) parents.push(...(standsFor.get(parent) ?? []));
      else if (await isReadable(parent)) parents.push(parent);
      else parents.push(...hidden.splice(0).flatMap((head) => standsFor.get(head) ?? []));
    }
    const tree = broken.has(commit.oid) ? await replaceTree(commit) : commit.tree;
    if (tree === null) {
      leftOut.push(commit.oid);
      standsFor.set(commit.oid, parents);
      continue;
    }
    const object = formatCommit({ ...commit, tree, parents: [...new Set(parents)] });
    const oid = hashObject(object, git.format);
    standsFor.set(commit.oid, [oid]);
    if (oid === commit.oid) continue;
    objects.push(object);
    moved.set(commit.oid, oid);
  }
  if (objects.length > 0) await git.writeObjects(objects);
  const made = new Set([...ids, ...moved.values()]);
  const now = last === null ? null : (standsFor.get(last)?.findLast((oid) => made.has(oid)) ?? null);
  return { now, moved, leftOut };
}

/** The commits that no other one leads to, in the order they are in. */
function findHeads(commits: readonly Commit[]): Oid[] {
  const parents = new Set(commits.flatMap((commit) => commit.parents));
  return commits.map(({ oid }) => oid).filter((oid) => !parents.has(oid));
}

/** The commits that orch made, parents before children; null where they are too many. */
async function readOwn(git: GitEngine, tips: readonly Oid[]): Promise<Commit[] | null> {
  const ordered: Commit[] = [];
  const seen = new Set<Oid>();
  // The first of them is taken last, and so comes last.
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
    if (seen.size > mostRemade) return null;
    const commit = await readIfOwn(git, next.oid);
    if (commit === null) continue;
    open.push({ oid: commit.oid, commit }, ...commit.parents.map((oid) => ({ oid, commit: null })));
  }
  return ordered;
}

/** A commit of ours is the same when it is made again from what was read. */
async function readIfOwn(git: GitEngine, oid: Oid): Promise<Commit | null> {
  try {
    const commit = await readCommit(git, oid);
    return hashObject(formatCommit(commit), git.format) === oid ? commit : null;
  } catch (error) {
    if (hasCode(error, 'INTEGRITY')) return null;
    throw error;
  }
}

/** Which of some commits lead to something missing, by halves: most do not. */
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
