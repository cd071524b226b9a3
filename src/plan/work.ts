import { dirname, join } from 'node:path';
import { isOn } from '../checkpoint/policy.ts';
import type { RunFile } from '../checkpoint/run-files.ts';
import { writeFailed } from '../errors.ts';
import { nameFile } from '../ids.ts';
import { type OutputLog, openOutputLog } from '../session/output-log.ts';
import type { Outcome } from '../session/pump-types.ts';
import { record, type SessionPorts, type Target } from '../session/record.ts';
import type { TaskRecord } from '../state/run.ts';
import { makeFolder } from '../system/files.ts';
import type { Environment } from '../system/spawn.ts';
import { keptBytes, readKept } from './artifacts.ts';
import { taskMarker } from './begin.ts';
import type { BegunRun } from './beginning.ts';
import { type EffectFact, effectsOfTask } from './effects.ts';
import { performEffects } from './perform.ts';
import type { RunEvent, TaskProgress } from './progress.ts';
import { runTask } from './task.ts';
import type { Task } from './types.ts';

export type WorkPorts = SessionPorts & {
  /** Where tasks run: the top of the working tree. */
  readonly cwd: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly tell: (event: RunEvent) => void;
};

/** A run under way: what it is, whose session it is, and how far it has got. */
export type Work = {
  readonly run: BegunRun;
  readonly target: Target;
  readonly tasks: Map<string, TaskProgress>;
  readonly effects: Map<string, EffectFact>;
  /** What tasks made whose effects are not done yet. */
  readonly made: Map<string, TaskRecord['artifacts']>;
  /** How much of its artifacts is in the checkpoints. */
  readonly kept: { bytes: number };
};

/** What came of a task. One that is held has an effect that cannot be done now; what needs it cannot begin. */
export type WorkEnd =
  | { readonly kind: 'succeeded' | 'stopped' }
  | { readonly kind: 'failed' | 'blocked' | 'held'; readonly reason: string };

/** What stands in the way of a run's success. */
export type Trouble = { readonly task: Task; readonly end: Extract<WorkEnd, { reason: string }> };

/** Does all of a task: its command, unless that was done before, and then its effects. */
export async function workOn(ports: WorkPorts, work: Work, task: Task): Promise<WorkEnd> {
  const { clock, tell } = ports;
  const began = clock.elapsed();
  const path = join(ports.home, 'logs', nameFile(work.run.id), nameFile(task.id, '.log'));
  const log = await openTaskLog(ports, task, path);
  const tellEnd = (status: 'succeeded' | 'failed', reason: string | null = null, output = '') => {
    const attempts = work.tasks.get(task.id)?.attempts ?? 0;
    const elapsed = clock.elapsed() - began;
    tell({ kind: 'ended', task, status, attempts, elapsed, reason, output, log: path });
  };
  try {
    const isDone = work.run.done.has(task.id);
    const end = isDone ? null : await runCommand(ports, work, task, log);
    if (end?.kind === 'stopped') return { kind: 'stopped' };
    if (end?.kind === 'failed') {
      tellEnd('failed', end.reason, end.output);
      return end;
    }
    const outcome = await doEffects(ports, work, task, log);
    if (outcome.kind === 'succeeded') tellEnd('succeeded');
    if (outcome.kind === 'blocked') tellEnd('failed', outcome.reason);
    if (outcome.kind === 'held') tell({ kind: 'held', task, reason: outcome.reason });
    return outcome;
  } finally {
    await log.close();
  }
}

async function openTaskLog(ports: WorkPorts, { id }: Task, path: string): Promise<OutputLog> {
  try {
    await makeFolder(ports.disk, dirname(path));
    return openOutputLog(ports, path);
  } catch (error) {
    throw writeFailed(`task ${id} was not begun, its log cannot be written`, error);
  }
}

async function runCommand(ports: WorkPorts, work: Work, task: Task, log: OutputLog) {
  const { cwd, random, redact, signal, tell } = ports;
  const end = await runTask(task, {
    cwd,
    random,
    redact,
    signal,
    env: (attempt) => ({ ...ports.env, ...task.env, ...taskEnvironment(work, task, attempt) }),
    marker: taskMarker(work.run.id, task.id),
    onOutput: log.write,
    onAttempt: async (attempt) => {
      const { stop } = await recordTask(ports, work, task, { status: 'running', attempts: attempt });
      // Whoever watches over the session sees the same soon, and ends it; nothing begins meanwhile.
      if (stop !== null) return false;
      tell({ kind: 'begun', task, attempt });
      return true;
    },
    onRetry: async (attempt, reason) => {
      await log.flush();
      log.tell(`orch: attempt ${attempt}: ${reason}`);
      tell({ kind: 'retry', task, attempt, reason });
    },
  });
  await log.flush();
  if (end.kind === 'failed') {
    log.tell(`orch: attempt ${end.attempts}: ${end.reason}`);
    await recordTask(ports, work, task, { status: 'failed', attempts: end.attempts });
  }
  if (end.kind !== 'succeeded') return end;
  // It is on disk that it succeeded before anything that needs it can begin.
  const { stop } = await recordTask(ports, work, task, {
    status: 'succeeded',
    attempts: end.attempts,
    artifacts: [...end.artifacts],
  });
  // An effect that began now would be ended half-way by whoever watches over the session.
  const isStopped = stop !== null && effectsOfTask(work.run.effects, task.id).length > 0;
  return isStopped ? { kind: 'stopped' as const } : end;
}

