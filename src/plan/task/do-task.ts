import { dirname, join } from 'node:path';
import { isOn } from '../../checkpoint/policy.ts';
import { writeFailed } from '../../errors.ts';
import { nameFile } from '../../ids.ts';
import { cleanSecretText } from '../../record/clean-facts.ts';
import type { RunningSession, SessionPorts } from '../../record/ports.ts';
import { type Outcome, record } from '../../record/record.ts';
import type { CheckpointRequest } from '../../record/save.ts';
import type { SharedCheckpoints } from '../../record/shared-checkpoints.ts';
import { type OutputLog, openOutputLog } from '../../session/output-log.ts';
import type { Fact } from '../../state/facts.ts';
import { maxPayloadBytes, type TaskRecord } from '../../state/runs.ts';
import { makeFolder, readIfThere, removeIfThere } from '../../system/disk.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { performEffects } from '../effects/perform.ts';
import type { EffectFact, PlannedEffect } from '../effects/plan-effects.ts';
import { nameTaskFile } from '../items.ts';
import type { Task } from '../plan.ts';
import type { ActiveRun } from '../run/prepare-run.ts';
import type { RunEvent, TaskProgress } from '../run/progress.ts';
import { taskMarker } from '../run/start-run.ts';
import type { Schedule } from '../schedule/schedule.ts';
import { type Artifact, readArtifacts, storedBytes } from './artifacts.ts';
import { type AttemptEnd, type Left, runTaskCommand } from './task-command.ts';
import { inShards, makeTaskFact, type TaskNow } from './task-facts.ts';
import { type ReadValues, readValues, valueVariables } from './task-values.ts';

export type TaskPorts = SessionPorts & {
  /** The top of the working tree, where tasks run. */
  readonly cwd: string;
  readonly env: Environment;
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
};

/** A run with its session, and how far it is. */
export type RunProgress = {
  readonly run: ActiveRun;
  readonly target: RunningSession;
  /** Null if tasks run one by one: then each has its checkpoint before the next one starts. */
  readonly checkpoints: SharedCheckpoints | null;
  readonly tasks: Map<string, TaskProgress>;
  readonly effects: Map<string, EffectFact>;
  /** The planned effects of each task that has any. */
  readonly effectsOf: ReadonlyMap<string, readonly PlannedEffect[]>;
  /** The artifacts of tasks that succeeded in this session. */
  readonly artifacts: Map<string, readonly Artifact[]>;
  /** How many bytes of artifacts are in the checkpoints. */
  readonly stored: { bytes: number };
  /** How many tasks failed in this session. */
  readonly failed: { count: number };
  /** What a task sees of the tasks before it. */
  readonly schedule: Pick<Schedule<Task>, 'valuesFor' | 'ask' | 'roundOf'>;
};

/** How a task ended. `held`: an effect cannot be done now, so the tasks that need this one have to wait. */
export type TaskOutcome =
  | { readonly kind: 'succeeded'; readonly left?: Left }
  | { readonly kind: 'stopped' }
  /** A person does not want it any more. What needs it is not done either, unless that is wanted. */
  | { readonly kind: 'cancelled'; readonly goesOn: boolean }
  | { readonly kind: 'failed' | 'blocked' | 'held'; readonly reason: string; readonly left?: Left };

