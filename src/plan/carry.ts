import { type Keyed, lookUp } from '../keyed.ts';
import type { TaskRecord } from '../state/run.ts';
import { orderTasks } from './graph.ts';
import type { Plan, Task } from './types.ts';

/** Why a task that had succeeded runs again. */
export type Again =
  | { readonly kind: 'changed' }
  | { readonly kind: 'artifact'; readonly path: string; readonly how: 'missing' | 'changed' }
  | { readonly kind: 'need'; readonly need: string };

export type Carry = {
  /** What counts as done, as it was recorded. */
  readonly done: ReadonlyMap<string, TaskRecord>;
  /** What had succeeded, and runs again all the same. */
  readonly again: readonly { readonly task: Task; readonly why: Again }[];
  /** What counts as done although it never succeeded, or is not as it was: because the user says so. */
  readonly byWord: readonly { readonly task: Task; readonly why: Again | null }[];
  /** What is in a plan that was changed, and was not begun: new, or not reached yet. */
  readonly added: readonly Task[];
  /** What was done, and is not in the plan any more. */
  readonly removed: readonly string[];
};

export type CarryRules = {
  /** Tasks whose artifacts are not what they were. */
  readonly broken: ReadonlyMap<string, Extract<Again, { kind: 'artifact' }>>;
  readonly isSamePlan: boolean;
  /** Tasks that count as done because the user says so (`--resume-step`); then no others do. */
  readonly byHand: ReadonlySet<string>;
  readonly isStep: boolean;
};

/**
 * What of an earlier run still counts: what succeeded, does the same as it did then, has its artifacts as they were,
 * and needs nothing that has to run again.
 */
export function carryTasks(plan: Plan, records: Keyed<TaskRecord>, rules: CarryRules): Carry {
  const done = new Map<string, TaskRecord>();
  const again: { task: Task; why: Again }[] = [];
  const byWord: { task: Task; why: Again | null }[] = [];
  // What is done, and what stays skipped because nothing before it failed: nobody has to wait for either.
  const settled = new Set<string>();
  for (const task of orderTasks(plan.tasks)) {
    const record = lookUp(records, task.id);
    const isSkipped = task.when === 'failure' && task.needs.every((id) => settled.has(id));
    const isDone = record?.status === 'succeeded';
    const why = isDone ? findReason(task, record, settled, rules) : null;
    if (isSkipped) settled.add(task.id);
    else if (rules.isStep) {
      if (!rules.byHand.has(task.id)) continue;
      if (!isDone || why !== null) byWord.push({ task, why });
      done.set(task.id, isDone ? record : taken(task));
      settled.add(task.id);
    } else if (isDone) {
      if (why !== null) again.push({ task, why });
      else {
        done.set(task.id, record);
        settled.add(task.id);
      }
    }
  }
  const ids = new Set(plan.tasks.map(({ id }) => id));
  const isNew = ({ id }: Task) => !rules.isSamePlan && lookUp(records, id) === undefined;
  return {
    done,
    again,
    byWord,
    added: rules.isStep ? [] : plan.tasks.filter(isNew),
    removed: rules.isStep ? [] : Object.keys(records).filter((id) => !ids.has(id)),
  };
}

/** No attempt was made: somebody said that it is done. */
function taken({ digest }: Task): TaskRecord {
  return { status: 'succeeded', attempts: 0, digest, artifacts: [], at: 0 };
}

function findReason(
  task: Task,
  record: TaskRecord,
  settled: ReadonlySet<string>,
  { broken }: CarryRules,
): Again | null {
  if (record.digest !== task.digest) return { kind: 'changed' };
  const need = task.needs.find((id) => !settled.has(id));
  return need === undefined ? (broken.get(task.id) ?? null) : { kind: 'need', need };
}
