import { listChanges, listCommitPaths, listMissing } from '../git/changes.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { findEntry } from '../git/read.ts';
import { findDefaultBranch } from '../git/refs.ts';
import { countApart } from '../git/surroundings.ts';
import { tasksName } from '../integration/spec.ts';
import type { Oid } from '../types.ts';
import type { BatchPorts, Situation } from './batch-situation.ts';

/** A commit in which work on a spec may have been done, and the files it changed. */
export type WorkCommit = Commit & { readonly paths: readonly string[] };

/** What came after the last batch, or since the spec began. */
export type Since = {
  /** Behind the commit that checkpoint.yaml names, newest first; none where it was not found. */
  readonly commits: readonly Commit[];
  /** The commit that checkpoint.yaml names, where it is in the history. */
  readonly base: Oid | null;
  /** Files that changed since; none where only git itself could say it. */
  readonly changed: readonly string[];
  /** Where the work since then may be, newest first; null where that is not known. */
  readonly work: readonly WorkCommit[] | null;
  /** The branch this one is to be merged into, where it has commits that are not here. */
  readonly behind: {
    readonly branch: string;
    readonly commits: number;
    readonly changed: readonly string[];
  } | null;
};

/** The longest history that is looked through for a commit, and for work on a spec that has just begun. */
const farthest = { commit: 100_000, work: 500 };

/** Looks back from HEAD to the last batch. */
export async function readSince(ports: BatchPorts, situation: Situation): Promise<Since> {
  const { git, repository } = ports;
  const { checkpoint, head, folder } = situation;
  const behind = await findBehind(ports, situation);
  if (head.commit === null) return { commits: [], base: null, changed: [], work: [], behind };
  const sought = checkpoint?.lastCommit ?? null;
  if (sought === null) {
    const commits = checkpoint === null ? await walkSpec(git, head.commit, folder) : null;
    const work = commits && (await withPaths(ports, commits));
    return { commits: [], base: null, changed: [], work, behind };
  }
  const commits: Commit[] = [];
  for await (const commit of git.walk(head.commit, farthest.commit)) {
    if (commit.oid.startsWith(sought)) {
      const isAsked = git.name === 'native' && commits.length > 0;
      const changes = isAsked ? await listChanges(repository, commit.oid, head.commit) : [];
      const changed = changes.map(({ path }) => path);
      const work = await withPaths(ports, commits.slice(0, farthest.work));
      return { commits, base: commit.oid, changed, work, behind };
    }
    commits.push(commit);
  }
  return { commits: [], base: null, changed: [], work: null, behind };
}

/** The commits that have the spec; null where it is in none, so that nobody knows when it began. */
async function walkSpec(git: GitEngine, from: Oid, folder: string): Promise<Commit[] | null> {
  const commits: Commit[] = [];
  for await (const commit of git.walk(from, farthest.work)) {
    if ((await findEntry(git, commit.tree, `${folder}/${tasksName}`)) === null) break;
    commits.push(commit);
  }
  return commits.length === 0 ? null : commits;
}

async function withPaths({ git, repository }: BatchPorts, commits: readonly Commit[]): Promise<WorkCommit[]> {
  const oids = commits.map(({ oid }) => oid);
  const paths = git.name === 'native' ? await listCommitPaths(repository, oids) : new Map<Oid, string[]>();
  return commits.map((commit) => ({ ...commit, paths: paths.get(commit.oid) ?? [] }));
}

/** What the branch others start from has, here or as it was last fetched, and HEAD has not. */
async function findBehind({ git, repository }: BatchPorts, { head }: Situation): Promise<Since['behind']> {
  if (git.name !== 'native' || head.commit === null) return null;
  const name = await findDefaultBranch(repository, git);
  const refs = name === null ? [] : [`refs/heads/${name}`, `refs/remotes/origin/${name}`];
  let most: Since['behind'] = null;
  for (const ref of refs.filter((each) => each !== `refs/heads/${head.branch}`)) {
    const tip = await git.readRef(ref);
    const apart = tip && (await countApart(repository, head.commit, tip));
    if (!tip || !apart || apart.other <= (most?.commits ?? 0)) continue;
    const own = await listMissing(repository, head.commit, tip);
    const paths = await listCommitPaths(repository, own);
    const changed = [...new Set([...paths.values()].flat())];
    most = { branch: ref.replace(/^refs\/(heads|remotes)\//, ''), commits: apart.other, changed };
  }
  return most;
}