/** Runs a task's command, unless it succeeded before, and then performs its effects. */
export async function doTask(ports: TaskPorts, progress: RunProgress, task: Task): Promise<TaskOutcome> {
  const { clock, onEvent } = ports;
  const began = clock.elapsed();
  const path = join(ports.home, 'logs', nameFile(progress.run.id), nameTaskFile(task.id, '.log'));
  const log = await openTaskLog(ports, task, path);
  const reportEnd = (status: 'succeeded' | 'failed', reason: string | null = null, output = '') => {
    const attempts = progress.tasks.get(task.id)?.attempts ?? 0;
    const elapsed = clock.elapsed() - began;
    onEvent({ kind: 'ended', task, status, attempts, elapsed, reason, output, log: path });
  };
  try {
    const known = findDone(progress, task);
    const end = known ? null : await runCommand(ports, progress, task, log);
    if (end?.kind === 'stopped') return { kind: 'stopped' };
    if (end?.kind === 'failed') {
      reportEnd('failed', end.reason, end.output);
      return end;
    }
    const left = end?.left ?? (known && takeLeft(known));
    const outcome = { ...(await doEffects(ports, progress, task, log)), ...(left && { left }) };
    if (outcome.kind === 'succeeded') reportEnd('succeeded');
    if (outcome.kind === 'blocked') reportEnd('failed', outcome.reason);
    if (outcome.kind === 'held') onEvent({ kind: 'held', task, reason: outcome.reason });
    return outcome;
  } finally {
    await log.close();
  }
}

/** The record of a task whose command succeeded before, in the round its group is in; only its effects are left to do. */
export function findDone(
  { run, schedule }: Pick<RunProgress, 'run' | 'schedule'>,
  task: Task,
): TaskRecord | undefined {
  const known = run.done.get(task.id);
  return (known?.round ?? 1) === schedule.roundOf(task) ? known : undefined;
}

/** The attempt to begin with: after a crash, a repeated task continues. */
export function findAttempt({ run, schedule }: Pick<RunProgress, 'run' | 'schedule'>, task: Task): number {
  const known = run.attempts.get(task.id);
  return known?.round === schedule.roundOf(task) ? known.attempt : 1;
}

/** What a task left behind whose command had succeeded before. */
export function takeLeft({ exit, values = {} }: TaskRecord): Left {
  return { ...(exit !== undefined && { exit }), values };
}

async function openTaskLog(ports: TaskPorts, { id }: Task, path: string): Promise<OutputLog> {
  try {
    await makeFolder(ports.disk, dirname(path));
    return openOutputLog(ports, path);
  } catch (error) {
    throw writeFailed(`task ${id} was not started because its log cannot be written`, error);
  }
}

async function runCommand(ports: TaskPorts, progress: RunProgress, task: Task, log: OutputLog) {
  const { cwd, random, redact, signal, onEvent } = ports;
  const { schedule } = progress;
  const file = valuesFile(ports, progress, task);
  const end = await runTaskCommand(task, {
    cwd,
    random,
    redact,
    signal,
    from: findAttempt(progress, task),
    env: (attempt) => ({
      ...ports.env,
      ...valueVariables(schedule.valuesFor(task)),
      ...task.env,
      ...taskEnvironment(progress, task, attempt),
      ORCH_VALUES: file,
    }),
    marker: taskMarker(progress.run.id, task.id),
    onOutput: log.write,
    onAttempt: async (attempt) => {
      const { stop } = await recordTask(ports, progress, task, { status: 'running', attempts: attempt });
      // The supervisor will see the same reason and end the session; nothing may start meanwhile.
      if (stop !== null) return false;
      removeIfThere(ports.disk, file);
      onEvent({ kind: 'begun', task, attempt });
      return true;
    },
    onRetry: async (attempt, { left }, reason) => {
      await log.flush();
      log.tell(`orch: attempt ${attempt}: ${reason}`);
      // That it is repeated is decided now, and not again after a crash.
      if (task.repeat)
        await recordTask(ports, progress, task, { status: 'pending', attempts: attempt, left });
      onEvent({ kind: 'retry', task, attempt, reason });
    },
    readValues: (lastLine) => collectValues(ports, task, file, lastLine),
    isOver: (tried) => askUntil(progress, task, tried),
  });
  removeIfThere(ports.disk, file);
  await log.flush();
  if (end.kind === 'failed') {
    log.tell(`orch: attempt ${end.attempts}: ${end.reason}`);
    const { attempts, left, reason: why } = end;
    await recordTask(ports, progress, task, { status: 'failed', attempts, left, why });
  }
  if (end.kind !== 'succeeded') return end;
  const { attempts, left, artifacts } = end;
  // The success is on disk before any task that needs it can start.
  const { stop } = await recordTask(ports, progress, task, {
    status: 'succeeded',
    attempts,
    left,
    artifacts,
  });
  // The supervisor would interrupt an effect that started now.
  const isStopped = stop !== null && progress.effectsOf.has(task.id);
  return isStopped ? { kind: 'stopped' as const } : end;
}