/** What tells a task's command, and every call of `orch` in it, where it belongs. */
function taskEnvironment({ run, target }: Work, task: Task, attempt: number): Environment {
  const entries = [
    `ORCH_EPIC=${target.epic}`,
    `ORCH_SESSION=${target.session}`,
    `ORCH_RUN=${run.id}`,
    `ORCH_TASK=${task.id}`,
    `ORCH_ATTEMPT=${attempt}`,
  ];
  return Object.fromEntries(entries.map((entry) => entry.split('=')));
}

/** Records how far a task is. A checkpoint that it calls for and that cannot be made now is made at the next. */
async function recordTask(
  ports: WorkPorts,
  work: Work,
  { id, digest }: Task,
  now: Pick<TaskRecord, 'status' | 'attempts'> & { readonly artifacts?: TaskRecord['artifacts'] },
): Promise<Outcome['verdict']> {
  const { run, target, tasks, effects } = work;
  const { status, attempts, artifacts = [] } = now;
  const fact = { kind: 'task', run: run.id, id, status, attempts, digest, artifacts } as const;
  const isDone = status === 'succeeded' && !hasOpenEffects(effects, id);
  const ask = isDone ? await askToKeep(ports, work, artifacts) : null;
  if (status === 'succeeded') work.made.set(id, artifacts);
  const { verdict } = await record(ports, target, [fact], ask);
  tasks.set(id, { status, attempts });
  return verdict;
}

function hasOpenEffects(effects: Work['effects'], task: string): boolean {
  return [...effects.values()].some((effect) => effect.task === task && effect.status !== 'acknowledged');
}

/** The checkpoint that keeps what a task made, which is done with it; null where there is nothing to keep. */
async function askToKeep(ports: WorkPorts, work: Work, artifacts: TaskRecord['artifacts']) {
  const runFiles = await keepArtifacts(ports, work, artifacts);
  const keeps = runFiles.length > 0 && isOn(work.target.settings.policy, 'task');
  return keeps ? ({ trigger: 'task', reason: null, orLater: true, runFiles } as const) : null;
}

/** What was made so far is in the checkpoints as long as the run may need it. */
async function keepArtifacts(
  ports: WorkPorts,
  { run, kept }: Work,
  artifacts: TaskRecord['artifacts'],
): Promise<RunFile[]> {
  const files = await readKept(ports.cwd, artifacts, keptBytes.all - kept.bytes, ports.redact);
  kept.bytes += files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  return files.map((file) => ({ run: run.id, ...file }));
}

function madeBy({ made, run }: Work, { id }: Task): TaskRecord['artifacts'] {
  return made.get(id) ?? run.done.get(id)?.artifacts ?? [];
}

async function doEffects(ports: WorkPorts, work: Work, task: Task, log: OutputLog): Promise<WorkEnd> {
  const { clock, random, cwd, env, signal, tell } = ports;
  const planned = effectsOfTask(work.run.effects, task.id);
  if (planned.length === 0) return { kind: 'succeeded' };
  const outcome = await performEffects(
    {
      clock,
      random,
      cwd,
      env: { ...env, ...taskEnvironment(work, task, 1) },
      signal,
      onOutput: log.write,
      say: (text) => tell({ kind: 'said', task, text }),
      record: async (fact) => {
        work.effects.set(fact.id, fact);
        const isDone = fact.status === 'acknowledged' && !hasOpenEffects(work.effects, task.id);
        await record(
          ports,
          work.target,
          [fact],
          isDone ? await askToKeep(ports, work, madeBy(work, task)) : null,
        );
      },
    },
    task,
    planned,
  );
  switch (outcome.kind) {
    case 'done':
      return { kind: 'succeeded' };
    case 'stopped':
      return { kind: 'stopped' };
    case 'blocked':
      return { kind: 'blocked', reason: `${outcome.effect}: ${outcome.reason}` };
    case 'resume_needed':
      return { kind: 'held', reason: `${outcome.effect}: ${outcome.reason}` };
  }
}
