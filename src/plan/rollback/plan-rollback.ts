import { hash } from '../../digest.ts';
import { lookUp } from '../../keyed.ts';
import { canonicalJson } from '../../state/canonical.ts';
import type { EffectRecord, TaskRecord } from '../../state/runs.ts';
import type { Millis } from '../../types.ts';
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
  const { byId, ranks, values } = expandRecorded(plan, run);
  const effectsOf = groupEffects(byId, run);
  const found = Object.entries(run.tasks).flatMap(([id, record]): Found[] => {
    const task = byId.get(id);
    if (task?.parts) return []; // its parts are undone
    const seen = task ? { ...values.listFor(task), ...record.values } : {};
    const own = { at: record.at, rank: ranks.get(id) ?? 0 };
    const effects = effectsOf.get(id) ?? [];
    return [
      ...findTaskWork(run.id, id, task, record, seen).map((work) => ({ ...own, ...work, place: 0 })),
      ...effects.map((effect, index) => {
        const work = findEffectWork(run.id, id, task, effect, seen);
        return { ...own, ...work, at: effect.record.at, place: index + 1 };
      }),
    ];
  });
  // An object would list tasks with numbers for ids first, so the order is that of their times.
  found.sort((a, b) => b.at - a.at || b.rank - a.rank || b.place - a.place);
  return {
    steps: found.flatMap((each) => ('step' in each ? [each.step] : [])),
    kept: found.flatMap((each) => ('kept' in each ? [each.kept] : [])),
  };
}

type Work = { readonly step: UndoStep } | { readonly kept: KeptWork };

/** Something that was done, when, and its place in the plan: effects come after their task's command. */
type Found = Work & { readonly at: Millis; readonly rank: number; readonly place: number };

type Seen = UndoStep['values'];

function findTaskWork(
  run: string,
  id: string,
  task: Task | undefined,
  record: TaskRecord,
  seen: Seen,
): Work[] {
  const isDone = record.status === 'succeeded' || record.status === 'undoing';
  if (!isDone) {
    const isOpen = record.status === 'running' || record.status === 'failed';
    return isOpen && task?.undo ? [{ kept: { task: id, effect: null, why: 'did not finish' } }] : [];
  }
  if (task?.undo) {
    const key = record.undoKey ?? makeKey(run, id, null, record.at);
    const isUnderWay = record.status === 'undoing';
    return [
      {
        step: {
          task,
          effect: null,
          undo: task.undo,
          key,
          isUnderWay,
          record: { task: record },
          values: seen,
        },
      },
    ];
  }
  if (task && task.run === null) return [];
  return [{ kept: { task: id, effect: null, why: task ? 'no undo' : 'not in the plan' } }];
}

function findEffectWork(
  run: string,
  task: string,
  known: Task | undefined,
  { id, record }: RecordedEffect,
  seen: Seen,
): Work {
  const effect = known?.effects.find((each) => each.id === id);
  if (!known || !effect?.undo)
    return { kept: { task, effect: id, why: known && effect ? 'no undo' : 'not in the plan' } };
  const key = makeKey(run, task, id, record.turn ?? 0);
  const isUnderWay = record.status === 'undoing';
  return {
    step: {
      task: known,
      effect,
      undo: effect.undo,
      key,
      isUnderWay,
      record: { effect: record },
      values: seen,
    },
  };
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
  const isOfLastRound = (id: string, parent: string | null): boolean => {
    const outer = byId.get(parent ?? '');
    if (outer === undefined) return true;
    const { round = 1 } = lookUp(tasks, id) ?? {};
    return outer.repeat ? lookUp(tasks, outer.id)?.attempts === round : isOfLastRound(id, outer.parent);
  };
  const note = (task: Task) => {
    const { id } = task;
    const isSeen = !before.has(id) && isOfLastRound(id, task.parent);
    const end = { status: 'succeeded', values: isSeen ? lookUp(tasks, id)?.values : {} } as const;
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
  return { byId, ranks, values };
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
