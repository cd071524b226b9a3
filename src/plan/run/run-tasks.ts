import { setMaxListeners } from 'node:events';
import { removeLive } from '../../journal/live.ts';
import { groupBy } from '../../keyed.ts';
import type { RunningSession, SessionPorts } from '../../record/ports.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import { type Ending, endSession } from '../../session/lifecycle.ts';
import { endSessionProcesses } from '../../session/session-processes.ts';
import type { Fact } from '../../state/facts.ts';
import type { StopReason } from '../../supervise/decide.ts';
import { type Work as SupervisedWork, supervise } from '../../supervise/supervise.ts';
import { describeRemaining, type NamedProcess } from '../../system/process/process-table.ts';
import type { SignalWatch } from '../../system/process/signals.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { count } from '../../units.ts';
import { listOpenEffects } from '../effects/plan-effects.ts';
import type { Task } from '../plan.ts';
import { openSchedule } from '../schedule/schedule.ts';
import { storedBytes } from './artifacts.ts';
import { doTask, type RunProgress, type TaskOutcome, type TaskPorts } from './do-task.ts';
import { type ActiveRun, makeHeadFact } from './prepare-run.ts';
import { listTasks, type RunEvent, type RunResult, type RunStatus, type TaskProgress } from './progress.ts';

type RunTasksOptions = {
  readonly cwd: string;
  readonly env: Environment;
  readonly signals: SignalWatch;
  /** How many tasks may run at once. */
  readonly jobs: number;
  readonly onEvent: (event: RunEvent) => void;
};

/** A task that keeps its run from succeeding. */
type TaskProblem = { readonly task: Task; readonly outcome: Extract<TaskOutcome, { reason: string }> };

/**
 * Works through a run's tasks until nothing is left to do or something stops it: the budget, a signal, another session.
 * The run's session is supervised like that of a command.
 */
export async function runTasks(
  ports: SessionPorts,
  target: RunningSession,
  run: ActiveRun,
  options: RunTasksOptions,
): Promise<RunResult> {
  const { cwd, env, signals, jobs, onEvent } = options;
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every running task listens to it
  const progress = startProgress(run, target);
  let working: Promise<TaskProblem[]> = Promise.resolve([]);
  let left: readonly NamedProcess[] = [];
  const supervised: SupervisedWork = {
    async start(onExit) {
      working = runSchedule({ ...ports, cwd, env, signal: stop.signal, onEvent }, progress, jobs, stop)
        // To the supervisor, a run with nothing left to do is a command that has exited.
        .finally(() => onExit({ status: 0, signal: null }));
      working.catch(() => {}); // awaited in stop(); until then a failure must not count as unhandled
    },
    async stop(why) {
      if (why.kind !== 'exit') onEvent({ kind: 'stopping', why });
      stop.abort();
      await working;
      left = (await endSessionProcesses(target, target.settings.stopGrace)).left;
    },
  };
  const why = await supervise(ports, withoutTaskTrigger(target), supervised, {
    signals,
    hasTerminal: false,
    follower: null,
    readChanges: null,
    alongside: null,
    onEvent: (event) => {
      if (event.kind !== 'waiting') onEvent(event); // only an agent's command waits
    },
  });
  return concludeRun(ports, progress, await working, why, left);
}

/** The process that records a finished task also makes its checkpoint, so the supervisor must not. */
function withoutTaskTrigger(target: RunningSession): RunningSession {
  const { policy } = target.settings;
  const on = policy.on.filter((trigger) => trigger !== 'task');
  return { ...target, settings: { ...target.settings, policy: { ...policy, on } } };
}

function startProgress(run: ActiveRun, target: RunningSession): RunProgress {
  const progressOf = ({ id }: Task): [string, TaskProgress] => {
    const { status, attempts } = run.done.get(id) ?? { status: 'pending', attempts: 0 };
    return [id, { status, attempts }];
  };
  const sizes = [...run.done.values()].flatMap(({ artifacts }) => artifacts.map(({ bytes }) => bytes));
  const stored = sizes.filter((bytes) => bytes <= storedBytes.each).reduce((sum, each) => sum + each, 0);
  return {
    run,
    target,
    tasks: new Map(run.plan.tasks.map(progressOf)),
    effects: new Map(run.effects.map(({ record: fact }) => [fact.id, fact])),
    effectsOf: groupBy(run.effects, ({ record: fact }) => fact.task),
    stored: { bytes: stored },
    artifacts: new Map(),
  };
}

