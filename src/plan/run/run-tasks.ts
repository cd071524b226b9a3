import { setMaxListeners } from 'node:events';
import { removeLive } from '../../journal/live.ts';
import { groupBy } from '../../keyed.ts';
import type { RunningSession, SessionPorts } from '../../record/ports.ts';
import { record } from '../../record/record.ts';
import { openSharedCheckpoints } from '../../record/shared-checkpoints.ts';
import { readView } from '../../record/view.ts';
import { type Ending, endSession } from '../../session/lifecycle.ts';
import { endSessionProcesses } from '../../session/session-processes.ts';
import type { Fact } from '../../state/facts.ts';
import type { StopReason } from '../../supervise/decide.ts';
import { type Work as SupervisedWork, supervise } from '../../supervise/supervise.ts';
import { drawFraction, sleepUnlessAborted } from '../../system/clock.ts';
import { describeRemaining, type NamedProcess } from '../../system/process/process-table.ts';
import type { SignalWatch } from '../../system/process/signals.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { count } from '../../units.ts';
import { pauseAfter } from '../effects/outcome.ts';
import { expandItems } from '../items.ts';
import type { Plan, Task } from '../plan.ts';
import { describeRollback, judgeRollback, type RollbackResult, undoWork } from '../rollback/undo-work.ts';
import { type Decision, type Ended, openSchedule } from '../schedule/schedule.ts';
import { storedBytes } from '../task/artifacts.ts';
import {
  doTask,
  type RunControls,
  recordInRun,
  type TaskOutcome,
  type TaskPorts,
  type Workers,
  withoutTaskTrigger,
} from '../task/do-task.ts';
import { makeDecisionFact } from '../task/task-facts.ts';
import { type ActiveRun, listKnown, makeHeadFact } from './prepare-run.ts';
import { listTasks, type RunEvent, type RunResult, type RunStatus, type TaskProgress } from './progress.ts';

type RunTasksOptions = {
  readonly cwd: string;
  readonly env: Environment;
  readonly signals: SignalWatch;
  /** How many tasks may run at once. */
  readonly jobs: number;
  /** Without it, tasks with a prompt are not done. */
  readonly workers?: Workers | null;
  readonly onEvent: (event: RunEvent) => void;
};

/** A task that keeps its run from succeeding. */
type TaskProblem = { readonly task: Task; readonly outcome: Extract<TaskOutcome, { reason: string }> };

/**
 * Works through a run's tasks until nothing is left to do or something stops it: the budget, a signal, another session.
 * If the run fails and its plan says so, what succeeded is undone.
 */
export async function runTasks(
  ports: SessionPorts,
  target: RunningSession,
  run: ActiveRun,
  options: RunTasksOptions,
): Promise<RunResult> {
  const progress = startProgress(ports, run, target, options.jobs);
  const { done, why, left } = await superviseRun(ports, target, options, async (taskPorts, stop) => {
    const problems = await runSchedule(taskPorts, progress, stop, options.workers ?? null);
    const isFailed = judgeRun(progress, problems, finishedByItself) === 'failed';
    if (!isFailed || taskPorts.signal.aborted || run.plan.onFailure !== 'rollback')
      return { problems, rollback: null };
    const head = makeHeadFact(run, target.session, { status: 'running', endedAt: null, rollback: 'running' });
    await record(ports, target, [head]);
    return { problems, rollback: await undoWork(taskPorts, target, run) };
  });
  return concludeRun(ports, progress, done, why, left);
}

const finishedByItself: StopReason = { kind: 'exit', exit: { status: 0, signal: null } };

type Supervised<T> = { readonly done: T; readonly why: StopReason; readonly left: readonly NamedProcess[] };

/** Supervises work of a run like a command: it is stopped at the budget, by a signal, or from another shell. */
export async function superviseRun<T>(
  ports: SessionPorts,
  target: RunningSession,
  { cwd, env, signals, onEvent }: Omit<RunTasksOptions, 'jobs' | 'workers'>,
  work: (ports: TaskPorts, stop: AbortController) => Promise<T>,
): Promise<Supervised<T>> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every running task listens to it
  let working: Promise<T> | null = null;
  let left: readonly NamedProcess[] = [];
  const supervised: SupervisedWork = {
    async start(onExit) {
      working = work({ ...ports, cwd, env, signal: stop.signal, onEvent }, stop)
        // To the supervisor, a run with nothing left to do is a command that has exited.
        .finally(() => onExit({ status: 0, signal: null }));
      working.catch(() => {}); // awaited in stop(); until then a failure must not count as unhandled
    },
    async stop(why) {
      if (why.kind !== 'exit') onEvent({ kind: 'stopping', why });
      stop.abort(why);
      await working;
      left = (await endSessionProcesses(target, target.settings.stopGrace)).left;
    },
  };
  // Those who record a finished task also see to its checkpoint, so the supervisor must not.
  const why = await supervise(ports, withoutTaskTrigger(target), supervised, {
    signals,
    hasTerminal: false,
    follower: null,
    readChanges: null,
    witness: null,
    limits: null,
    alongside: null,
    onEvent: (event) => {
      if (event.kind !== 'waiting') onEvent(event); // only an agent's command waits
    },
  });
  const done = await (working ?? work({ ...ports, cwd, env, signal: AbortSignal.abort(), onEvent }, stop));
  return { done, why, left };
}

