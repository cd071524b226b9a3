import { type Keyed, lookUp } from '../../keyed.ts';
import type { TaskRecord } from '../../state/runs.ts';
import { shortDigestOf } from '../digests.ts';
import { expandItems, readItems } from '../items.ts';
import type { Plan, Task } from '../plan.ts';
import { withoutItem } from '../references.ts';
import { orderTasks } from '../schedule/graph.ts';
import { type Ended, nothingKnown } from '../schedule/schedule.ts';
import { openValues, rankItem } from '../schedule/values.ts';

/** Why a task that had succeeded runs again. */
export type RerunReason =
  | { readonly kind: 'changed' }
  | { readonly kind: 'artifact'; readonly path: string; readonly how: 'missing' | 'changed' }
  | { readonly kind: 'need'; readonly need: string }
  | { readonly kind: 'group'; readonly group: string };

/** What a run takes over from an earlier one. */
export type CarriedTasks = {
  /** The plan's tasks, with those that the earlier run made of lists. */
  readonly tasks: readonly Task[];
  /** Tasks that count as done, as recorded. */
  readonly done: ReadonlyMap<string, TaskRecord>;
  /** Tasks that stay skipped, or whose failure was allowed: this is decided, and not decided again. */
  readonly settled: ReadonlyMap<string, TaskRecord>;
  /** Groups and lists that have begun, each with its round. */
  readonly begun: ReadonlyMap<string, number>;
  /** Groups and lists that a condition skipped, though not every task in them was reached. */
  readonly skipped: ReadonlySet<string>;
  /** What the tasks of each group set in its round before. */
  readonly before: ReadonlyMap<string, NonNullable<Ended['values']>>;
  /** The attempt with which a repeated task continues, in the round its group is in. */
  readonly attempts: ReadonlyMap<string, { readonly attempt: number; readonly round: number }>;
  /** Tasks that had succeeded but run again. */
  readonly rerun: readonly { readonly task: Task; readonly why: RerunReason }[];
  /** Tasks that count as done only because the user says so: they never succeeded, or have changed since (`why`). */
  readonly assumedDone: readonly { readonly task: Task; readonly why: RerunReason | null }[];
  /** Tasks of a changed plan that the earlier run never started: new, or not reached. */
  readonly added: readonly Task[];
  /** Recorded tasks that are no longer in the plan. */
  readonly removed: readonly string[];
  /** Recorded tasks whose records no longer count, apart from these. */
  readonly outdated: readonly string[];
};

export type CarryRules = {
  /** Tasks whose artifacts are missing or changed. */
  readonly broken: ReadonlyMap<string, Extract<RerunReason, { kind: 'artifact' }>>;
  readonly isSamePlan: boolean;
  /** With `--resume-step`, the tasks that the user says are done; then no others count as done. */
  readonly assumed: ReadonlySet<string> | null;
  /** Tasks with effects that are not acknowledged: how they end is still open. */
  readonly open?: ReadonlySet<string>;
};

/** Of what decides whether a task is skipped, to notice that the plan decides it differently now. */
export function digestChoice({ when, isInOrder }: Task): string {
  return shortDigestOf({ when: typeof when === 'string' ? when : when.text, isInOrder });
}

/**
 * Decides which tasks of an earlier run still count: those that succeeded, have not changed in the plan, still have their
 * artifacts, and need nothing that runs again. What was decided about others stays decided under the same conditions.
 */
export function carryTasks(plan: Plan, records: Keyed<TaskRecord>, rules: CarryRules): CarriedTasks {
  return rules.assumed === null
    ? carryRecorded(plan, records, rules)
    : carryAssumed(plan, records, rules, rules.assumed);
}

