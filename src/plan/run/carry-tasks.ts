import { type Keyed, lookUp } from '../../keyed.ts';
import type { TaskRecord } from '../../state/runs.ts';
import type { Plan, Task } from '../plan.ts';
import { orderTasks } from '../schedule/graph.ts';

/** Why a task that had succeeded runs again. */
export type RerunReason =
  | { readonly kind: 'changed' }
  | { readonly kind: 'artifact'; readonly path: string; readonly how: 'missing' | 'changed' }
  | { readonly kind: 'need'; readonly need: string };

/** What a run takes over from an earlier one. */
export type CarriedTasks = {
  /** Tasks that count as done, as recorded. */
  readonly done: ReadonlyMap<string, TaskRecord>;
  /** Tasks that had succeeded but run again. */
  readonly rerun: readonly { readonly task: Task; readonly why: RerunReason }[];
  /** Tasks that count as done only because the user says so: they never succeeded, or have changed since (`why`). */
  readonly assumedDone: readonly { readonly task: Task; readonly why: RerunReason | null }[];
  /** Tasks of a changed plan that the earlier run never started: new, or not reached. */
  readonly added: readonly Task[];
  /** Recorded tasks that are no longer in the plan. */
  readonly removed: readonly string[];
};

export type CarryRules = {
  /** Tasks whose artifacts are missing or changed. */
  readonly broken: ReadonlyMap<string, Extract<RerunReason, { kind: 'artifact' }>>;
  readonly isSamePlan: boolean;
  /** With `--resume-step`, the tasks that the user says are done; then no others count as done. */
  readonly assumed: ReadonlySet<string> | null;
};

/**
 * Decides which tasks of an earlier run still count as done: those that succeeded, have not changed in the plan, still
 * have their artifacts, and need nothing that runs again.
 */
export function carryTasks(plan: Plan, records: Keyed<TaskRecord>, rules: CarryRules): CarriedTasks {
  const { broken, assumed, isSamePlan } = rules;
  const done = new Map<string, TaskRecord>();
  const rerun: { task: Task; why: RerunReason }[] = [];
  const assumedDone: { task: Task; why: RerunReason | null }[] = [];
  // Done tasks, and failure handlers that stay skipped because nothing before them failed: none has to be waited for.
  const settled = new Set<string>();
  const findReason = (task: Task, record: TaskRecord): RerunReason | null => {
    if (record.digest !== task.digest) return { kind: 'changed' };
    const need = task.needs.find((id) => !settled.has(id));
    return need === undefined ? (broken.get(task.id) ?? null) : { kind: 'need', need };
  };
  for (const task of orderTasks(plan.tasks)) {
    const { id, digest } = task;
    const recorded = lookUp(records, id);
    const record = recorded?.status === 'succeeded' ? recorded : null;
    const why = record && findReason(task, record);
    if (task.when === 'failure' && task.needs.every((need) => settled.has(need))) settled.add(id);
    else if (assumed !== null) {
      if (!assumed.has(id)) continue;
      if (record === null || why !== null) assumedDone.push({ task, why });
      done.set(id, record ?? { status: 'succeeded', attempts: 0, digest, artifacts: [], at: 0 });
      settled.add(id);
    } else if (why !== null) rerun.push({ task, why });
    else if (record !== null) {
      done.set(id, record);
      settled.add(id);
    }
  }
  if (assumed !== null) return { done, rerun, assumedDone, added: [], removed: [] };
  const ids = new Set(plan.tasks.map(({ id }) => id));
  const isNew = ({ id }: Task) => !isSamePlan && lookUp(records, id) === undefined;
  return {
    done,
    rerun,
    assumedDone,
    added: plan.tasks.filter(isNew),
    removed: Object.entries(records).flatMap(([id, { status }]) =>
      ids.has(id) || status === 'pending' ? [] : [id],
    ),
  };
}
