import { hash } from '../../digest.ts';
import { lookUp } from '../../keyed.ts';
import { canonicalJson } from '../../state/canonical.ts';
import type { EffectRecord, TaskRecord } from '../../state/runs.ts';
import { expandItems, readItems } from '../items.ts';
import type { Effect, Plan, Task, Undo } from '../plan.ts';
import type { KnownRun } from '../run/known-runs.ts';
import { orderTasks } from '../schedule/graph.ts';
import type { Ended } from '../schedule/schedule.ts';
import { openValues, rankItem } from '../schedule/values.ts';

/* What a rollback does, and in which order. Pure: the same records give the same steps, so it continues after a crash. */

/** A task to undo, or one of its effects. */
export type UndoStep = {
  readonly task: Task;
  /** Null for what the task's own command did. */
  readonly effect: Effect | null;
  readonly undo: Undo;
  /** The same in every attempt. */
  readonly key: string;
  /** An earlier attempt may have done it. */
  readonly isUnderWay: boolean;
  readonly record: { readonly task: TaskRecord } | { readonly effect: EffectRecord };
  /** The values it sees: those the task saw, and those it set. */
  readonly values: { readonly [name: string]: string };
};

/** Something that was done and stays, or may stay. */
export type KeptWork = {
  readonly task: string;
  readonly effect: string | null;
  readonly why: 'no undo' | 'not in the plan' | 'did not finish';
};

export type RollbackPlan = { readonly steps: readonly UndoStep[]; readonly kept: readonly KeptWork[] };

type Recorded = Pick<KnownRun, 'id' | 'tasks' | 'effects'>;

/** Plans to undo what succeeded in a run, what was done last first. */
export function planRollback(plan: Plan, run: Recorded): RollbackPlan {
  const { byId, values } = expandRecorded(plan, run);
  const effectsOf = groupEffects(byId, run);
  const steps: UndoStep[] = [];
  const kept: KeptWork[] = [];
  for (const [id, record] of Object.entries(run.tasks).reverse()) {
    const task = byId.get(id);
    if (task?.parts) continue; // its parts are undone
    const seen = task ? { ...values.listFor(task), ...record.values } : {};
    for (const { id: effectId, record: done } of effectsOf.get(id)?.reverse() ?? []) {
      const effect = task?.effects.find((each) => each.id === effectId);
      if (!task || !effect?.undo)
        kept.push({ task: id, effect: effectId, why: task && effect ? 'no undo' : 'not in the plan' });
      else
        steps.push({
          ...{ task, effect, undo: effect.undo, record: { effect: done }, values: seen },
          key: makeKey(run.id, id, effectId, done.turn ?? 0),
          isUnderWay: done.status === 'undoing',
        });
    }
    const isDone = record.status === 'succeeded' || record.status === 'undoing';
    if (!isDone) {
      const isOpen = record.status === 'running' || record.status === 'failed';
      if (isOpen && task?.undo) kept.push({ task: id, effect: null, why: 'did not finish' });
    } else if (task?.undo)
      steps.push({
        ...{ task, effect: null, undo: task.undo, record: { task: record }, values: seen },
        key: record.undoKey ?? makeKey(run.id, id, null, record.at),
        isUnderWay: record.status === 'undoing',
      });
    else if (task === undefined || task.run !== null)
      kept.push({ task: id, effect: null, why: task ? 'no undo' : 'not in the plan' });
  }
  return { steps, kept };
}

/** The plan's tasks with those that the run made of lists, and the values each of them sees. */
function expandRecorded(plan: Plan, { tasks }: Recorded) {
  const byId = new Map(plan.tasks.map((task) => [task.id, task]));
  const order = orderTasks(plan.tasks);
  const ranks = new Map(order.map(({ id }, rank) => [id, rank]));
  const ended = new Map<string, Ended>();
  const before = new Map(
    plan.tasks.flatMap(({ id, parts }) => (parts ? [[id, lookUp(tasks, id)?.values ?? {}] as const] : [])),
  );
  const values = openValues({ byId, ranks, ended, before });
  const note = ({ id }: Task) => {
    const end = { status: 'succeeded', values: before.has(id) ? {} : lookUp(tasks, id)?.values } as const;
    ended.set(id, end);
    values.note(id, end);
  };
  for (const task of order) {
    const name = task.parts?.each?.value ?? null;
    const items = name === null ? [] : readItems(values.find(name, task));
    const expanded = typeof items === 'string' ? { task, instances: [] } : expandItems(task, items);
    if (name !== null) {
      byId.set(task.id, expanded.task);
      for (const [index, instance] of expanded.instances.entries()) {
        byId.set(instance.id, instance);
        ranks.set(instance.id, rankItem(ranks.get(task.id) ?? 0, index, expanded.instances.length));
        note(instance);
      }
    }
    note(task);
  }
  return { byId, values };
}

type RecordedEffect = { readonly id: string; readonly record: EffectRecord };

/** The effects that are done, or partly undone, by task, in the order they were done. */
function groupEffects(
  byId: ReadonlyMap<string, Task>,
  { tasks, effects }: Recorded,
): Map<string, RecordedEffect[]> {
  const groups = new Map<string, RecordedEffect[]>();
  for (const [id, record] of Object.entries(effects)) {
    if (record.status !== 'acknowledged' && record.status !== 'undoing') continue;
    // An effect is known by its task; without the task's record it would not come up.
    if (lookUp(tasks, record.task) === undefined && !byId.has(record.task)) continue;
    groups.set(record.task, [...(groups.get(record.task) ?? []), { id, record }]);
  }
  return groups;
}

function makeKey(run: string, task: string, effect: string | null, turn: number): string {
  return `orch-${hash('sha256', canonicalJson([run, task, effect, 'undo', turn])).slice(0, 32)}`;
}
