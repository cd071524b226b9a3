import { OrchError } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import { canonicalJson } from '../../state/canonical.ts';
import type { Fact } from '../../state/facts.ts';
import { chooseShardDepth } from '../../state/run-records.ts';
import type { RunHead, TaskRecord } from '../../state/runs.ts';
import type { Clock, Random } from '../../system/clock.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { findNearest } from '../../text.ts';
import type { Millis, SessionId, WriterId } from '../../types.ts';
import { wasPlannedHere } from '../effects/payload.ts';
import {
  type EarlierEffects,
  type EffectFact,
  listOpenEffects,
  noEarlierEffects,
  type PlannedEffect,
  planRunEffects,
} from '../effects/plan-effects.ts';
import type { EffectChoice } from '../effects/replan.ts';
import type { Effect, Plan, Task } from '../plan.ts';
import { orderTasks } from '../schedule/graph.ts';
import { type Ended, type Known, nothingKnown } from '../schedule/schedule.ts';
import { findBrokenArtifacts } from '../task/artifacts.ts';
import { type CarriedTasks, carryTasks } from './carry-tasks.ts';
import type { RunChoice } from './choose-run.ts';
import type { KnownRun } from './known-runs.ts';

/** A run, with everything done before that counts for it. */
export type ActiveRun = {
  readonly id: string;
  readonly plan: Plan;
  /** The run it continues from. */
  readonly from: string | null;
  /** The plan's file, relative to the top of the working tree, so that others can resume the run. */
  readonly file: string | null;
  readonly startedAt: Millis;
  /** How deep the tree of its shards is. */
  readonly shards: number;
  /** Tasks whose command has succeeded before. */
  readonly done: ReadonlyMap<string, TaskRecord>;
  /** Tasks that stay skipped, or whose failure was allowed. */
  readonly settled: ReadonlyMap<string, TaskRecord>;
  readonly begun: CarriedTasks['begun'];
  readonly skipped: CarriedTasks['skipped'];
  readonly before: CarriedTasks['before'];
  /** The attempt with which a repeated task continues. */
  readonly attempts: CarriedTasks['attempts'];
  /** Everything recorded about its tasks before it was resumed. */
  readonly recorded: KnownRun['tasks'];
  readonly effects: readonly PlannedEffect[];
};

export type PreparedRun = {
  readonly run: ActiveRun;
  /** What counts of the earlier run; null for a run that starts from nothing. */
  readonly carried: CarriedTasks | null;
  /** What else is different, in sentences for people. */
  readonly changes: readonly string[];
  /** The first facts to record: the run itself, the tasks done before, the effects planned. */
  readonly facts: readonly Fact[];
};

export type PlanToRun = {
  readonly plan: Plan;
  /** The plan's file, relative to the top of the working tree; null if the plan is in no file. */
  readonly file: string | null;
  /** The top of the working tree, where tasks run. */
  readonly worktree: string;
  readonly env: Environment;
  /** The user's choices for effects that are not acknowledged, by effect id. */
  readonly choices: ReadonlyMap<string, EffectChoice>;
};

type PrepareContext = {
  readonly session: SessionId;
  readonly writer: WriterId;
  /** The newest run of the plan. */
  readonly last: KnownRun | null;
};

/** Works out what a run starts with: its head, the tasks that count as done, and the effects it plans. */
export function prepareRun(
  { random, clock, home }: { readonly random: Random; readonly clock: Clock; readonly home: string },
  { plan, file, worktree, env, choices }: PlanToRun,
  choice: RunChoice,
  { session, writer, last }: PrepareContext,
): PreparedRun {
  if (choice.kind === 'finished') throw justFinishedError(plan, choice.run);
  refuseUnknownChoices(plan, choices);
  const isResumed = choice.kind === 'resume';
  const earlier = isResumed ? choice.run : choice.from;
  const after = isResumed ? 0 : choice.after;
  // The run started last must be the newest, even if the clock stands still or was set back.
  const startedAt = Math.max(clock.now(), (last?.head.startedAt ?? 0) + 1);
  const head = isResumed
    ? { id: choice.run.id, from: choice.run.head.from, file, startedAt: choice.run.head.startedAt }
    : { id: `run-${random.id(6)}`, from: choice.from?.id ?? null, file, startedAt };
  const shards = (isResumed ? choice.run.head.shards : undefined) ?? chooseShardDepth(countRecords(plan));
  const carried = earlier && carryOver(plan, earlier, worktree, after);
  const done = carried?.done ?? new Map<string, TaskRecord>();
  const now = carried ? { ...plan, tasks: carried.tasks } : plan;
  const ahead = now.tasks.filter((task) =>
    isResumed ? hasWorkLeft(task, done, earlier) : task.number > after,
  );
  // Effects done by skipped tasks stay on record: a later run may start before those tasks again.
  const skipped = isResumed ? [] : plan.tasks.filter(({ number }) => number <= after);
  const kept = skipped.map((task) => ({ ...task, effects: task.effects.filter(isDoneIn(earlier)) }));
  const earlierEffects = earlier
    ? { ...carryEffects(plan, ahead, earlier, writer), choices, isOwn: wasPlannedHere(home, earlier.id) }
    : noEarlierEffects;
  const { planned, facts, changes } = planRunEffects([...kept, ...ahead], head.id, earlierEffects, env);
  const nothing = {
    settled: new Map(),
    begun: nothingKnown.begun,
    skipped: new Set<string>(),
    before: nothingKnown.before,
    attempts: new Map(),
  };
  const { settled, begun, skipped: skippedGroups, before, attempts } = carried ?? nothing;
  const decided = { settled, begun, skipped: skippedGroups, before, attempts };
  const recorded = isResumed ? choice.run.tasks : {};
  const run = { ...head, plan: now, shards, done, ...decided, recorded, effects: planned };
  // A run that was recorded inside documents is restated as a whole, which moves it into shards.
  const known = isResumed && choice.run.head.shards !== undefined ? choice.run : null;
  return {
    run,
    carried,
    changes: [
      ...(earlier === null ? warnRepeatedEffects(plan, last) : []),
      ...changes,
      ...skipped.flatMap((task) => (done.has(task.id) ? warnSkippedEffects(task, earlier) : [])),
    ],
    facts: [
      makeHeadFact(run, session, { status: 'running', endedAt: null }),
      ...(known ? restartTasks(run, known, carried) : restateTasks(run)),
      ...facts.filter((fact) => !isKnownEffect(fact, known)).map((fact) => ({ ...fact, shards })),
    ],
  };
}

