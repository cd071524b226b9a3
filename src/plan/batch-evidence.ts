import { posix } from 'node:path';
import type { SpecTask } from '../integration/spec.ts';
import type { Oid } from '../types.ts';
import type { Proof } from './batch-files.ts';
import type { Situation } from './batch-situation.ts';
import { findPosition } from './batches.ts';

/** More says nothing more. */
const mostFiles = 100;

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

/** What shows that tasks are done: where HEAD stood, and which files changed. Several share these by their own files. */
export function findProofs(
  { head, folder }: Situation,
  tasks: readonly SpecTask[],
  changed: readonly string[],
): Proof[] {
  const work = changed.filter((path) => !path.startsWith(`${folder}/`));
  const commits = head.commit === null ? [] : [shortenCommit(head.commit)];
  return tasks.map((task) => {
    const files = tasks.length === 1 ? work : work.filter((path) => isOfTasks([task], path));
    return { task, evidence: { commits, files: files.slice(0, mostFiles) } };
  });
}

/** The situation with tasks completed. */
export function markCompleted(situation: Situation, tasks: readonly SpecTask[]): Situation {
  const ids = new Set(tasks.map(({ id }) => id));
  const mark = (task: SpecTask): SpecTask => (ids.has(task.id) ? { ...task, status: 'completed' } : task);
  const batches = situation.batches.map((batch) => batch.map(mark));
  const spec = { ...situation.spec, tasks: situation.spec.tasks.map(mark) };
  return { ...situation, spec, batches, position: findPosition(batches) };
}
