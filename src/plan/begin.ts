import { OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { type EpicView, readView } from '../session/context.ts';
import { makeSessionId } from '../session/here.ts';
import { listMarked } from '../session/leftovers.ts';
import { type Started, type StartRequest, startSession } from '../session/lifecycle.ts';
import { checkLive, readLive } from '../session/live.ts';
import { record, type SessionPorts } from '../session/record.ts';
import type { Fact } from '../state/facts.ts';
import type { TaskRecord } from '../state/run.ts';
import type { Environment } from '../system/spawn.ts';
import type { Millis, SessionId, WriterId } from '../types.ts';
import { findBroken } from './artifacts.ts';
import { type Carry, carryTasks } from './carry.ts';
import { type Choice, chooseRun, type Wish } from './choice.ts';
import { missingEffects, nothingCarried, type PlannedEffect, planRunEffects } from './effects.ts';
import { findRun, type KnownRun } from './runs.ts';
import { refuseTooLarge } from './size.ts';
import type { Plan, Task } from './types.ts';

export type RunRequest = {
  readonly plan: Plan;
  readonly wish: Wish;
  /** Where tasks run: the top of the working tree. */
  readonly worktree: string;
  readonly env: Environment;
  readonly session: Omit<StartRequest, 'agent' | 'command' | 'facts' | 'findFacts' | 'resume' | 'session'>;
};

/** A run that has begun, with all that counts of what was done before. */
export type BegunRun = {
  readonly id: string;
  readonly plan: Plan;
  readonly from: string | null;
  readonly startedAt: Millis;
  /** Tasks whose command succeeded before. */
  readonly done: ReadonlyMap<string, TaskRecord>;
  readonly effects: readonly PlannedEffect[];
};

export type Begun = {
  readonly kind: 'begun';
  readonly started: Started;
  readonly run: BegunRun;
  /** What of an earlier run does not count, where it goes on from one. */
  readonly carry: Carry | null;
  /** What else is different, in sentences for people. */
  readonly changes: readonly string[];
  /** What a crash had left running of tasks; it was ended. */
  readonly leftovers: readonly { readonly task: string; readonly pids: readonly number[] }[];
};

/** The entry in the environment of a task's command by which all that came from it is found (Linux). */
export function taskMarker(run: string, task: string): string {
  return `ORCH_TASK_ID=${run}/${task}`;
}

/**
 * Begins a run, or goes on with one, as a session of its own. What it is to do is decided once the epic is claimed:
 * before that, another may still be at it.
 */
export async function beginRun(
  ports: SessionPorts,
  request: RunRequest,
): Promise<Begun | { readonly kind: 'nothing'; readonly run: KnownRun }> {
  const { plan, wish } = request;
  const { epic, takeOver } = request.session;
  refuseTooLarge(plan);
  const writer = await ports.identifyWriter();
  const choose = ({ state }: EpicView) =>
    chooseRun(plan, findRun(state, plan.name), wish, { epic, writer, takeOver, now: ports.clock.now() });
  const view = await readView(ports, epic);
  const last = findRun(view.state, plan.name);
  const early = isAtWork(ports, last) ? null : choose(view);
  if (early?.kind === 'nothing') return early;
  const leftovers = early && last ? listLeftovers(last) : [];
  const session = makeSessionId(ports);
  const begin: { beginning?: Beginning } = {};
  const started = await startSession(ports, {
    ...request.session,
    session,
    agent: 'orch run',
    command: ['orch', 'run', plan.name],
    resume: early?.kind === 'again' ? { checkpoint: null } : null,
    findFacts: async (now) => {
      const newest = findRun(now.state, plan.name);
      begin.beginning = planBeginning(ports, request, choose(now), { session, writer, last: newest });
      return begin.beginning.facts;
    },
  });
  if (begin.beginning === undefined) throw new Error('a session began, and nobody asked what it is for');
  const { run, carry, changes } = begin.beginning;
  // What is going to be done to the world can be seen in git before it is, also where no start checkpoint is wanted.
  if (started.stored === null && missingEffects(run.effects).length > 0)
    await record(ports, started.target, [], { trigger: 'session_start', reason: null });
  return { kind: 'begun', started, run, carry, changes, leftovers };
}

/** Is somebody at work on it, as far as can be told? The claim names them, which comes before all else. */
export function isAtWork({ home }: Pick<SessionPorts, 'home'>, run: KnownRun | null): boolean {
  const live = run && readLive(home, run.head.session);
  return live !== null && checkLive(live) !== 'dead';
}

function listLeftovers(run: KnownRun): Begun['leftovers'] {
  return Object.entries(run.tasks)
    .filter(([, { status }]) => status === 'running')
    .map(([task]) => ({ task, pids: listMarked(taskMarker(run.id, task)) }))
    .filter(({ pids }) => pids.length > 0);
}

type Beginning = Pick<Begun, 'run' | 'carry' | 'changes'> & { readonly facts: readonly Fact[] };

/** What a run begins with: its head, what was done before, and what it is going to do to the world. */
function planBeginning(
  { random, clock }: SessionPorts,
  { plan, worktree, env }: RunRequest,
  choice: Choice,
  { session, writer, last }: { session: SessionId; writer: WriterId; last: KnownRun | null },
): Beginning {
  if (choice.kind === 'nothing') throw justFinished(plan, choice.run);
  const earlier = choice.kind === 'again' ? choice.run : choice.from;
  const id = choice.kind === 'again' ? choice.run.id : `run-${random.id(6)}`;
  // The one that began last is the newest, also where a clock stands still or was set back.
  const isAfter = (last?.head.startedAt ?? 0) + 1;
  const startedAt = choice.kind === 'again' ? choice.run.head.startedAt : Math.max(clock.now(), isAfter);
  const from = choice.kind === 'again' ? choice.run.head.from : (choice.from?.id ?? null);
  const carry = earlier && carryOver(plan, earlier, worktree, choice.kind === 'new' ? choice.after : 0);
  const done = carry?.done ?? new Map<string, TaskRecord>();
  // Of a task that counts as done by the user's word, no effect was ever planned.
  const isPlanned = ({ effects }: Task) => effects.some((each) => lookUp(earlier?.effects ?? {}, each.id));
  const isAhead = (task: Task) =>
    choice.kind === 'again' ? !done.has(task.id) || isPlanned(task) : task.number > choice.after;
  const ahead = plan.tasks.filter(isAhead);
  const carried = earlier
    ? { effects: pickEffects(earlier, ahead, plan), isElsewhere: earlier.writer !== writer }
    : nothingCarried;
  const { planned, facts, changes } = planRunEffects(ahead, id, carried, env);
  const head = { plan: plan.name, digest: plan.digest, status: 'running', session, from } as const;
  return {
    run: { id, plan, from, startedAt, done, effects: planned },
    carry,
    changes,
    facts: [
      { kind: 'run', run: id, ...head, startedAt, endedAt: null },
      ...[...done].map(
        ([task, { at: _, ...record }]): Fact => ({ kind: 'task', run: id, id: task, ...record }),
      ),
      ...facts,
    ],
  };
}

function carryOver(plan: Plan, earlier: KnownRun, worktree: string, after: number): Carry {
  const isSamePlan = earlier.head.digest === plan.digest;
  const artifacts = new Map(
    Object.entries(earlier.tasks)
      .filter(([, { status }]) => status === 'succeeded')
      .map(([task, record]) => [task, record.artifacts]),
  );
  const broken = findBroken(worktree, artifacts);
  const byHand = new Set(plan.tasks.filter(({ number }) => number <= after).map(({ id }) => id));
  return carryTasks(plan, earlier.tasks, { broken, isSamePlan, byHand, isStep: after > 0 });
}

/** What was known of the effects that are still ahead, and of those that left the plan. */
function pickEffects(earlier: KnownRun, ahead: readonly Task[], plan: Plan): KnownRun['effects'] {
  const isAhead = new Set(ahead.map(({ id }) => id));
  const isIn = new Set(plan.tasks.map(({ id }) => id));
  return Object.fromEntries(
    Object.entries(earlier.effects).filter(([, { task }]) => isAhead.has(task) || !isIn.has(task)),
  );
}

function justFinished({ name }: Plan, run: KnownRun): OrchError {
  return new OrchError('SESSION_ACTIVE', `another process has just finished the run ${run.id} of ${name}`, {
    hint: 'Nothing is left to do; see it with: orch run --list',
    data: { plan: name, run: run.id, reason: 'finished' },
  });
}
