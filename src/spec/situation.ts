import { join } from 'node:path';
import { readUserFile, type UserFile } from '../config/yaml/user-file.ts';
import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import type { Commit, GitEngine, Head } from '../git/engine.ts';
import { findEntry, readCommit, readPath } from '../git/objects/read-objects.ts';
import { findDefaultBranch } from '../git/refs/file-refs.ts';
import type { Repository } from '../git/repository.ts';
import { countDivergence, isIgnored } from '../git/repository-facts.ts';
import { listCommitPaths, listCommitsBetween, listFileChanges } from '../git/worktree/code-changes.ts';
import { nameFile } from '../ids.ts';
import type { SessionPorts } from '../record/ports.ts';
import { withLock } from '../system/lock.ts';
import type { Oid } from '../types.ts';
import { findPosition, layOutBatches, listCompleted, type Position } from './batches.ts';
import { dependenciesName, parseSpec, type Spec, type SpecTask, tasksName } from './read-spec.ts';
import { checkpointName, parseSpecCheckpoint, type SpecCheckpoint } from './spec-checkpoint.ts';

export type BatchPorts = SessionPorts & { readonly repository: Repository };

/** A spec as it is in the working tree. */
export type Situation = {
  /** `specs/active/auth-system` */
  readonly folder: string;
  readonly spec: Spec;
  readonly batches: readonly (readonly SpecTask[])[];
  readonly position: Position;
  /** As written after the last batch; null before the first. */
  readonly checkpoint: SpecCheckpoint | null;
  readonly files: { readonly tasks: UserFile; readonly checkpoint: UserFile | null };
  readonly head: Head;
};

/** Far larger than any real spec. */
const mostBytes = 4 * 1024 * 1024;

/** Reads a spec, its checkpoint.yaml, and HEAD. */
export async function readSituation(ports: BatchPorts, folder: string): Promise<Situation> {
  const worktree = requireWorktree(ports);
  const read = (name: string) => readSpecFile(worktree, `${folder}/${name}`);
  const tasks = read(tasksName) ?? missing(`${folder}/${tasksName}`);
  const dependencies = read(dependenciesName) ?? missing(`${folder}/${dependenciesName}`);
  const checkpoint = read(checkpointName);
  const parsed = parseSpec({ folder, tasks: textOf(tasks), dependencies: textOf(dependencies) });
  const batches = layOutBatches(parsed);
  return {
    folder,
    spec: parsed.spec,
    batches,
    position: findPosition(batches),
    checkpoint: checkpoint && parseSpecCheckpoint(`${folder}/${checkpointName}`, textOf(checkpoint)),
    files: { tasks, checkpoint },
    head: await ports.git.readHead(),
  };
}

/** Returns the working tree; refuses a bare repository. */
export function requireWorktree({ repository }: BatchPorts): string {
  if (repository.worktree !== null) return repository.worktree;
  throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no files, so it has no spec', {
    hint: 'Run it in a working tree',
  });
}

function textOf({ bytes }: UserFile): string {
  return bytes.toString('utf8');
}

function readSpecFile(worktree: string, path: string): UserFile | null {
  const found = readUserFile(worktree, path, mostBytes);
  if (found === null || !('problem' in found)) return found;
  throw new OrchError('PLAN_INVALID', `${path} cannot be read: ${found.problem}`, {
    hint: 'Make it a readable text file in the repository, then run the same command again',
    data: { file: path },
  });
}

function missing(path: string): never {
  throw new OrchError('PLAN_INVALID', `there is no ${path}`, {
    hint: path.endsWith(tasksName)
      ? 'A spec is a folder with tasks.yaml and dependencies.yaml. Name it with --spec DIR'
      : 'Create it. "phases: []" is enough if tasks.yaml has the dependencies',
    data: { file: path },
  });
}

/**
 * Reads the tasks that are completed in HEAD's tasks.yaml; none if HEAD has no such file or it can't be parsed. Returns
 * null if git ignores the spec: then nothing of it waits to be committed.
 */