const likelyItems = 1_000;

/** How many records a run of the plan has of one kind, at most. */
function countRecords({ tasks }: Plan): number {
  const effects = tasks.reduce((sum, task) => sum + task.effects.length, 0);
  // How long a list will be that a task sets is not known yet.
  const hasLists = tasks.some(({ parts }) => parts?.each?.value != null);
  return Math.max(tasks.length, effects, hasLists ? likelyItems : 0);
}

/** The facts that tasks of an earlier run count as done in this one. */
function restateTasks({ id: run, done, shards }: ActiveRun): Fact[] {
  return [...done].map(([id, { at: _, ...record }]) => ({ kind: 'task', run, id, ...record, shards }));
}

/**
 * The facts that tasks which had succeeded run again, or have left the plan. Without them, a task that needs one of these
 * would count as done if the run stopped in between.
 */
function restartTasks({ id: run, shards }: ActiveRun, known: KnownRun, carried: CarriedTasks | null): Fact[] {
  const restarted = new Set([
    ...(carried?.rerun ?? []).map(({ task }) => task.id),
    ...(carried?.removed ?? []),
    ...(carried?.outdated ?? []),
  ]);
  return [...restarted].flatMap((id): Fact[] => {
    const record = lookUp(known.tasks, id);
    if (record === undefined || record.status === 'pending') return [];
    const { digest } = record;
    return [{ kind: 'task', run, id, status: 'pending', attempts: 0, digest, artifacts: [], shards }];
  });
}

/** Is the effect recorded exactly so already? */
function isKnownEffect({ kind: _, run: __, id, ...fact }: EffectFact, known: KnownRun | null): boolean {
  const { at: ___, ...record } = lookUp(known?.effects ?? {}, id) ?? { at: 0 };
  return known !== null && canonicalJson(record) === canonicalJson(fact);
}

/** Makes the fact that describes the status of a run. */
export function makeHeadFact(
  {
    id,
    plan,
    from,
    file,
    startedAt,
    shards,
  }: Pick<ActiveRun, 'id' | 'plan' | 'from' | 'file' | 'startedAt' | 'shards'>,
  session: SessionId,
  now: Pick<RunHead, 'status' | 'endedAt' | 'rollback'>,
): Fact {
  const place = file === null ? {} : { file };
  const tasks = plan.tasks.length;
  const head = { plan: plan.name, digest: plan.digest, session, from, ...place, startedAt, tasks, shards };
  return { kind: 'run', run: id, ...head, ...now };
}

/** A task that the user said was done never had its effects planned, so none of them is left to do. */
function hasWorkLeft(
  { id, effects }: Task,
  done: ReadonlyMap<string, TaskRecord>,
  earlier: KnownRun | null,
): boolean {
  return !done.has(id) || effects.some((effect) => lookUp(earlier?.effects ?? {}, effect.id));
}

function isDoneIn(earlier: KnownRun | null) {
  return ({ id }: Effect) => lookUp(earlier?.effects ?? {}, id)?.status === 'acknowledged';
}

function warnRepeatedEffects({ tasks }: Plan, last: KnownRun | null): string[] {
  if (last === null || last.head.status === 'succeeded') return [];
  const done = tasks.flatMap(({ effects }) => effects.filter(isDoneIn(last))).map(({ id }) => id);
  if (done.length === 0) return [];
  return [`this run starts over instead of resuming ${last.id}, so it repeats: ${done.join(', ')}`];
}