function carryRecorded(
  plan: Plan,
  records: Keyed<TaskRecord>,
  { broken, isSamePlan, open = new Set() }: CarryRules,
): CarriedTasks {
  const byId = new Map(plan.tasks.map((task) => [task.id, task]));
  const order = orderTasks(plan.tasks);
  const ranks = new Map(order.map(({ id }, rank) => [id, rank]));
  const done = new Map<string, TaskRecord>();
  const settled = new Map<string, TaskRecord>();
  const begun = new Map<string, number>();
  const skipped = new Set<string>();
  const before = new Map<string, NonNullable<Ended['values']>>();
  const attempts = new Map<string, { attempt: number; round: number }>();
  const rerun: { task: Task; why: RerunReason }[] = [];
  const outdated = new Set<string>();
  const ended = new Map<string, Ended>();
  const values = openValues({ byId, ranks, ended, before });
  // What is done or settled, and failure handlers that stay skipped because nothing before them failed.
  const over = new Set<string>();
  let tasks: Task[] = [];
  for (const { id, repeat } of plan.tasks.filter(({ parts }) => parts !== null)) {
    const record = lookUp(records, id);
    if (record?.status === 'running') begun.set(id, Math.max(1, record.attempts));
    if (repeat && record?.values) before.set(id, record.values);
  }

  /** The group whose rounds a task takes part in. */
  const findLoop = ({ parent }: Task): Task | null => {
    const outer = byId.get(parent ?? '');
    return outer === undefined ? null : outer.repeat ? outer : findLoop(outer);
  };

  /** Whether a group or a list has ended, and not with a failure that is tried again. Then its tasks have ended too. */
  const isDecided = ({ id, mayFail, digest }: Task): boolean => {
    const record = lookUp(records, id);
    const isEnd = record?.status === 'succeeded' || (record?.status === 'failed' && mayFail);
    return isEnd && record.digest === digest;
  };

  const isInDecided = ({ parent }: Task): boolean => {
    const outer = byId.get(parent ?? '');
    return outer !== undefined && (isDecided(outer) || isInDecided(outer));
  };

  /** The record of a task, if it is from the round its group is in. */
  const recordOf = (task: Task): TaskRecord | null => {
    const record = lookUp(records, task.id) ?? null;
    const loop = findLoop(task);
    if (loop === null || record === null) return record;
    const group = lookUp(records, loop.id);
    const counts = group?.status === 'running' || isDecided(loop);
    return group !== undefined && counts && (record.round ?? 1) === group.attempts ? record : null;
  };

  const isSkipped = (task: Task): boolean => {
    const outer = byId.get(task.parent ?? '');
    if (outer && isSkipped(outer)) return true;
    const record = recordOf(task);
    if (record?.status !== 'skipped' || record.digest !== digestChoice(task)) return false;
    if (isSkippedByFailure(record) && !isInDecided(task)) return false;
    return (task.parts?.entry ?? task.needs).every((id) => over.has(id) && !(open.has(id) && done.has(id)));
  };

  function count(task: Task, record: TaskRecord): void {
    (record.status === 'succeeded' ? done : settled).set(task.id, record);
    over.add(task.id);
    const { status, exit, values: set } = record;
    if (status !== 'succeeded' && status !== 'failed' && status !== 'skipped') return;
    const end = { status, exit, values: task.parts ? undefined : set };
    ended.set(task.id, end);
    values.note(task.id, end);
  }

  function discount(task: Task, why: RerunReason): void {
    if (done.delete(task.id)) rerun.push({ task, why });
    settled.delete(task.id);
    over.delete(task.id);
    ended.delete(task.id);
  }

  function carry(task: Task) {
    const { id, needs, mayFail } = task;
    const record = recordOf(task);
    if (record === null && lookUp(records, id) !== undefined) outdated.add(id);
    const isReady = needs.every((need) => over.has(need));
    if (isReady && isSkipped(task)) return count(task, { ...skippedRecord(task), ...record });
    if (task.when === 'failure' && isReady && !isInDecided(task)) {
      over.add(id);
      return;
    }
    if (record === null) return;
    if (task.repeat && !task.parts && isReady && record.digest === task.digest) {
      const { status, attempts: tried, round = 1 } = record;
      if (status === 'running') attempts.set(id, { attempt: tried, round });
      if (status === 'pending' && tried > 0) attempts.set(id, { attempt: tried + 1, round });
    }
    const isAllowed = record.status === 'failed' && (mayFail || isInDecided(task));
    if (record.status !== 'succeeded' && !isAllowed) return;
    const need = needs.find((each) => !over.has(each));
    const why: RerunReason | null =
      record.digest !== task.digest
        ? { kind: 'changed' }
        : need !== undefined
          ? { kind: 'need', need }
          : (broken.get(id) ?? null);
    if (why === null) return count(task, record);
    if (record.status === 'succeeded') rerun.push({ task, why });
  }

  /** Carries a group, or a task for each item of a list; its parts have been carried. */
  function carryWhole(task: Task, parts: readonly Task[]) {
    const record = recordOf(task);
    const isOver = task.needs.every((need) => over.has(need));
    if (isOver && isSkipped(task)) return count(task, { ...skippedRecord(task), ...record });
    if (record?.status === 'skipped' && isSkipped(task)) skipped.add(task.id);
    if (begun.has(task.id)) return;
    const isEnd = isDecided(task) || (record?.status === 'failed' && isInDecided(task));
    if (record && isEnd && isOver) {
      if (parts.every(({ id }) => ended.has(id))) return count(task, record);
      // An effect before it is still open, and whether something in it runs depends on that.
      begun.set(task.id, Math.max(1, record.attempts));
      over.add(task.id);
      return;
    }
    if (task.when === 'failure' && task.parts?.entry.every((need) => over.has(need))) over.add(task.id);
    if (task.repeat) {
      before.delete(task.id);
      forgetItems(parts);
    }
    for (const part of parts) {
      // A loop that does not count starts over, so nothing in it counts.
      if (task.repeat || record?.status === 'failed') discount(part, { kind: 'group', group: task.id });
      else if (isSkippedByFailure(settled.get(part.id))) {
        settled.delete(part.id);
        ended.delete(part.id);
      }
      if (task.repeat && lookUp(records, part.id) !== undefined) outdated.add(part.id);
    }
  }

  /** The lists in a loop that starts over are read again. */
  function forgetItems(parts: readonly Task[]): void {
    const inside = new Set(parts.filter(({ parts: own }) => own?.each?.value != null).map(({ id }) => id));
    if (inside.size === 0) return;
    const lists = new Map(plan.tasks.flatMap((task) => (inside.has(task.id) ? [[task.id, task]] : [])));
    for (const { id, parent } of parts) if (lists.has(parent ?? '')) byId.delete(id);
    for (const [id, list] of lists) byId.set(id, list);
    tasks = tasks.flatMap((task) => (byId.has(task.id) ? [lists.get(task.id) ?? task] : []));
  }

  /** Makes the tasks of a list again, if the earlier run had begun it and the list is the same. */
  function expandAgain(task: Task): Task | null {
    const name = task.parts?.each?.value ?? null;
    const record = recordOf(task);
    const hasBegun = record !== null && ['running', 'succeeded', 'failed'].includes(record.status);
    if (name === null || !hasBegun || !task.needs.every((need) => over.has(need))) return null;
    const items = readItems(values.find(name, task));
    if (typeof items === 'string') return null;
    const expanded = expandItems(task, items);
    byId.set(task.id, expanded.task);
    for (const [index, instance] of expanded.instances.entries()) {
      byId.set(instance.id, instance);
      ranks.set(instance.id, rankItem(ranks.get(task.id) ?? 0, index, expanded.instances.length));
      tasks.push(instance);
      carry(instance);
    }
    return expanded.task;
  }

  for (const each of order) {
    if (each.parts === null) {
      tasks.push(each);
      carry(each);
      continue;
    }
    const task = expandAgain(each) ?? each;
    tasks.push(task);
    carryWhole(
      task,
      tasks.filter(({ id }) => isInside(id, task.id)),
    );
  }

  function isInside(id: string, whole: string): boolean {
    const parent = byId.get(id)?.parent ?? null;
    return parent !== null && (parent === whole || isInside(parent, whole));
  }

  const ids = new Set(tasks.map(({ id }) => id));
  const gone = Object.entries(records).flatMap(([id, { status }]) =>
    ids.has(id) || status === 'pending' || status === 'undone' ? [] : [id],
  );
  const isItem = (id: string) => id !== withoutItem(id) && byId.has(withoutItem(id));
  for (const id of gone.filter(isItem)) outdated.add(id);
  return {
    ...{ tasks, done, settled, begun, skipped, before, attempts, rerun, assumedDone: [] },
    added: tasks.filter(({ id }) => !isSamePlan && lookUp(records, id) === undefined),
    removed: gone.filter((id) => !isItem(id)),
    outdated: [...outdated],
  };
}

