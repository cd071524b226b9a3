import { type Answers, type Condition, evaluate, listConditionTasks } from '../condition.ts';
import { readItems } from '../items.ts';
import type { Task } from '../plan.ts';
import { linkNeeds, orderTasks } from './graph.ts';
import { openValues, rankItem } from './values.ts';
import { openWaitingTasks } from './waiting-tasks.ts';

export type ScheduledTask = Pick<Task, 'id' | 'needs' | 'when' | 'files'> &
  Partial<Pick<Task, 'isInOrder' | 'parts' | 'parent' | 'repeat' | 'mayFail'>>;

export type TaskEnd = 'succeeded' | 'failed' | 'skipped';

/** How a task ended. */
export type Ended = {
  readonly status: TaskEnd;
  readonly exit?: number | undefined;
  /** The values it set. */
  readonly values?: { readonly [name: string]: string } | undefined;
  /** Its condition skipped it, or everything it needed was skipped so. */
  readonly isPassedOver?: boolean | undefined;
  /** It was cancelled, and what needs it is not done either. */
  readonly isCancelled?: boolean | undefined;
};

/** What the schedule decided. It is recorded before anything that follows from it starts. */
export type Decision<T> = Choice<T> & {
  /** The round of the group its task is in, when it was decided. */
  readonly inRound: number;
};

type Choice<T> =
  | { readonly kind: 'skip'; readonly task: T; readonly why: string | null }
  /** A group begins, or a task that is done for each item of a list; `instances` are new tasks of the run. */
  | { readonly kind: 'begin'; readonly task: T; readonly instances: readonly T[] }
  /** A group is repeated; it begins when the caller says so (`beginRound`). */
  | {
      readonly kind: 'round';
      readonly task: T;
      readonly round: number;
      readonly why: string;
      /** What its tasks set so far, which they see in the next round. */
      readonly values: NonNullable<Ended['values']>;
    }
  /** Everything in a group has ended, or every item of a list. */
  | {
      readonly kind: 'end';
      readonly task: T;
      readonly status: 'succeeded' | 'failed';
      readonly rounds: number;
      readonly why: string | null;
      /** What the tasks of a group set before its last round. */
      readonly values: NonNullable<Ended['values']>;
    };

/** Decides which tasks a run starts next. Everything it decides follows from how tasks ended. */
export type Schedule<T> = {
  /** Returns what was decided since the last call, and the tasks that can start now. */
  next(): { readonly decisions: readonly Decision<T>[]; readonly ready: readonly T[] };
  /** Takes note that a started task has ended. */
  finish(id: string, end: Ended): void;
  /** A started task waits for a person: it leaves its place to others, apart from those that share its files. */
  hold(id: string): void;
  /** A task that was held continues; false if it is not held. */
  reopen(id: string): boolean;
  /** Does something follow from the failure of a task, besides that others are not done? */
  isAwaited(id: string): boolean;
  /** Adds tasks that need only each other and tasks that are there. */
  add(tasks: readonly T[]): void;
  beginRound(id: string): void;
  /** The values that a task sees: those set by the tasks it comes after. */
  valuesFor(task: T): { readonly [name: string]: string };
  /** What a condition says to a task that has run; its own end counts. */
  ask(condition: Condition, task: T, end: Ended): { readonly holds: boolean; readonly because: string };
  /** The round a task is in: that of the group it belongs to. */
  roundOf(task: T): number;
  /** The tasks whose failure fails the run. */
  failures(): readonly T[];
};

/** How far a run was when it stopped. */
export type Known = {
  readonly ended: ReadonlyMap<string, Ended>;
  /** Groups and lists that have begun, each with its round. */
  readonly begun: ReadonlyMap<string, number>;
  /** Groups and lists that a condition skipped, though not every task in them was reached. */
  readonly skipped?: ReadonlySet<string>;
  /** What the tasks of each group set in its round before. */
  readonly before: ReadonlyMap<string, NonNullable<Ended['values']>>;
  /** Tasks that agents may still work on: they continue before any other begins. */
  readonly underWay?: ReadonlySet<string>;
};

export const nothingKnown: Known = { ended: new Map(), begun: new Map(), before: new Map() };

type Expand<T> = (
  task: T,
  items: readonly unknown[],
) => { readonly task: T; readonly instances: readonly T[] };

/**
 * Opens the schedule of a plan's tasks, some of which may have ended. At most `jobs` tasks run together, and none that may
 * touch the same files. The cost of a step depends on what changes, not on the length of the plan.
 */
