import { posix } from 'node:path';
import { readTaskId } from '../config/yaml/yaml-values.ts';
import { OrchError } from '../errors.ts';
import type { Commit, GitEngine } from '../git/engine.ts';
import { readTrailers } from '../git/objects/commit-object.ts';
import { listPath, readCommit } from '../git/objects/read-objects.ts';
import { listUncommitted } from '../git/worktree/user-commit.ts';
import type { Oid } from '../types.ts';
import { findPosition } from './batches.ts';
import type { TaskEvidence } from './progress-files.ts';
import type { SpecTask } from './read-spec.ts';
import type { BatchPorts, SinceLastBatch, Situation, WorkCommit } from './situation.ts';

/** A longer list would add no information. */
const mostFiles = 100;
const mostCommits = 20;

/** Shortens a commit id for checkpoint.yaml and the evidence; still long enough for any repository. */
export function shortenCommit(commit: Oid): string {
  return commit.slice(0, 12);
}

/**
 * Whether one of these tasks names this file: by its path, a folder around it, or a glob. Never in doubt, because only
 * files that a task names may be committed.
 */
export function isFileOfTasks(tasks: readonly SpecTask[], path: string): boolean {
  return tasks.some(({ files }) => files.some((file) => makePattern(file).test(path)));
}

const wildcards: ReadonlyMap<string, string> = new Map([
  ['**/', '(?:.*/)?'],
  ['**', '.*'],
  ['*', '[^/]*'],
  ['?', '[^/]'],
]);