function startProgress(ports: SessionPorts, run: ActiveRun, target: RunningSession, jobs: number) {
  const progressOf = ({ id }: Task): [string, TaskProgress] => {
    const known = run.done.get(id) ?? run.settled.get(id);
    return [id, { status: known?.status ?? 'pending', attempts: known?.attempts ?? 0 }];
  };
  const sizes = [...run.done.values()].flatMap(({ artifacts }) => artifacts.map(({ bytes }) => bytes));
  const stored = sizes.filter((bytes) => bytes <= storedBytes.each).reduce((sum, each) => sum + each, 0);
  const schedule = openSchedule(run.plan.tasks, listKnown(run), jobs, expandItems);
  return {
    run,
    target,
    checkpoints: jobs > 1 ? openSharedCheckpoints(ports, target) : null,
    schedule,
    tasks: new Map(run.plan.tasks.map(progressOf)),
    effects: new Map(run.effects.map(({ record: fact }) => [fact.id, fact])),
    effectsOf: groupBy(run.effects, ({ record: fact }) => fact.task),
    stored: { bytes: stored },
    failed: { count: 0 },
    artifacts: new Map(),
    /** Tasks that the run made of lists. */
    made: new Map<string, readonly Task[]>(),
    /** Tasks that people added while it went on. */
    added: [] as Task[],
  };
}

type Progress = ReturnType<typeof startProgress>;

/** Starts each task as soon as the schedule allows it, and waits for every task it has started. */
async function runSchedule(
  ports: TaskPorts,
  progress: Progress,
  stop: AbortController,
  workers: Workers | null,
): Promise<TaskProblem[]> {
  const { schedule, tasks, added } = progress;
  const problems = new Map<string, TaskProblem>();
  const running = new Set<Promise<void>>();
  // How a prompt ended that a person may still retry, as long as anything else runs.
  const retriable = new Map<string, Ended>();
  const over = new AbortController();
  const bell = openBell();
  let isHeld = false;

  function perform(task: Task): Promise<TaskOutcome> {
    if (workers === null) return doTask(ports, progress, task);
    if (task.convoy.prompt !== null) return workers.doPrompt(ports, progress, task);
    return workers.onMerged(() => doTask(ports, progress, task));
  }

  /** A failure is final once nothing else runs, or as soon as something follows from it. */
  function finishLater({ id, convoy }: Task, how: Ended): void {
    if (convoy.prompt === null || schedule.isAwaited(id)) schedule.finish(id, how);
    else {
      retriable.set(id, how);
      schedule.hold(id);
    }
  }

  async function start(task: Task): Promise<void> {
    problems.delete(task.id);
    const outcome = await perform(task);
    const left = 'left' in outcome ? outcome.left : undefined;
    switch (outcome.kind) {
      case 'stopped':
        return;
      case 'succeeded':
        return schedule.finish(task.id, { status: 'succeeded', ...left });
      case 'cancelled':
        tasks.set(task.id, { status: 'skipped', attempts: tasks.get(task.id)?.attempts ?? 0 });
        return finishLater(task, { status: 'skipped', isCancelled: !outcome.goesOn });
      case 'held':
        // A worker that waits for money or a person does not hold up the others.
        if (task.convoy.prompt === null) isHeld = true;
        else schedule.hold(task.id);
        break;
      case 'failed':
      case 'blocked':
        finishLater(task, { status: 'failed', ...left });
    }
    problems.set(task.id, { task, outcome });
  }

  const controls: RunControls = {
    reopen: (id) => {
      retriable.delete(id);
      if (!schedule.reopen(id)) return false;
      tasks.set(id, { status: 'pending', attempts: tasks.get(id)?.attempts ?? 0 });
      bell.ring();
      return true;
    },
    add: (more) => {
      added.push(...more);
      for (const { id } of more) tasks.set(id, { status: 'pending', attempts: 0 });
      schedule.add(more);
      bell.ring();
    },
  };

  /** A pause before the next round of a group, in which other tasks may run. */
  async function pauseFor({ task, round }: Extract<Decision<Task>, { kind: 'round' }>): Promise<void> {
    const { backoff = 0, attempts = 1 } = task.repeat ?? {};
    const pause = pauseAfter(round - 1, { backoff, attempts }, drawFraction(ports.random));
    await sleepUnlessAborted(pause, ports.signal);
    if (!ports.signal.aborted) schedule.beginRound(task.id);
  }

  const track = (work: Promise<void>) => {
    const one = work.finally(() => running.delete(one));
    running.add(one);
  };

  ports.signal.addEventListener('abort', bell.ring, { once: true });
  let steering: Promise<void> | undefined;
  try {
    // What was ordered before counts before anything starts.
    steering = (await workers?.steer(ports, progress, controls, over.signal))?.ended;
    steering?.catch(bell.ring); // an order that cannot be carried out ends the run like any other error
    for (;;) {
      if (!isHeld && !ports.signal.aborted) {
        const { decisions, ready } = schedule.next();
        await recordDecisions(ports, progress, decisions);
        for (const decision of decisions) {
          if (decision.kind === 'round') track(pauseFor(decision));
          if (decision.kind === 'end' && decision.status === 'failed')
            problems.set(decision.task.id, {
              task: decision.task,
              outcome: { kind: 'failed', reason: decision.why ?? 'it failed' },
            });
        }
        for (const task of ready) track(start(task));
      }
      if (running.size > 0 || (workers?.hasNext(progress) && !ports.signal.aborted))
        await Promise.race([...running, ...(steering ? [bell.wait(), steering] : [])]);
      else if (retriable.size > 0 && !ports.signal.aborted) {
        for (const [id, how] of retriable) schedule.finish(id, how);
        retriable.clear();
      } else break;
    }
    over.abort();
    await steering;
  } catch (error) {
    over.abort();
    // An unexpected error must not leave the other tasks running.
    stop.abort();
    await Promise.allSettled([...running, progress.checkpoints?.settle()]);
    throw error;
  }
  await progress.checkpoints?.settle();
  return listProblems(schedule, problems);
}