/** Only a choice has a reason; anything else was skipped because something failed, or because nothing did. */
function isSkippedByFailure(record: TaskRecord | undefined): boolean {
  return record?.status === 'skipped' && record.why === undefined;
}

function skippedRecord(task: Task): TaskRecord {
  return { status: 'skipped', attempts: 0, digest: digestChoice(task), artifacts: [], at: 0 };
}

/** What counts with `--resume-step`: what the user says is done, and nothing else. */
function carryAssumed(
  plan: Plan,
  records: Keyed<TaskRecord>,
  { broken }: CarryRules,
  assumed: ReadonlySet<string>,
): CarriedTasks {
  const done = new Map<string, TaskRecord>();
  const assumedDone: { task: Task; why: RerunReason | null }[] = [];
  const over = new Set<string>();
  const findReason = (task: Task, record: TaskRecord): RerunReason | null => {
    if (record.digest !== task.digest) return { kind: 'changed' };
    const need = task.needs.find((id) => !over.has(id));
    return need === undefined ? (broken.get(task.id) ?? null) : { kind: 'need', need };
  };
  for (const task of orderTasks(plan.tasks)) {
    const { id, digest } = task;
    if (task.when === 'failure' && task.needs.every((need) => over.has(need))) {
      over.add(id);
      continue;
    }
    if (!assumed.has(id)) continue;
    const recorded = lookUp(records, id);
    const record = recorded?.status === 'succeeded' ? recorded : null;
    const why = record && findReason(task, record);
    if (record === null || why !== null) assumedDone.push({ task, why });
    done.set(id, record ?? { status: 'succeeded', attempts: 0, digest, artifacts: [], at: 0 });
    over.add(id);
  }
  const { begun, before } = nothingKnown;
  const nothing = { settled: new Map(), begun, skipped: new Set<string>(), before, attempts: new Map() };
  return {
    tasks: plan.tasks,
    done,
    ...nothing,
    rerun: [],
    assumedDone,
    added: [],
    removed: [],
    outdated: [],
  };
}