function valuesFile({ home }: TaskPorts, { run }: RunProgress, { id }: Task): string {
  return join(home, 'logs', nameFile(run.id), nameTaskFile(id, '.values'));
}

/** Reads the values a task set, as they can be recorded: what later tasks see must be the same after a crash. */
async function collectValues(
  { redact, onEvent }: TaskPorts,
  task: Task,
  file: string,
  lastLine: string,
): Promise<ReadValues> {
  const read = readValues(readIfThere(file)?.toString('utf8') ?? '', lastLine);
  if ('problem' in read) return read;
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(read.values)) {
    const kept = await cleanSecretText(value, redact, maxPayloadBytes);
    if (kept !== value)
      onEvent({
        kind: 'said',
        task,
        text: `values.${name} contains what is not recorded, such as a secret: ${kept}`,
      });
    values[name] = kept;
  }
  return { values };
}

function askUntil({ schedule }: RunProgress, task: Task, { kind, left }: AttemptEnd) {
  const until = task.repeat?.until;
  if (until === undefined || typeof until === 'string') return { holds: kind === 'succeeded', because: '' };
  return schedule.ask(until, task, { status: kind, ...left });
}

/** Tells a task's command, and every `orch` it calls, what it is part of. */
export function taskEnvironment(
  { run, target }: { readonly run: Pick<ActiveRun, 'id'>; readonly target: RunningSession },
  task: Task,
  attempt: number,
): Environment {
  return {
    ORCH_EPIC: target.epic,
    ORCH_SESSION: target.session,
    ORCH_RUN: run.id,
    ORCH_TASK: task.id,
    ORCH_ATTEMPT: String(attempt),
  };
}

/** Does tasks that are prompts, by giving them to agents. */
export type Workers = {
  /** Where commands run: in the files of what is merged so far. */
  readonly cwd: string;
  /** Runs a command there; nothing is merged meanwhile. */
  onMerged<T>(work: () => Promise<T>): Promise<T>;
  doPrompt(ports: TaskPorts, progress: RunProgress, task: Task): Promise<TaskOutcome>;
  /** Does what people have ordered; then, until `over` is aborted, what they order while it runs. */
  steer(
    ports: TaskPorts,
    progress: RunProgress,
    controls: RunControls,
    over: AbortSignal,
  ): Promise<{ readonly ended: Promise<void> }>;
  /** Though nothing runs, will a task begin or continue without anything else being done first? */
  hasNext(progress: RunProgress): boolean;
};

/** What can be changed about a run while it runs. */
export type RunControls = {
  /** Continues a task that is held; false if it is not. */
  reopen(id: string): boolean;
  /** Adds tasks to the run. */
  add(tasks: readonly Task[]): void;
};

/** A failed task asks for no checkpoint, but what is in none is read again with every record. */
const failuresToSave = 100;

/** Records how far a task is. If its checkpoint cannot be made now, it is made with the next one. */
export async function recordTask(
  ports: TaskPorts,
  progress: RunProgress,
  task: Task,
  now: TaskNow,
): Promise<Outcome['verdict']> {
  const { tasks } = progress;
  const { id } = task;
  const { status, attempts, artifacts = [] } = now;
  const isDone = status === 'succeeded' && !hasOpenEffects(progress, id);
  const checkpoint = isDone ? await askForCheckpoint(ports, progress, artifacts) : null;
  const isMany = status === 'failed' && ++progress.failed.count % failuresToSave === 0;
  const saves = isMany && isOn(progress.target.settings.policy, 'task');
  if (status === 'succeeded') progress.artifacts.set(id, artifacts);
  const facts = [makeTaskFact(progress, task, now, isDone)];
  const asked = saves ? ({ trigger: 'task', reason: null, orLater: true } as const) : checkpoint;
  const { verdict } = await recordInRun(ports, progress, facts, { isDone, checkpoint: asked });
  tasks.set(id, { status, attempts });
  return verdict;
}