/** What wakes up a loop that waits. */
function openBell() {
  let ring = () => {};
  let rung = new Promise<void>((resolve) => {
    ring = resolve;
  });
  return {
    ring: () => ring(),
    wait: () =>
      rung.then(() => {
        rung = new Promise((resolve) => {
          ring = resolve;
        });
      }),
  };
}

/** The problems that count: not those a group overcame, nor those of tasks that may fail. What is held always counts. */
function listProblems(
  schedule: Progress['schedule'],
  problems: ReadonlyMap<string, TaskProblem>,
): TaskProblem[] {
  const counted = new Set(schedule.failures().map(({ id }) => id));
  return [...problems.values()].filter(
    ({ task, outcome }) => outcome.kind === 'held' || counted.has(task.id),
  );
}

/** Records what the schedule decided, before anything that follows from it starts. */
async function recordDecisions(
  ports: TaskPorts,
  progress: Progress,
  decisions: readonly Decision<Task>[],
): Promise<void> {
  if (decisions.length === 0) return;
  const facts = decisions.map((decision) => makeDecisionFact(progress, decision));
  await recordInRun(ports, progress, facts);
  for (const decision of decisions) tellDecision(ports, progress, decision);
}

function tellDecision({ onEvent }: TaskPorts, progress: Progress, decision: Decision<Task>) {
  const { task } = decision;
  const { tasks, made } = progress;
  const nothing = { elapsed: 0, output: '', log: '' };
  switch (decision.kind) {
    case 'skip': {
      const skipped = { status: 'skipped', attempts: 0 } as const;
      tasks.set(task.id, skipped);
      for (const part of listParts(progress, task.id)) tasks.set(part.id, skipped);
      return onEvent({ kind: 'ended', task, ...skipped, ...nothing, reason: decision.why });
    }
    case 'begin': {
      tasks.set(task.id, { status: 'running', attempts: 1 });
      if (task.parts?.each?.value == null) return;
      made.set(task.id, decision.instances);
      for (const { id } of decision.instances) tasks.set(id, { status: 'pending', attempts: 0 });
      return onEvent({ kind: 'items', task, count: decision.instances.length });
    }
    case 'round': {
      tasks.set(task.id, { status: 'running', attempts: decision.round });
      for (const part of listParts(progress, task.id)) tasks.set(part.id, { status: 'pending', attempts: 0 });
      return onEvent({ kind: 'round', task, round: decision.round, reason: decision.why });
    }
    case 'end': {
      const { status, rounds: attempts, why: reason } = decision;
      tasks.set(task.id, { status, attempts });
      return onEvent({ kind: 'ended', task, status, attempts, ...nothing, reason });
    }
  }
}