function makePattern(file: string): RegExp {
  const parts = posix
    .normalize(file)
    .replace(/\/+$/, '')
    .split(/(\*\*\/|\*\*|\*|\?)/);
  const pattern = parts.map((part) => wildcards.get(part) ?? part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${pattern.join('')}(?:/.*)?$`);
}

/** The work since the last batch, as far as git knows. */
export type WorkSince = {
  readonly commits: readonly WorkCommit[];
  readonly uncommitted: readonly { readonly path: string; readonly isStaged: boolean }[];
};

/** Finds what shows that each task is done: its commits, and its own files that changed. */
export function findEvidence(
  situation: Situation,
  tasks: readonly SpecTask[],
  work: WorkSince,
): TaskEvidence[] {
  return tasks.map((task) => {
    const isOwn = matchOwnFiles(situation, task);
    const commits = work.commits.filter((commit) => isCommitOf(commit, task, isOwn));
    // For a task that names no files, unstaged changes may be about anything.
    const open = work.uncommitted.filter(({ isStaged }) => isStaged || task.files.length > 0);
    const paths = [...commits.flatMap((commit) => commit.paths), ...open.map(({ path }) => path)];
    const files = [...new Set(paths.filter(isOwn))].sort().slice(0, mostFiles);
    return {
      task,
      evidence: { commits: commits.map(({ oid }) => shortenCommit(oid)).slice(0, mostCommits), files },
    };
  });
}

/** A commit belongs to the tasks its trailers name; without trailers, to the tasks whose files it changed. */
function isCommitOf(
  { message, paths }: WorkCommit,
  { id }: SpecTask,
  isOwn: (path: string) => boolean,
): boolean {
  const named = readTaskTrailers(message);
  return named.length > 0 ? named.includes(id) : paths.some(isOwn);
}

/** A task owns the files it names; without any, all but the spec's files and those that other tasks name. */
function matchOwnFiles({ folder, spec }: Situation, task: SpecTask): (path: string) => boolean {
  if (task.files.length > 0) return (path) => isFileOfTasks([task], path);
  return (path) => !path.startsWith(`${folder}/`) && !isFileOfTasks(spec.tasks, path);
}

/** Finds commits made after their task was completed, such as with the command that orch printed. */
export function findLateEvidence({ spec }: Situation, commits: readonly Commit[]): TaskEvidence[] {
  return spec.tasks.flatMap((task): TaskEvidence[] => {
    if (task.status !== 'completed' || task.evidence.commits.length > 0) return [];
    const by = commits.find(({ message }) => readTaskTrailers(message).includes(task.id));
    return by ? [{ task, evidence: { commits: [shortenCommit(by.oid)], files: [] } }] : [];
  });
}

/** Returns the situation with another status for these tasks. */
export function markTasks(
  situation: Situation,
  tasks: readonly SpecTask[],
  status: SpecTask['status'],
): Situation {
  const ids = new Set(tasks.map(({ id }) => id));
  const mark = (task: SpecTask): SpecTask => (ids.has(task.id) ? { ...task, status } : task);
  const batches = situation.batches.map((batch) => batch.map(mark));
  const spec = { ...situation.spec, tasks: situation.spec.tasks.map(mark) };
  return { ...situation, spec, batches, position: findPosition(batches) };
}

/** Reads the work since the last batch: commits, and files not committed yet. */
export async function readWork(
  { git, repository }: BatchPorts,
  { work }: SinceLastBatch,
): Promise<WorkSince> {
  const uncommitted = git.name === 'native' ? await listUncommitted(repository) : [];
  return { commits: work ?? [], uncommitted };
}

/** Finds the tasks for which nothing changed, in commits or files; none if that is not known. */
export async function findUnchanged(
  ports: BatchPorts,
  situation: Situation,
  since: SinceLastBatch,
  tasks: readonly SpecTask[],
): Promise<SpecTask[]> {
  if (ports.git.name !== 'native' || since.work === null) return [];
  const work = await readWork(ports, since);
  return tasks.filter((task) => {
    const isOwn = matchOwnFiles(situation, task);
    const hasCommit = work.commits.some((commit) => isCommitOf(commit, task, isOwn));
    return !hasCommit && !work.uncommitted.some(({ path }) => isOwn(path));
  });
}

/** `T003 (src/auth/session.py), T004`: tasks with the files they name. */
export function nameTasks(tasks: readonly SpecTask[]): string {
  return tasks.map(({ id, files }) => `${id}${files.length > 0 ? ` (${files.join(', ')})` : ''}`).join(', ');
}

/** Makes the error for a completion without any work. */
export function unchangedError({ position }: Situation, tasks: readonly SpecTask[]): OrchError {
  const since = position.lastBatch === 0 ? 'the spec was added' : `batch ${position.lastBatch}`;
  return new OrchError('USAGE', `nothing changed for ${nameTasks(tasks)} since ${since}`, {
    hint: 'Nothing was completed. Do the work first. If no change is needed, add --anyway',
    data: { tasks: tasks.map(({ id }) => id) },
  });
}

/** Reads the tasks that a commit says it completed: `Tasks: T001, T002`. */
export function readTaskTrailers(message: string): string[] {
  return readTrailers(message)
    .filter(({ name }) => name.toLowerCase() === 'tasks')
    .flatMap(({ value }) => value.split(/[\s,]+/))
    .flatMap((word) => readTaskId(word) ?? []);
}

/** Whether a commit was made for a batch: for its work, or for the spec's own files. */
export function isBatchCommit(message: string): boolean {
  return readTrailers(message).some(({ name }) => ['tasks', 'batch'].includes(name.toLowerCase()));
}

/** Finds the tasks of a spec that commits say they completed, each with the newest such commit. */
export async function readTaskHistory(git: GitEngine, from: Oid, folder: string): Promise<Map<string, Oid>> {
  const found = new Map<string, Oid>();
  const reverted = new Set<string>();
  for await (const commit of git.walk(from)) {
    // Newest first, so a revert comes before the commit it reverts; a reverted revert has no effect.
    if (reverted.has(commit.oid)) continue;
    const [, undone] = /^This reverts commit ([0-9a-f]{40,64})\b/m.exec(commit.message) ?? [];
    if (undone !== undefined) reverted.add(undone);
    const ids = readTaskTrailers(commit.message).filter((id) => !found.has(id));
    if (ids.length === 0 || !(await isCommitOfSpec(git, commit, folder))) continue;
    for (const id of ids) found.set(id, commit.oid);
  }
  return found;
}

/**
 * Whether a commit is about this spec. Specs use the same task ids, so the commit must contain the spec's folder, and
 * must not have changed other specs while leaving this one alone.
 */
async function isCommitOfSpec(git: GitEngine, commit: Commit, folder: string): Promise<boolean> {
  const beside = folder.split('/').slice(0, -1);
  const own = folder.split('/').at(-1);
  const readSpecs = async (tree: Oid) =>
    new Map(((await listPath(git, tree, beside)) ?? []).map(({ name, oid }) => [name, oid]));
  const now = await readSpecs(commit.tree);
  if (own === undefined || !now.has(own)) return false;
  const [parent] = commit.parents;
  const before = parent ? await readSpecs((await readCommit(git, parent)).tree) : new Map<string, Oid>();
  if (now.get(own) !== before.get(own)) return true;
  return [...now].every(([name, oid]) => before.get(name) === oid);
}