/** Starts each task as soon as the schedule allows it, and waits for every task it has started. */
async function runSchedule(
  ports: TaskPorts,
  progress: RunProgress,
  jobs: number,
  stop: AbortController,
): Promise<TaskProblem[]> {
  const { plan, done, effects } = progress.run;
  const open = new Set(listOpenEffects(effects).map(({ record: fact }) => fact.task));
  const finished = new Set([...done.keys()].filter((id) => !open.has(id)));
  const schedule = openSchedule(plan.tasks, finished, jobs);
  const problems: TaskProblem[] = [];
  const running = new Set<Promise<void>>();
  let isHeld = false;

  async function start(task: Task): Promise<void> {
    const outcome = await doTask(ports, progress, task);
    switch (outcome.kind) {
      case 'stopped':
        return;
      case 'succeeded':
        schedule.finish(task.id, 'succeeded');
        return;
      case 'held':
        isHeld = true;
        break;
      case 'failed':
      case 'blocked':
        schedule.finish(task.id, 'failed');
    }
    problems.push({ task, outcome });
  }

  try {
    for (;;) {
      if (!isHeld && !ports.signal.aborted) {
        const { ready, skipped } = schedule.next();
        await recordSkipped(ports, progress, skipped);
        for (const task of ready) {
          const one = start(task).finally(() => running.delete(one));
          running.add(one);
        }
      }
      if (running.size === 0) return problems;
      await Promise.race(running);
    }
  } catch (error) {
    // An unexpected error must not leave the other tasks running.
    stop.abort();
    await Promise.allSettled(running);
    throw error;
  }
}

async function recordSkipped(ports: TaskPorts, progress: RunProgress, tasks: readonly Task[]): Promise<void> {
  if (tasks.length === 0) return;
  const skipped = { status: 'skipped', attempts: 0 } as const;
  const { id: run, shards } = progress.run;
  const facts = tasks.map(
    ({ id, digest }): Fact => ({ kind: 'task', run, id, ...skipped, digest, artifacts: [], shards }),
  );
  await record(ports, progress.target, facts);
  for (const task of tasks) {
    progress.tasks.set(task.id, skipped);
    ports.onEvent({ kind: 'ended', task, ...skipped, elapsed: 0, reason: null, output: '', log: '' });
  }
}

/** Records how the run and its session ended, and makes the last checkpoint. */
async function concludeRun(
  ports: SessionPorts,
  progress: RunProgress,
  problems: readonly TaskProblem[],
  why: StopReason,
  left: readonly NamedProcess[],
): Promise<RunResult> {
  const { run, target, tasks, effects } = progress;
  const status = judgeRun(progress, problems, why);
  const reason = describeEnd(progress, problems, why, status) + describeRemaining(left);
  const fact = makeHeadFact(run, target.session, { status, endedAt: ports.clock.now() });
  if (why.kind === 'budget') {
    // The session is already recorded as budget_exceeded; this saves what was still done while stopping.
    const request = { trigger: 'budget', reason, onlyIfChanged: true } as const;
    await record(ports, target, [fact], request);
    removeLive(ports.disk, ports.home, target.session);
  } else if (why.kind !== 'taken_over') {
    await endSession(ports, target, chooseEnding(why, status), reason, { lastFacts: [fact] });
  }
  const { saved } = await readView(ports, target.epic);
  return {
    status,
    why,
    reason: status === 'succeeded' ? null : reason,
    tasks,
    effects,
    saved: saved?.document.seq ?? null,
  };
}

function judgeRun(progress: RunProgress, problems: readonly TaskProblem[], why: StopReason): RunStatus {
  const kinds = new Set(problems.map(({ outcome }) => outcome.kind));
  const isOpen = listTasks(progress.run.plan, progress).some(({ status }) =>
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
  { run }: RunProgress,
  problems: readonly TaskProblem[],
  why: StopReason,
  status: RunStatus,
): string {
  const { name, tasks } = run.plan;
  if (status === 'succeeded') return `${name}: ${count(tasks.length, 'task')} done`;
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
    case 'exit':
      return `${name}: stopped`;
  }
}
