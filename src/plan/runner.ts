import { setMaxListeners } from 'node:events';
import { endLeftovers } from '../session/leftovers.ts';
import { watchMoney } from '../session/money-watch.ts';
import { collectNews } from '../session/news.ts';
import { record, type SessionPorts, type Target } from '../session/record.ts';
import { makeWatch } from '../session/watch.ts';
import type { Fact } from '../state/facts.ts';
import type { SignalWatch } from '../system/signals.ts';
import type { Environment } from '../system/spawn.ts';
import { keptBytes } from './artifacts.ts';
import type { BegunRun } from './beginning.ts';
import { concludeRun } from './conclude.ts';
import { missingEffects } from './effects.ts';
import type { RunEvent, RunResult, TaskProgress } from './progress.ts';
import { openSchedule } from './schedule.ts';
import type { Task } from './types.ts';
import { type Trouble, type Work, type WorkPorts, workOn } from './work.ts';

export type RunnerOptions = {
  readonly cwd: string;
  readonly env: Environment;
  readonly signals: SignalWatch;
  /** How many tasks may run at once. */
  readonly jobs: number;
  readonly onEvent: (event: RunEvent) => void;
};

/**
 * Works through a run's tasks until there is nothing left to do, or a reason to stop: the budget, a signal, somebody
 * else. The session that is around it is watched over as that of any command.
 */
export async function runTasks(
  ports: SessionPorts,
  target: Target,
  run: BegunRun,
  options: RunnerOptions,
): Promise<RunResult> {
  const { cwd, env, signals, jobs, onEvent } = options;
  const news = collectNews(ports, signals);
  const stop = new AbortController();
  // As many as there are tasks at work listen to it.
  setMaxListeners(0, stop.signal);
  const work = beginWork(run, target);
  // Somebody wanted it to end before there was anything to stop.
  if (signals.caught()) stop.abort();
  try {
    const watched = withoutTasks(target);
    const money = await watchMoney(ports, target, onEvent);
    const around = { signals, hasTerminal: false, follower: null, money, onEvent };
    const watch = makeWatch(ports, watched, around, news);
    const working = workThrough({ ...ports, cwd, env, signal: stop.signal, tell: onEvent }, work, jobs, stop)
      // The run's own end is news to the watch as a command's would be.
      .finally(() => news.onExit({ status: 0, signal: null }));
    // It is awaited below; until then it may fail without anybody being there to hear it.
    working.catch(() => {});
    let why = await watch.untilOver();
    if (why.kind !== 'exit') onEvent({ kind: 'stopping', why });
    stop.abort();
    const troubles = await working;
    const { left } = await endLeftovers(target, target.settings.stopGrace);
    why = await watch.lookLast(why);
    return await concludeRun(ports, work, troubles, why, left);
  } finally {
    stop.abort();
    news.close();
  }
}

/** Whoever records that a task is done makes the checkpoint for it: two would be one too many. */
function withoutTasks(target: Target): Target {
  const { policy } = target.settings;
  const on = policy.on.filter((trigger) => trigger !== 'task');
  return { ...target, settings: { ...target.settings, policy: { ...policy, on } } };
}

function beginWork(run: BegunRun, target: Target): Work {
  const progressOf = ({ id }: Task): [string, TaskProgress] => {
    const { status, attempts } = run.done.get(id) ?? { status: 'pending', attempts: 0 };
    return [id, { status, attempts }];
  };
  const tasks = new Map(run.plan.tasks.map(progressOf));
  const before = [...run.done.values()].flatMap(({ artifacts }) => artifacts.map(({ bytes }) => bytes));
  const kept = {
    bytes: before.filter((bytes) => bytes <= keptBytes.each).reduce((sum, each) => sum + each, 0),
  };
  const effects = new Map(run.effects.map(({ record: fact }) => [fact.id, fact]));
  return { run, target, tasks, effects, kept, made: new Map() };
}

/** Begins what can begin, as long as nothing speaks against it, and waits for all that was begun. */
async function workThrough(
  ports: WorkPorts,
  work: Work,
  jobs: number,
  stop: AbortController,
): Promise<Trouble[]> {
  const { plan, done, effects } = work.run;
  const open = new Set(missingEffects(effects).map(({ record: fact }) => fact.task));
  const finished = new Set([...done.keys()].filter((id) => !open.has(id)));
  const schedule = openSchedule(plan.tasks, finished, jobs);
  const troubles: Trouble[] = [];
  const running = new Set<Promise<void>>();
  let isHeld = false;

  async function begin(task: Task): Promise<void> {
    const end = await workOn(ports, work, task);
    switch (end.kind) {
      case 'stopped':
        return;
      case 'succeeded':
        schedule.settle(task.id, 'succeeded');
        return;
      case 'held':
        isHeld = true;
        break;
      case 'failed':
      case 'blocked':
        schedule.settle(task.id, 'failed');
    }
    troubles.push({ task, end });
  }

  try {
    for (;;) {
      if (!isHeld && !ports.signal.aborted) {
        const { start, skipped } = schedule.next();
        await recordSkipped(ports, work, skipped);
        for (const task of start) {
          const one = begin(task).finally(() => running.delete(one));
          running.add(one);
        }
      }
      if (running.size === 0) return troubles;
      await Promise.race(running);
    }
  } catch (error) {
    // One went wrong as nothing should: the others are not left to themselves.
    stop.abort();
    await Promise.allSettled(running);
    throw error;
  }
}

async function recordSkipped(ports: WorkPorts, work: Work, tasks: readonly Task[]): Promise<void> {
  if (tasks.length === 0) return;
  const skipped = { status: 'skipped', attempts: 0 } as const;
  const facts = tasks.map(
    ({ id, digest }): Fact => ({ kind: 'task', run: work.run.id, id, ...skipped, digest, artifacts: [] }),
  );
  await record(ports, work.target, facts);
  for (const task of tasks) {
    work.tasks.set(task.id, skipped);
    ports.tell({ kind: 'ended', task, ...skipped, elapsed: 0, reason: null, output: '', log: '' });
  }
}