type Recording = {
  /** Whether a task is done with these facts, effects included. */
  readonly isDone: boolean;
  readonly checkpoint: CheckpointRequest | null;
};

/**
 * Records facts of a run; they are on disk when this returns. Tasks that run side by side share checkpoints, and wait
 * for them only if the files are saved too: as they left them, not as a task that needs them did.
 */
export async function recordInRun(
  ports: TaskPorts,
  { target, checkpoints }: Pick<RunProgress, 'target' | 'checkpoints'>,
  facts: readonly Fact[],
  { isDone, checkpoint }: Recording = { isDone: false, checkpoint: null },
): Promise<Outcome> {
  if (checkpoints === null) return record(ports, target, facts, checkpoint);
  const outcome = await record(ports, withoutTaskTrigger(target), facts, checkpoint);
  if (!isDone || checkpoint !== null) return outcome;
  const made = checkpoints.ask();
  if (target.settings.snapshot) await made;
  else made.catch(() => {}); // reported when the checkpoints settle
  return outcome;
}

/** For those that leave the checkpoint after a task to another. */
export function withoutTaskTrigger(target: RunningSession): RunningSession {
  const { policy } = target.settings;
  const on = policy.on.filter((trigger) => trigger !== 'task');
  return { ...target, settings: { ...target.settings, policy: { ...policy, on } } };
}

function hasOpenEffects({ effects, effectsOf }: RunProgress, task: string): boolean {
  const own = effectsOf.get(task) ?? [];
  return own.some(({ record: { id } }) => effects.get(id)?.status !== 'acknowledged');
}

/** Asks for the checkpoint that stores a finished task's artifacts, as long as the run may need them; null if none. */
async function askForCheckpoint(
  ports: TaskPorts,
  { run, stored, target }: RunProgress,
  artifacts: readonly Artifact[],
) {
  const files = await readArtifacts(ports.cwd, artifacts, storedBytes.all - stored.bytes, ports.redact);
  stored.bytes += files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (files.length === 0 || !isOn(target.settings.policy, 'task')) return null;
  const runFiles = files.map((file) => ({ run: run.id, ...file }));
  return { trigger: 'task', reason: null, orLater: true, runFiles } as const;
}

async function doEffects(
  ports: TaskPorts,
  progress: RunProgress,
  task: Task,
  log: OutputLog,
): Promise<TaskOutcome> {
  const { clock, random, cwd, env, signal, onEvent } = ports;
  const { run, effects } = progress;
  const planned = progress.effectsOf.get(task.id) ?? [];
  if (planned.length === 0) return { kind: 'succeeded' };
  const recordEffect = async (fact: EffectFact) => {
    effects.set(fact.id, fact);
    const isDone = fact.status === 'acknowledged' && !hasOpenEffects(progress, task.id);
    const artifacts = progress.artifacts.get(task.id) ?? run.done.get(task.id)?.artifacts ?? [];
    const checkpoint = isDone ? await askForCheckpoint(ports, progress, artifacts) : null;
    await recordInRun(ports, progress, [{ ...fact, ...inShards(run, isDone) }], { isDone, checkpoint });
  };
  const outcome = await performEffects(
    {
      clock,
      random,
      cwd,
      env: {
        ...env,
        ...valueVariables(progress.schedule.valuesFor(task)),
        ...taskEnvironment(progress, task, 1),
      },
      signal,
      onOutput: log.write,
      onNote: (text) => onEvent({ kind: 'said', task, text }),
      record: recordEffect,
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