function warnSkippedEffects({ id, effects }: Task, earlier: KnownRun | null): string[] {
  const isDone = isDoneIn(earlier);
  return effects
    .filter((effect) => !isDone(effect))
    .map((effect) => `effect ${effect.id} of ${id} may not be done; it is skipped because you say so`);
}

function carryOver(plan: Plan, earlier: KnownRun, worktree: string, after: number): CarriedTasks {
  const made = orderTasks(plan.tasks).flatMap(({ id }) => {
    const record = lookUp(earlier.tasks, id);
    return record?.status === 'succeeded' ? [[id, record.artifacts] as const] : [];
  });
  const before = plan.tasks.filter(({ number }) => number <= after).map(({ id }) => id);
  return carryTasks(plan, earlier.tasks, {
    broken: findBrokenArtifacts(worktree, new Map(made)),
    isSamePlan: earlier.head.digest === plan.digest,
    assumed: after > 0 ? new Set(before) : null,
    open: new Set(
      Object.values(earlier.effects).flatMap(({ status, task }) => (status === 'acknowledged' ? [] : [task])),
    ),
  });
}

/** Takes over what is known of effects that are ahead, were done, or have left the plan. */
function carryEffects(
  plan: Plan,
  ahead: readonly Task[],
  earlier: KnownRun,
  writer: WriterId,
): EarlierEffects {
  const isAhead = new Set(ahead.map(({ id }) => id));
  const isInPlan = new Set(plan.tasks.map(({ id }) => id));
  const known = Object.entries(earlier.effects).filter(
    ([, { task, status }]) => status === 'acknowledged' || isAhead.has(task) || !isInPlan.has(task),
  );
  return { effects: Object.fromEntries(known), isElsewhere: earlier.writer !== writer };
}

/** A choice for an unknown effect is a typo, and the effect the user meant would go without one. */
function refuseUnknownChoices({ name, tasks }: Plan, choices: ReadonlyMap<string, EffectChoice>): void {
  const ids = tasks.flatMap(({ effects }) => effects.map(({ id }) => id));
  const unknown = [...choices.keys()].find((id) => !ids.includes(id));
  if (unknown === undefined) return;
  const meant = findNearest(unknown, ids);
  const quoted = JSON.stringify(unknown.slice(0, 80));
  throw new OrchError('USAGE', `${name} has no effect ${quoted}${meant ? `; did you mean ${meant}?` : ''}`, {
    hint: `Nothing was started. Its effects: ${ids.slice(0, 20).join(', ') || 'none'}`,
    data: { plan: name, effects: ids },
  });
}

function justFinishedError({ name }: Plan, run: KnownRun): OrchError {
  return new OrchError('SESSION_ACTIVE', `another process has just finished the run ${run.id} of ${name}`, {
    hint: 'Nothing is left to do. List the runs: orch run --list',
    data: { plan: name, run: run.id, reason: 'finished' },
  });
}

/** What the schedule has to know of the run so far. */
export function listKnown(run: ActiveRun): Known {
  const { plan, done, settled, begun, skipped, before, effects, recorded } = run;
  const open = new Set(listOpenEffects(effects).map(({ record: fact }) => fact.task));
  const parents = new Map(plan.tasks.map(({ id, parent }) => [id, parent]));
  // What is recorded with a group is seen by its own tasks only.
  const wholes = new Set(plan.tasks.filter(({ parts }) => parts !== null).map(({ id }) => id));
  // A group, or a list, with a task that has effects to do is not over.
  for (const id of [...open].filter((each) => done.has(each)))
    for (let outer = parents.get(id) ?? null; outer !== null; outer = parents.get(outer) ?? null)
      open.add(outer);
  const ended = [...done, ...settled].flatMap(([id, record]): [string, Ended][] => {
    const { status, exit, values, why, worker } = record;
    // The effects of what was skipped, or of a command that failed, are not done.
    const hasWork = open.has(id) && (wholes.has(id) || status === 'succeeded');
    const isEnd = status === 'succeeded' || status === 'failed' || status === 'skipped';
    if (!isEnd || (status !== 'skipped' && hasWork)) return [];
    // Only a choice has a reason, and a person who cancels says what is done without it.
    const isPassedOver = status === 'skipped' && why !== undefined && worker === undefined;
    const isCancelled = status === 'skipped' && worker?.step === 'cancelled';
    const seen = wholes.has(id) ? undefined : values;
    return [[id, { status, exit, values: seen, isPassedOver, isCancelled }]];
  });
  const reopened = [...done, ...settled].flatMap(([id, { attempts, status }]): [string, number][] =>
    wholes.has(id) && open.has(id) && status !== 'skipped' ? [[id, attempts]] : [],
  );
  const underWay = Object.entries(recorded).flatMap(([id, { status, worker }]) =>
    status === 'running' && worker !== undefined ? [id] : [],
  );
  return {
    ...{ ended: new Map(ended), begun: new Map([...begun, ...reopened]), skipped, before },
    underWay: new Set(underWay),
  };
}