function listParts({ run, made }: Progress, id: string): Task[] {
  const own = [...run.plan.tasks.filter(({ parent }) => parent === id), ...(made.get(id) ?? [])];
  return own.flatMap((part) => [part, ...(part.parts ? listParts({ run, made } as Progress, part.id) : [])]);
}

/** The plan as it turned out: each task that the run made of a list comes before the task it is part of. */
function planAsRun({ run, made, added }: Progress): Plan {
  if (made.size === 0 && added.length === 0) return run.plan;
  const tasks = run.plan.tasks.flatMap((task) => [...(made.get(task.id) ?? []), task]);
  return { ...run.plan, tasks: [...tasks, ...added] };
}

type RunWork = { readonly problems: readonly TaskProblem[]; readonly rollback: RollbackResult | null };

/** Records how the run and its session ended, and makes the last checkpoint. */
async function concludeRun(
  ports: SessionPorts,
  progress: Progress,
  { problems, rollback }: RunWork,
  why: StopReason,
  left: readonly NamedProcess[],
): Promise<RunResult> {
  const { run, target, tasks, effects } = progress;
  const ended = judgeRun(progress, problems, why);
  const status = rollback === null ? ended : judgeRollback(rollback);
  const because = describeEnd(progress, problems, why, ended) + describeRemaining(left);
  const reason = rollback === null ? because : `${because}; ${describeRollback(rollback)}`;
  const fact = makeHeadFact(run, target.session, {
    status,
    endedAt: ports.clock.now(),
    ...(rollback && { rollback: rollback.problem === null ? 'done' : 'stopped' }),
  });
  const saved = await closeRun(ports, target, { why, status, reason, fact });
  return {
    ...{ status, why, rollback, saved, tasks, effects },
    reason: status === 'succeeded' ? null : reason,
    plan: planAsRun(progress),
  };
}

type RunClosing = {
  readonly why: StopReason;
  readonly status: RunStatus;
  readonly reason: string;
  /** The head of the run as it ended. */
  readonly fact: Fact;
};

/** Ends a run's session; returns the number of the last checkpoint. */
export async function closeRun(
  ports: SessionPorts,
  target: RunningSession,
  { why, status, reason, fact }: RunClosing,
): Promise<number | null> {
  if (why.kind === 'budget') {
    // The session is already recorded as budget_exceeded; this saves what was still done while stopping.
    const request = { trigger: 'budget', reason, onlyIfChanged: true } as const;
    await record(ports, target, [fact], request);
    removeLive(ports.disk, ports.home, target.session);
  } else if (why.kind !== 'taken_over') {
    await endSession(ports, target, chooseEnding(why, status), reason, { lastFacts: [fact] });
  }
  const { saved } = await readView(ports, target.epic);
  return saved?.document.seq ?? null;
}

function judgeRun(progress: Progress, problems: readonly TaskProblem[], why: StopReason): RunStatus {
  const kinds = new Set(problems.map(({ outcome }) => outcome.kind));
  const isOpen = listTasks(planAsRun(progress), progress).some(({ status }) =>
    ['pending', 'running'].includes(status),
  );
  if (kinds.has('held') || (why.kind !== 'exit' && isOpen)) return 'resume_needed';
  if (kinds.has('blocked')) return 'blocked';
  if (!kinds.has('failed')) return 'succeeded';
  // A task that runs out of budget may fail before it can be stopped; with more money it may succeed.
  return why.kind === 'budget' ? 'resume_needed' : 'failed';
}

function chooseEnding(why: StopReason, status: RunStatus): Ending {
  if (why.kind === 'request') return why.request.want;
  if (why.kind === 'supervision_failed') return 'fail';
  if (status === 'succeeded') return 'complete';
  return status === 'resume_needed' ? 'pause' : 'fail';
}

function describeEnd(
  { run }: Progress,
  problems: readonly TaskProblem[],
  why: StopReason,
  status: RunStatus,
): string {
  const { name, length } = run.plan;
  if (status === 'succeeded') return `${name}: ${count(length, 'task')} done`;
  const [first] = problems;
  if (first && (why.kind === 'exit' || status !== 'resume_needed')) {
    const { task, outcome } = first;
    const what = { failed: 'failed', blocked: 'is blocked', held: 'cannot continue now' }[outcome.kind];
    return `${name}: task ${task.number} (${task.id}) ${what}: ${outcome.reason}`;
  }
  switch (why.kind) {
    case 'signal':
      return `${name}: stopped by ${why.signal}`;
    case 'request':
      return why.request.reason ?? `${name}: ended from another shell`;
    case 'budget':
      return `${name}: stopped, the budget is used up`;
    case 'supervision_failed':
      return `${name}: stopped, orch could not supervise it: ${why.problem}`;
    case 'taken_over':
      return `${name}: taken over by another session`;
    case 'witness':
    case 'exit':
      return `${name}: stopped`;
  }
}