export async function readCommitted(
  ports: BatchPorts,
  { head, folder }: Pick<Situation, 'head' | 'folder'>,
): Promise<ReadonlySet<string> | null> {
  const { git } = ports;
  const tree = head.commit && (await readCommit(git, head.commit)).tree;
  const bytes = tree && (await readPath(git, tree, [...folder.split('/'), tasksName]));
  if (!bytes) return (await isIgnoredSpec(ports, folder)) ? null : new Set();
  const { spec } = parseSpec({ folder, tasks: bytes.toString('utf8'), dependencies: 'phases: []' });
  return listCompleted(spec.tasks);
}

/** Whether git ignores a spec's files. */
export async function isIgnoredSpec({ git, repository }: BatchPorts, folder: string): Promise<boolean> {
  return git.name === 'native' && isIgnored(repository, `${folder}/${tasksName}`);
}

/** A commit that may contain work on a spec, with the files it changed. */
export type WorkCommit = Commit & { readonly paths: readonly string[] };

/** What happened since the last batch, or since the spec was added. */
export type SinceLastBatch = {
  /** The commits after the one that checkpoint.yaml names, newest first; none if it was not found. */
  readonly commits: readonly Commit[];
  /** The commit that checkpoint.yaml names, if it is in the history. */
  readonly base: Oid | null;
  /** Files that changed since; none without native git. */
  readonly changed: readonly string[];
  /** The commits that may contain the work, newest first; null if that is not known. */
  readonly work: readonly WorkCommit[] | null;
  /** The default branch, if it has commits that HEAD does not have. */
  readonly behind: {
    readonly branch: string;
    readonly commits: number;
    readonly changed: readonly string[];
  } | null;
};

/** How many commits are searched for a commit, and for work on a new spec. */
const maxCommits = { commit: 100_000, work: 500 };

/** Reads the history from HEAD back to the last batch. */
export async function readSince(ports: BatchPorts, situation: Situation): Promise<SinceLastBatch> {
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
  for await (const commit of git.walk(head.commit, maxCommits.commit)) {
    if (commit.oid.startsWith(sought)) {
      const canAsk = git.name === 'native' && commits.length > 0;
      const changes = canAsk ? await listFileChanges(repository, commit.oid, head.commit) : [];
      const changed = changes.map(({ path }) => path);
      const work = await withPaths(ports, commits.slice(0, maxCommits.work));
      return { commits, base: commit.oid, changed, work, behind };
    }
    commits.push(commit);
  }
  return { commits: [], base: null, changed: [], work: null, behind };
}

/** Lists the commits that contain the spec; null if none does, so that its start is not known. */
async function walkSpec(git: GitEngine, from: Oid, folder: string): Promise<Commit[] | null> {
  const commits: Commit[] = [];
  for await (const commit of git.walk(from, maxCommits.work)) {
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

/** Finds what the default branch, here or as last fetched, has and HEAD does not. */
async function findBehind(
  { git, repository }: BatchPorts,
  { head }: Situation,
): Promise<SinceLastBatch['behind']> {
  if (git.name !== 'native' || head.commit === null) return null;
  const name = await findDefaultBranch(repository, git);
  const refs = name === null ? [] : [`refs/heads/${name}`, `refs/remotes/origin/${name}`];
  let most: SinceLastBatch['behind'] = null;
  for (const ref of refs.filter((each) => each !== `refs/heads/${head.branch}`)) {
    const tip = await git.readRef(ref);
    const apart = tip && (await countDivergence(repository, head.commit, tip));
    if (!tip || !apart || apart.other <= (most?.commits ?? 0)) continue;
    const own = await listCommitsBetween(repository, head.commit, tip);
    const paths = await listCommitPaths(repository, own);
    const changed = [...new Set([...paths.values()].flat())];
    most = { branch: ref.replace(/^refs\/(heads|remotes)\//, ''), commits: apart.other, changed };
  }
  return most;
}

/** Runs one call at a time on a spec's files. */
export function withSpecLock<T>(ports: BatchPorts, folder: string, work: () => Promise<T>): Promise<T> {
  const name = hash('sha256', folder).slice(0, 16);
  return withLock(ports, join(ports.home, 'locks', nameFile(`spec-${name}`, '.lock')), work);
}