export function openSchedule<T extends ScheduledTask>(
  tasks: readonly T[],
  known: Known,
  jobs: number,
  expand: Expand<T> = (task) => ({ task, instances: [] }),
): Schedule<T> {
  const order = orderTasks(tasks);
  const ranks = new Map(order.map(({ id }, rank) => [id, rank]));
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const { waitsFor, neededBy } = linkNeeds(tasks);
  const partsOf = groupByParent(tasks);
  const ended = new Map<string, Ended>();
  const rounds = new Map(known.begun);
  // Tasks that failed, or that come after a failure anywhere before them.
  const tainted = new Set<string>();
  // Tasks that a condition skipped, and those that needed only such tasks.
  const passedOver = new Set<string>(known.skipped);
  const skippedWhole = new Set<string>(known.skipped);
  const running = new Set<string>();
  const held = new Set<string>();
  /** Tasks that were held and continue; their files are still theirs. */
  const reopened: T[] = [];
  // As with make, a task that names no files runs beside any other.
  const rankOf = ({ id }: T) => (ranks.get(id) ?? 0) - (known.underWay?.has(id) ? order.length : 0);
  const waiting = openWaitingTasks<T>({ rankOf, isExclusive: () => false });
  const values = openValues({ byId, ranks, ended, before: new Map(known.before) });
  /** Tasks for which everything they need has ended. */
  const arrived: T[] = [];
  /** While what is known of a stopped run is taken over. */
  let isOpening = true;
  const decisions: Decision<T>[] = [];

  // Before it is recorded, the next round of its group may have begun.
  const decide = (choice: Choice<T>) => decisions.push({ ...choice, inRound: roundOf(choice.task) });

  const entryOf = ({ parts, needs }: T) => parts?.entry ?? needs;

  const outsideOf = ({ parent }: T): readonly string[] => {
    const group = byId.get(parent ?? '');
    return group ? entryOf(group) : [];
  };

  /** What failed before a task. How the tasks before a group ended matters to the group, not to each task in it. */
  function findFailed(task: T): string[] {
    const outside = outsideOf(task);
    return entryOf(task).filter((need) => tainted.has(need) && !outside.includes(need));
  }

  function answersFor(task: T, needs = task.needs): Answers {
    return (subject) => {
      if (subject.about === 'value') return values.find(subject.name, task, needs);
      const end = ended.get(subject.task);
      if (subject.about === 'status') return end?.status ?? null;
      return end?.exit === undefined ? null : String(end.exit);
    };
  }

  /** Once everything a task needs has ended, it is known whether the task runs at all. */
  function judge(task: T): { readonly runs: boolean; readonly why: string | null; readonly isChoice?: true } {
    const { when, isInOrder } = task;
    if (when === 'always') return { runs: true, why: null };
    const failed = findFailed(task);
    if (when === 'failure') return { runs: failed.length > 0, why: null };
    if (typeof when !== 'string') {
      // A condition deals with the failures it asks about, and with no others.
      const asked = listConditionTasks(when);
      const other = failed.find((id) => !asked.includes(id));
      if (other !== undefined) return { runs: false, why: null };
      // What is in a group, or a list, is not before it.
      const { holds, because } = evaluate(when, answersFor(task, entryOf(task)));
      return { runs: holds, why: because, isChoice: true };
    }
    if (failed.length > 0) return { runs: false, why: null };
    const outside = outsideOf(task);
    const needs = entryOf(task).filter((need) => !outside.includes(need));
    const isPassed = !isInOrder && needs.length > 0 && needs.every((need) => passedOver.has(need));
    return isPassed
      ? { runs: false, why: 'what it needs was skipped', isChoice: true }
      : { runs: true, why: null };
  }

  /** Decides whether what a task is part of begins; false if it is skipped as a whole. */
  function enter(whole: T): boolean {
    const outer = byId.get(whole.parent ?? '');
    if (outer && !enter(outer)) return false;
    if (skippedWhole.has(whole.id)) return false;
    if (rounds.has(whole.id)) return true;
    const { runs, why, isChoice } = judge(whole);
    if (!runs) {
      skippedWhole.add(whole.id);
      if (isChoice) passedOver.add(whole.id);
      decide({ kind: 'skip', task: whole, why });
      return false;
    }
    rounds.set(whole.id, 1);
    if (!isListOpen(whole)) decide({ kind: 'begin', task: whole, instances: [] });
    return true;
  }

  const isListOpen = ({ id, parts }: T) => parts?.each?.value != null && !partsOf.has(id);

  function arrive(task: T): void {
    const outer = byId.get(task.parent ?? '');
    if ((outer && !enter(outer)) || (task.parts && !enter(task))) end(task, { status: 'skipped' });
    else if (task.parts) arriveWhole(task);
    else runOrSkip(task);
  }

  function runOrSkip(task: T): void {
    const { runs, why, isChoice } = judge(task);
    if (runs) waiting.add(task);
    else {
      decide({ kind: 'skip', task, why });
      end(task, { status: 'skipped', isPassedOver: isChoice });
    }
  }

  /** Everything before a list has ended, or everything in a group. */
  function arriveWhole(task: T): void {
    if (!isListOpen(task)) conclude(task);
    else {
      const made = makeItems(task);
      if (typeof made === 'string') endWhole(task, 'failed', made);
      else addItems(made);
    }
  }

  /** Makes the tasks of a list that is known by now; returns what is wrong with it otherwise. */
  function makeItems(task: T): ReturnType<Expand<T>> | string {
    const name = task.parts?.each?.value ?? '';
    const items = readItems(values.find(name, task));
    if (typeof items === 'string') return `values.${name} is not a list: ${items}`;
    try {
      return expand(task, items);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  function addItems({ task, instances }: ReturnType<Expand<T>>): void {
    byId.set(task.id, task);
    partsOf.set(task.id, [...instances]);
    const rank = ranks.get(task.id) ?? 0;
    for (const [index, instance] of instances.entries()) {
      byId.set(instance.id, instance);
      ranks.set(instance.id, rankItem(rank, index, instances.length));
      neededBy.set(instance.id, [task]);
      waitsFor.set(instance.id, 0);
      arrived.push(instance);
    }
    waitsFor.set(task.id, instances.length);
    decide({ kind: 'begin', task, instances });
    if (instances.length === 0) conclude(task);
  }

  function conclude(task: T): void {
    const parts = partsOf.get(task.id) ?? [];
    const failed = parts.filter((part) => ended.get(part.id)?.status === 'failed' && !part.mayFail);
    const round = rounds.get(task.id) ?? 1;
    const problem = task.repeat ? findUnmet(task, task.repeat.until, failed) : describeFailed(failed);
    const most = task.repeat?.attempts ?? 1;
    if (problem === null) endWhole(task, 'succeeded', null);
    else if (round < most) startOver(task, round + 1, problem);
    else endWhole(task, 'failed', most === 1 ? problem : `after ${round} of ${most} rounds, ${problem}`);
  }

  /** Why what a group is repeated for does not hold yet; null if it does. */
  function findUnmet(task: T, until: 'success' | Condition, failed: readonly T[]): string | null {
    const asked = typeof until === 'string' ? [] : listConditionTasks(until);
    const unasked = describeFailed(failed.filter(({ id }) => !asked.includes(id)));
    if (unasked !== null || typeof until === 'string') return unasked;
    const { holds, because } = evaluate(until, answersFor(task));
    return holds ? null : because;
  }

  function startOver(task: T, round: number, why: string): void {
    const inside = listInside(task.id).map(({ id }) => id);
    rounds.set(task.id, round);
    decide({ kind: 'round', task, round, why, values: values.keepRound(task.id, inside) });
  }

  function endWhole(task: T, status: 'succeeded' | 'failed', why: string | null): void {
    const kept = values.keptOf(task.id);
    decide({ kind: 'end', task, status, rounds: rounds.get(task.id) ?? 1, why, values: kept });
    end(task, { status });
  }

  function end(task: T, how: Ended): void {
    const { id, mayFail } = task;
    running.delete(id);
    held.delete(id);
    waiting.release(task);
    ended.set(id, how);
    values.note(id, how);
    if (how.isPassedOver) passedOver.add(id);
    const isFailed = how.status === 'failed' && !mayFail;
    if (isFailed || how.isCancelled || findFailed(task).length > 0) tainted.add(id);
    for (const { id: next } of neededBy.get(id) ?? []) {
      const left = (waitsFor.get(next) ?? 0) - 1;
      waitsFor.set(next, left);
      const waitsNoMore = byId.get(next);
      const isKnown = ended.has(next) || (isOpening && known.ended.has(next));
      if (left === 0 && waitsNoMore && !isKnown) arrived.push(waitsNoMore);
    }
  }

  /** Forgets how the parts of a group ended, so that they run again. What they set is still seen. */
  function beginRound(id: string): void {
    const inside = listInside(id);
    const isInside = new Set(inside.map((part) => part.id));
    for (const part of inside) {
      for (const set of [ended, tainted, passedOver, skippedWhole]) set.delete(part.id);
      if (part.parts) rounds.delete(part.id);
    }
    for (const part of inside) {
      const each = part.parts?.each;
      if (each?.value != null) dropItems(part, isInside);
    }
    for (const part of [...inside.filter((each) => byId.has(each.id)), byId.get(id)]) {
      if (part === undefined) continue;
      const now = byId.get(part.id) ?? part;
      const left = now.needs.filter((need) => isInside.has(need) && byId.has(need)).length;
      waitsFor.set(part.id, left);
      if (left === 0 && part.id !== id) arrived.push(now);
    }
  }

  /** The items of a list that a task in the group sets are read again. */
  function dropItems(task: T, isInside: ReadonlySet<string>): void {
    const items = new Set((partsOf.get(task.id) ?? []).map(({ id }) => id));
    for (const item of items) byId.delete(item);
    partsOf.delete(task.id);
    const needs = task.needs.filter((need) => !items.has(need));
    byId.set(task.id, { ...task, needs });
    for (const need of needs) {
      if (!isInside.has(need)) continue;
      const others = (neededBy.get(need) ?? []).filter(({ id }) => id !== task.id && !items.has(id));
      neededBy.set(need, [...others, task]);
    }
  }

  function listInside(id: string): T[] {
    return (partsOf.get(id) ?? []).flatMap((part) => [byId.get(part.id) ?? part, ...listInside(part.id)]);
  }

  function takeReady(): T[] {
    const ready: T[] = [];
    while (running.size < jobs) {
      const task = reopened.shift() ?? waiting.take();
      if (task === null) break;
      running.add(task.id);
      ready.push(task);
    }
    return ready;
  }

  function roundOf({ parent }: T): number {
    const outer = byId.get(parent ?? '');
    return outer === undefined ? 1 : outer.repeat ? (rounds.get(outer.id) ?? 1) : roundOf(outer);
  }

  /** A failure in a group that succeeded in the end, or that may fail, does not count. */
  function counts({ mayFail, parent }: T): boolean {
    if (mayFail) return false;
    const outer = byId.get(parent ?? '');
    return outer === undefined || (ended.get(outer.id)?.status !== 'succeeded' && counts(outer));
  }

  for (const task of order) if (waitsFor.get(task.id) === 0 && !known.ended.has(task.id)) arrived.push(task);
  for (const task of order) {
    const how = known.ended.get(task.id);
    if (how) end(task, how);
  }
  isOpening = false;
  return {
    next: () => {
      // More arrive meanwhile.
      for (const task of arrived) if (!ended.has(task.id)) arrive(byId.get(task.id) ?? task);
      arrived.length = 0;
      return { decisions: decisions.splice(0), ready: takeReady() };
    },
    finish: (id, how) => {
      const task = byId.get(id);
      if (task !== undefined) end(task, how);
    },
    hold: (id) => {
      running.delete(id);
      held.add(id);
    },
    reopen: (id) => {
      const task = byId.get(id);
      if (task === undefined || !held.delete(id)) return false;
      reopened.push(task);
      return true;
    },
    isAwaited: (id) =>
      byId.get(id)?.parent != null || (neededBy.get(id) ?? []).some(({ when }) => when !== 'success'),
    add: (more) => {
      for (const task of more) {
        byId.set(task.id, task);
        ranks.set(task.id, Math.max(...ranks.values()) + 1);
      }
      for (const task of more) {
        const open = task.needs.filter((need) => !ended.has(need));
        waitsFor.set(task.id, open.length);
        for (const need of open) neededBy.set(need, [...(neededBy.get(need) ?? []), task]);
        if (open.length === 0) arrived.push(task);
      }
    },
    beginRound,
    valuesFor: values.listFor,
    ask: (condition, task, how) => {
      const own: Answers = (subject) => {
        if (subject.about === 'value') return how.values?.[subject.name] ?? values.find(subject.name, task);
        if (subject.task !== task.id) return answersFor(task)(subject);
        if (subject.about === 'status') return how.status;
        return how.exit === undefined ? null : String(how.exit);
      };
      return evaluate(condition, own);
    },
    roundOf,
    failures: () =>
      [...byId.values()].filter((task) => ended.get(task.id)?.status === 'failed' && counts(task)),
  };
}

function describeFailed([first, ...more]: readonly ScheduledTask[]): string | null {
  if (first === undefined) return null;
  return `${first.id} failed${more.length > 0 ? `, and ${more.length} more` : ''}`;
}

function groupByParent<T extends ScheduledTask>(tasks: readonly T[]): Map<string, T[]> {
  const parts = new Map<string, T[]>();
  for (const task of tasks) {
    if (task.parent == null) continue;
    const others = parts.get(task.parent);
    if (others) others.push(task);
    else parts.set(task.parent, [task]);
  }
  return parts;
}
