import { hash } from '../digest.ts';
import type { SpecTask } from '../integration/spec.ts';
import type { DeferredIssue } from '../integration/spec-checkpoint.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { isMapping } from '../yaml-values.ts';
import { completedOf, type Position } from './batches.ts';

/* What an epic keeps of its specs. Pure. */

/** How far a spec has come; two that say the same are the same. */
export type Progress = {
  readonly folder: string;
  readonly tasks: readonly SpecTask[];
  readonly position: Position;
  readonly deferred: readonly DeferredIssue[];
};

function keyOf(folder: string): string {
  return `spec:${folder}`;
}

function digestOf({ tasks, deferred }: Progress): string {
  const issues = deferred.map(({ description, location }) => [description, location]);
  return hash('sha256', JSON.stringify([[...completedOf(tasks)].sort(), issues])).slice(0, 16);
}

/** Does a state know that a spec has come this far? */
export function isRecorded(state: State, progress: Progress): boolean {
  const known = lookUp(state.current, keyOf(progress.folder))?.value;
  return isMapping(known) && known.digest === digestOf(progress);
}

/**
 * What is recorded of completed tasks, and of those that come next. How far the spec has come is the last of it: facts
 * are written in their order, so whoever finds that one knows that the others are there.
 */
export function describeProgress(state: State, progress: Progress, completed: readonly SpecTask[]): Fact[] {
  const { folder, tasks, position } = progress;
  const statusOf = ({ id }: SpecTask) => lookUp(state.issues, id)?.value.status;
  const describe = (task: SpecTask, status: 'done' | 'open'): Fact => {
    const { id, name, files } = task;
    return { kind: 'issue', id, title: name, status, severity: null, location: files[0] ?? null };
  };
  const next = position.batch?.tasks.filter((task) => statusOf(task) === undefined) ?? [];
  return [
    ...completed.filter((task) => statusOf(task) !== 'done').map((task) => describe(task, 'done')),
    ...next.map((task) => describe(task, 'open')),
    {
      kind: 'current_set',
      key: keyOf(folder),
      value: {
        batch: position.lastBatch,
        batches: position.total,
        completed: completedOf(tasks).size,
        tasks: tasks.length,
        next: position.batch?.tasks.slice(0, 20).map(({ id }) => id) ?? [],
        digest: digestOf(progress),
      },
    },
  ];
}
