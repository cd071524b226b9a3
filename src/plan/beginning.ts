import { OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { findNearest } from '../spelling.ts';
import type { Fact } from '../state/facts.ts';
import type { RunHead, TaskRecord } from '../state/run.ts';
import type { Clock, Random } from '../system/clock.ts';
import type { Environment } from '../system/spawn.ts';
import type { Millis, SessionId, WriterId } from '../types.ts';
import { findBroken } from './artifacts.ts';
import { type Carry, carryTasks } from './carry.ts';
import type { Choice } from './choice.ts';
import { type Carried, nothingCarried, type PlannedEffect, planRunEffects } from './effects.ts';
import { orderTasks } from './graph.ts';
import { plannedHere } from './payload.ts';
import type { EffectChoice } from './replan.ts';
import type { KnownRun } from './runs.ts';
import { maxRunBytes, measureRun } from './size.ts';
import type { Effect, Plan, Task } from './types.ts';

/** A run that has begun, with all that counts of what was done before. */
export type BegunRun = {
  readonly id: string;
  readonly plan: Plan;
  readonly from: string | null;
  /** Where its plan is, from the top of the working tree, for those who are to go on with it. */
  readonly file: string | null;
  readonly startedAt: Millis;
  /** Tasks whose command succeeded before. */
  readonly done: ReadonlyMap<string, TaskRecord>;
  readonly effects: readonly PlannedEffect[];
};

export type Beginning = {
  readonly run: BegunRun;
  /** What of an earlier run counts, and what does not, where it goes on from one. */
  readonly carry: Carry | null;
  /** What else is different, in sentences for people. */
  readonly changes: readonly string[];
  readonly facts: readonly Fact[];
};

type Wanted = {
  readonly plan: Plan;
  readonly file: string | null;
  readonly worktree: string;
  readonly env: Environment;
  readonly choices: ReadonlyMap<string, EffectChoice>;
};

type Around = {
  readonly session: SessionId;
  readonly writer: WriterId;
  /** The newest run of the plan. */
  readonly last: KnownRun | null;
};

/** What a run begins with: its head, what was done before, and what it is going to do to the world. */
export function planBeginning(
  { random, clock, home }: { readonly random: Random; readonly clock: Clock; readonly home: string },
  { plan, file, worktree, env, choices }: Wanted,
  choice: Choice,
  { session, writer, last }: Around,
): Beginning {
  if (choice.kind === 'nothing') throw justFinished(plan, choice.run);
  const isAgain = choice.kind === 'again';
  const earlier = isAgain ? choice.run : choice.from;
  const after = isAgain ? 0 : choice.after;
  // The one that began last is the newest, also where a clock stands still or was set back.
  const startedAt = Math.max(clock.now(), (last?.head.startedAt ?? 0) + 1);
  const head = isAgain
    ? { id: choice.run.id, from: choice.run.head.from, file, startedAt: choice.run.head.startedAt }
    : { id: `run-${random.id(6)}`, from: choice.from?.id ?? null, file, startedAt };
  const carry = earlier && carryOver(plan, earlier, worktree, after);
  const done = carry?.done ?? new Map<string, TaskRecord>();
  const ahead = plan.tasks.filter((task) => (isAgain ? isOpen(task, done, earlier) : task.number > after));
  // What was done stays known, also of tasks that this run leaves behind: another may begin before them again.
  const behind = isAgain ? [] : plan.tasks.filter(({ number }) => number <= after);
  const kept = behind.map((task) => ({ ...task, effects: task.effects.filter(isDoneIn(earlier)) }));
  refuseUnknown(plan, choices);
  const carried = earlier
    ? {
        ...carryEffects(plan, ahead, earlier, writer),
        choices,
        isOwn: plannedHere(home, earlier.id),
      }
    : nothingCarried;
  const room = Math.max(0, maxRunBytes - measureRun(plan));
  const { planned, facts, changes } = planRunEffects([...kept, ...ahead], head.id, carried, env, room);
  return {
    run: { ...head, plan, done, effects: planned },
    carry,
    changes: [
      ...(earlier === null ? sayDoneAgain(plan, last) : []),
      ...changes,
      ...behind.flatMap((task) => (done.has(task.id) ? sayLeftOut(task, earlier) : [])),
    ],
    facts: [
      sayHead({ ...head, plan }, session, { status: 'running', endedAt: null }),
      ...[...done].map((each) => sayAgain(head.id, each)),
      ...facts,
    ],
  };
}

/** How a run stands, for the epic. */
export function sayHead(
  { id, plan, from, file, startedAt }: Omit<BegunRun, 'done' | 'effects'>,
  session: SessionId,
  now: Pick<RunHead, 'status' | 'endedAt'>,
): Fact {
  const place = file === null ? {} : { file };
  const head = { plan: plan.name, digest: plan.digest, session, from, ...place, startedAt };
  return { kind: 'run', run: id, ...head, ...now };
}

function sayAgain(run: string, [id, { at: _, ...record }]: readonly [string, TaskRecord]): Fact {
  return { kind: 'task', run, id, ...record };
}

/** Has a task something left to do? Of one that counts as done by the user's word, no effect was ever planned. */
function isOpen(
  { id, effects }: Task,
  done: ReadonlyMap<string, TaskRecord>,
  earlier: KnownRun | null,
): boolean {
  return !done.has(id) || effects.some((effect) => lookUp(earlier?.effects ?? {}, effect.id));
}

function isDoneIn(earlier: KnownRun | null) {
  return ({ id }: Effect) => lookUp(earlier?.effects ?? {}, id)?.status === 'acknowledged';
}

/** Whoever starts over where a run did not succeed may not know what that means for the world. */
function sayDoneAgain({ tasks }: Plan, last: KnownRun | null): string[] {
  if (last === null || last.head.status === 'succeeded') return [];
  const done = tasks.flatMap(({ effects }) => effects.filter(isDoneIn(last))).map(({ id }) => id);
  if (done.length === 0) return [];
  return [
    `this is not ${last.id} going on (--resume): what was done there is done again: ${done.join(', ')}`,
  ];
}

/** A task that counts as done by the user's word leaves undone what it was to do to the world. */
function sayLeftOut({ id, effects }: Task, earlier: KnownRun | null): string[] {
  const isDone = isDoneIn(earlier);
  const open = effects.filter((effect) => !isDone(effect));
  return open.map(
    (effect) => `effect ${effect.id} of ${id} is not known to be done; it is left out because you say so`,
  );
}

function carryOver(plan: Plan, earlier: KnownRun, worktree: string, after: number): Carry {
  const made = orderTasks(plan.tasks).flatMap(({ id }) => {
    const record = lookUp(earlier.tasks, id);
    return record?.status === 'succeeded' ? [[id, record.artifacts] as const] : [];
  });
  const broken = findBroken(worktree, new Map(made));
  const isSamePlan = earlier.head.digest === plan.digest;
  const byHand = new Set(plan.tasks.filter(({ number }) => number <= after).map(({ id }) => id));
  return carryTasks(plan, earlier.tasks, { broken, isSamePlan, byHand, isStep: after > 0 });
}

/** What was known of the effects that are still ahead, of those that were done, and of those that left the plan. */
function carryEffects(plan: Plan, ahead: readonly Task[], earlier: KnownRun, writer: WriterId): Carried {
  const isAhead = new Set(ahead.map(({ id }) => id));
  const isIn = new Set(plan.tasks.map(({ id }) => id));
  const known = Object.entries(earlier.effects).filter(
    ([, { task, status }]) => status === 'acknowledged' || isAhead.has(task) || !isIn.has(task),
  );
  return { effects: Object.fromEntries(known), isElsewhere: earlier.writer !== writer };
}

/** A choice that was made for nothing is a slip: the effect that was meant would be left as it is. */
function refuseUnknown({ name, tasks }: Plan, choices: ReadonlyMap<string, EffectChoice>): void {
  const ids = tasks.flatMap(({ effects }) => effects.map(({ id }) => id));
  const unknown = [...choices.keys()].find((id) => !ids.includes(id));
  if (unknown === undefined) return;
  const meant = findNearest(unknown, ids);
  const said = JSON.stringify(unknown.slice(0, 80));
  throw new OrchError('USAGE', `${name} has no effect ${said}${meant ? `; did you mean ${meant}?` : ''}`, {
    hint: `Nothing was begun. Its effects: ${ids.slice(0, 20).join(', ') || 'none'}`,
    data: { plan: name, effects: ids },
  });
}

function justFinished({ name }: Plan, run: KnownRun): OrchError {
  return new OrchError('SESSION_ACTIVE', `another process has just finished the run ${run.id} of ${name}`, {
    hint: 'Nothing is left to do; see it with: orch run --list',
    data: { plan: name, run: run.id, reason: 'finished' },
  });
}
