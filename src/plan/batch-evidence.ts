import { posix } from 'node:path';
import type { Commit } from '../git/engine.ts';
import type { SpecTask } from '../integration/spec.ts';
import type { Oid } from '../types.ts';
import type { Proof } from './batch-files.ts';
import type { WorkCommit } from './batch-since.ts';
import type { Situation } from './batch-situation.ts';
import { findPosition } from './batches.ts';
import { readTaskTrailers } from './task-history.ts';

/** More says nothing more. */
const mostFiles = 100;
const mostCommits = 20;

/** As checkpoint.yaml and the evidence name a commit: short, and long enough for any repository. */
export function shortenCommit(commit: Oid): string {
  return commit.slice(0, 12);
}

/**
 * Does a file belong to one of these tasks, by what they say they work on: its path, a folder around it, or a glob?
 * Only where it surely does: what is committed must have been named.
 */
export function isOfTasks(tasks: readonly SpecTask[], path: string): boolean {
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

/** What was done since the last batch, as far as git can say. */
export type Work = {
  readonly commits: readonly WorkCommit[];
  /** Changed, and in no commit yet. */
  readonly uncommitted: readonly { readonly path: string; readonly isStaged: boolean }[];
};

/** What shows that each task is done: the commits that did it, and its own files that changed. */
export function findProofs(situation: Situation, tasks: readonly SpecTask[], work: Work): Proof[] {
  return tasks.map((task) => {
    const isOwn = ownFilesOf(situation, task);
    const commits = work.commits.filter((commit) => isBy(commit, task, isOwn));
    // Other changes of a task that names no files may be about anything.
    const open = work.uncommitted.filter(({ isStaged }) => isStaged || task.files.length > 0);
    const paths = [...commits.flatMap((commit) => commit.paths), ...open.map(({ path }) => path)];
    const files = [...new Set(paths.filter(isOwn))].sort().slice(0, mostFiles);
    return {
      task,
      evidence: { commits: commits.map(({ oid }) => shortenCommit(oid)).slice(0, mostCommits), files },
    };
  });
}

/** A commit that says which tasks it is of, is of those; any other is of the tasks whose files it changed. */
function isBy({ message, paths }: WorkCommit, { id }: SpecTask, isOwn: (path: string) => boolean): boolean {
  const said = readTaskTrailers(message);
  return said.length > 0 ? said.includes(id) : paths.some(isOwn);
}

/** The files of a task: those it names, else all but the spec's and those that other tasks name. */
function ownFilesOf({ folder, spec }: Situation, task: SpecTask): (path: string) => boolean {
  if (task.files.length > 0) return (path) => isOfTasks([task], path);
  return (path) => !path.startsWith(`${folder}/`) && !isOfTasks(spec.tasks, path);
}

/** The tasks for which nothing changed: in no commit since the last batch, and not in the files as they are. */
export function findIdle(situation: Situation, tasks: readonly SpecTask[], work: Work): SpecTask[] {
  return tasks.filter((task) => {
    const isOwn = ownFilesOf(situation, task);
    const isDone = work.commits.some((commit) => isBy(commit, task, isOwn));
    return !isDone && !work.uncommitted.some(({ path }) => isOwn(path));
  });
}

/** Commits that came after their task was completed, such as by the line that orch printed for them. */
export function findLateProofs({ spec }: Situation, commits: readonly Commit[]): Proof[] {
  return spec.tasks.flatMap((task): Proof[] => {
    if (task.status !== 'completed' || task.evidence.commits.length > 0) return [];
    const by = commits.find(({ message }) => readTaskTrailers(message).includes(task.id));
    return by ? [{ task, evidence: { commits: [shortenCommit(by.oid)], files: [] } }] : [];
  });
}

/** The situation with tasks that have another status now. */
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
