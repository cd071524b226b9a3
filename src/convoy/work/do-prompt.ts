import { join } from 'node:path';
import { isOrchError, messageOf } from '../../errors.ts';
import { nameFile, parseOid } from '../../ids.ts';
import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { defaultWorkerAttempts } from '../../plan/convoy-plan.ts';
import type { Worker } from '../../plan/convoy-shape.ts';
import type { Task } from '../../plan/plan.ts';
import { type RunProgress, recordTask, type TaskOutcome, type TaskPorts } from '../../plan/task/do-task.ts';
import type { WorkerRecord } from '../../state/runs.ts';
import { makeFolder, writeAtomically } from '../../system/disk.ts';
import type { EpicId, Micros } from '../../types.ts';
import { formatUsd } from '../../units.ts';
import type { MergeQueue } from '../merge/merge-queue.ts';
import { taskBranch, taskEpic } from '../names.ts';
import { raiseFence } from '../worktree/ref-fence.ts';
import {
  closeTaskWorktree,
  collectWork,
  openTaskWorktree,
  type TaskWorktree,
} from '../worktree/task-worktree.ts';
import { makeAgentCommand } from './agent-command.ts';
import { formatPrompt } from './prompt.ts';
import { keepFeedback, promptFile, readFeedback, readPrompt } from './task-texts.ts';
import {
  isWorking,
  pauseWorker,
  readWorker,
  startWorker,
  type WorkerState,
  waitForWorker,
} from './worker.ts';
import { chargeWorker, release, waitForMoney } from './worker-money.ts';

/* One task of a convoy, from its first worker to the merged branch. */

/** What the tasks of a convoy share. */
export type Convoy = {
  readonly epic: EpicId;
  readonly worker: Worker;
  readonly queue: MergeQueue;
  /** Makes worktrees one after the other. */
  readonly makeInTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The tasks that agents work on now, with what each worker may still spend. */
  readonly active: Map<string, { readonly task: Task; allowance: Micros | null }>;
  /** The newest lease of each task begun here: a later round of a loop continues from it. */
  readonly leases: Map<string, number>;
  /** What finished tasks have cost. */
  readonly finished: Micros[];
};

/** Does a task until its work is merged, its attempts are used up, or it has to wait for money. */
export async function doPrompt(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  task: Task,
): Promise<TaskOutcome> {
  const began = ports.clock.elapsed();
  const worker = override(convoy.worker, task.convoy.worker);
  const job = await openJob(orch, convoy, progress, task, worker);
  const most = worker.attempts ?? defaultWorkerAttempts;
  const end = (outcome: TaskOutcome): TaskOutcome => {
    const about = {
      task,
      attempts: job.attempt,
      elapsed: ports.clock.elapsed() - began,
      output: '',
      log: '',
    };
    if (outcome.kind === 'succeeded')
      ports.onEvent({ kind: 'ended', ...about, status: 'succeeded', reason: null });
    if (outcome.kind === 'failed')
      ports.onEvent({ kind: 'ended', ...about, status: 'failed', reason: outcome.reason });
    if (outcome.kind === 'held') ports.onEvent({ kind: 'held', task, reason: outcome.reason });
    return outcome;
  };
  convoy.active.set(task.id, { task, allowance: convoy.active.get(task.id)?.allowance ?? null });
  try {
    for (;;) {
      const result = await attempt(orch, convoy, ports, progress, job).catch(holdForPerson);
      release(convoy, task);
      if (result.kind === 'stopped') return { kind: 'stopped' };
      if (result.kind === 'again' && ++job.deaths <= mostDeaths) {
        ports.onEvent({ kind: 'said', task, text: `${task.id}: its worker died; it continues where it was` });
        continue;
      }
      if (result.kind === 'again') {
        const reason = `its worker died ${job.deaths} times`;
        await note(ports, progress, job, 'held', reason);
        return end({ kind: 'held', reason });
      }
      if (result.kind === 'held') {
        await note(ports, progress, job, 'held', result.reason);
        return end(result);
      }
      if (result.kind === 'merged') {
        convoy.finished.push(job.record.costMicros);
        await recordTask(ports, progress, task, {
          status: 'succeeded',
          attempts: job.attempt,
          worker: job.record,
        });
        await closeTaskWorktree(orch, result.worktree).catch((error) =>
          orch.report(`its worktree could not be removed: ${messageOf(error)}`),
        );
        return end({ kind: 'succeeded' });
      }
      if (job.attempt >= most) {
        const why = `after ${job.attempt} of ${most} attempts: ${firstLine(result.feedback)}`;
        await recordTask(ports, progress, task, {
          status: 'failed',
          attempts: job.attempt,
          why,
          worker: job.record,
        });
        return end({ kind: 'failed', reason: why });
      }
      ports.onEvent({ kind: 'retry', task, attempt: job.attempt, reason: firstLine(result.feedback) });
      job.feedback = result.feedback;
      job.attempt += 1;
      job.isNew = true;
    }
  } finally {
    convoy.active.delete(task.id);
  }
}

/** What keeps one task from going on, such as a full disk or a setup that fails, is for a person, and stops no other. */
function holdForPerson(error: unknown): AttemptResult {
  if (!isOrchError(error) || error.code === 'INTERNAL') throw error;
  return { kind: 'held', reason: error.message };
}

/** How often a dead worker is started again: something kills it. */
const mostDeaths = 5;

/** The plan's worker, with what a task says otherwise. */
function override(plan: Worker, task: Worker): Worker {
  return { ...plan, ...Object.fromEntries(Object.entries(task).filter(([, value]) => value !== undefined)) };
}

/** A task that is being done. */
export type Job = {
  deaths: number;
  /** Was it begun, in this run or before it was resumed? */
  hasBegun: boolean;
  readonly task: Task;
  readonly worker: Worker;
  attempt: number;
  /** Does this attempt still have to begin? */
  isNew: boolean;
  /** Why the work was sent back. */
  feedback: string | null;
  record: WorkerRecord;
};

async function openJob(
  orch: Orch,
  convoy: Convoy,
  progress: RunProgress,
  task: Task,
  worker: Worker,
): Promise<Job> {
  const known = lookUp(progress.run.recorded, task.id);
  const earlier = known?.worker;
  const isUnderWay = known?.status === 'running' || known?.status === 'pending';
  const begun = known?.status === 'succeeded' ? undefined : earlier;
  const base = begun?.base ?? (await convoy.queue.tip());
  return {
    task,
    worker,
    deaths: 0,
    hasBegun: begun !== undefined,
    attempt: isUnderWay && earlier ? Math.max(1, known.attempts) : 1,
    isNew: !(isUnderWay && earlier),
    feedback: earlier ? readFeedback(orch, progress, task) : null,
    record: {
      ...{ lease: earlier?.lease ?? 0, step: 'working', epic: taskEpic(convoy.epic, task.id), base },
      ...{ agent: earlier?.agent ?? '', model: earlier?.model ?? null, commit: null, merged: null },
      costMicros: earlier?.costMicros ?? 0,
    },
  };
}

type AttemptResult =
  /** Its worker died; it continues, and that is no failed attempt. */
  | { readonly kind: 'again' }
  | { readonly kind: 'merged'; readonly worktree: TaskWorktree }
  | { readonly kind: 'sent_back'; readonly feedback: string }
  | { readonly kind: 'held'; readonly reason: string }
  | { readonly kind: 'stopped' };

/** One attempt: an agent works, what it did is committed, merged and checked. Continues one that a crash interrupted. */
async function attempt(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
): Promise<AttemptResult> {
  const { task, worker } = job;
  const { signal } = ports;
  const epic = taskEpic(convoy.epic, task.id);
  const base = parseOid(job.record.base);
  const place = { convoy: convoy.epic, task: task.id, worker, base, isNew: !job.hasBegun, signal };
  // One after the other: git locks what all worktrees share, and several at once are no faster.
  const worktree = await convoy.makeInTurn(() => openTaskWorktree(orch, place));
  job.record = { ...job.record, base: worktree.base };
  job.hasBegun = true;
  let state = await readWorker(orch, epic);
  if (!isWorking(state) && needsWorker(job, state)) {
    const held = await begin(orch, convoy, ports, progress, { job, worktree, state });
    if (held !== null) return held;
  }
  job.isNew = false;
  const charge = () => chargeWorker(orch, convoy, progress, ports, job, epic);
  state = await waitForWorker(orch, epic, signal, charge);
  await charge();
  if (signal.aborted && isWorking(state)) {
    if (pausesWorkers(signal.reason)) await pauseWorker(orch, epic, 'The convoy was paused');
    return { kind: 'stopped' };
  }
  const trailers = `Orch-Convoy: ${convoy.epic}\nOrch-Task: ${task.id}\n`;
  switch (state.condition) {
    case 'completed':
      break;
    case 'budget_exceeded':
      return {
        kind: 'held',
        reason: describeUsedUp(worker, state),
      };
    case 'failed':
      await collectWork(orch, worktree, { task: task.id, name: task.name, trailers });
      return { kind: 'sent_back', feedback: `The agent failed: ${state.reason ?? 'no reason was given'}` };
    case 'paused':
      return { kind: 'held', reason: state.reason ?? 'its worker was paused' };
    case 'interrupted':
      return { kind: 'again' };
    default:
      return { kind: 'held', reason: `its worker cannot be seen from here (${state.condition})` };
  }
  await note(ports, progress, job, 'checking');
  const finished = await collectWork(orch, worktree, { task: task.id, name: task.name, trailers });
  if (finished.kind === 'refused')
    return { kind: 'sent_back', feedback: await keepFeedback(ports, progress, task, finished.feedback) };
  job.record = { ...job.record, commit: finished.commit };
  await note(ports, progress, job, 'merging');
  const merged = await convoy.queue.merge(
    { task: task.id, name: task.name, lease: job.record.lease, commit: finished.commit },
    signal,
  );
  if (merged.kind === 'stopped') return merged;
  if (merged.kind === 'sent_back')
    return { kind: 'sent_back', feedback: await keepFeedback(ports, progress, task, merged.feedback) };
  job.record = { ...job.record, merged: merged.commit };
  return { kind: 'merged', worktree };
}

/** Whose budget it was: the task's own, or what the convoy had left for it. */
function describeUsedUp({ budget }: Worker, { spent }: WorkerState): string {
  if (budget !== undefined && spent >= budget)
    return `its own budget is used up (${formatUsd(spent)} of ${formatUsd(budget)}); to continue, raise it in the plan and resume`;
  return `what the convoy's budget had left for it is used up (${formatUsd(spent)} so far); to continue, resume with --budget +10`;
}

/** A worker is needed for a new attempt, and for one whose worker died or was paused. */
function needsWorker({ isNew }: Job, { condition }: WorkerState): boolean {
  return (
    isNew ||
    condition === null ||
    condition === 'interrupted' ||
    condition === 'paused' ||
    condition === 'budget_exceeded'
  );
}

/** A signal to the scheduler ends only the scheduling; a pause or the budget stops the workers too. */
function pausesWorkers(why: unknown): boolean {
  const kind = typeof why === 'object' && why !== null && 'kind' in why ? why.kind : null;
  return kind !== 'signal' && kind !== 'taken_over';
}

/** Starts a worker, if there is money for one; what it may not exceed is settled before it starts. */
async function begin(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  {
    job,
    worktree,
    state,
  }: { readonly job: Job; readonly worktree: TaskWorktree; readonly state: WorkerState },
): Promise<AttemptResult | null> {
  const { task, worker } = job;
  const allowance = await waitForMoney(orch, convoy, ports, job, state);
  if (allowance === null) return { kind: 'stopped' };
  if (allowance.kind === 'held') {
    const whose = allowance.why === 'task' ? 'its own budget' : "the convoy's budget";
    return { kind: 'held', reason: `what is left of ${whose} cannot pay for it` };
  }
  const others = [...convoy.active].filter(([id]) => id !== task.id);
  const isContinued = !job.isNew && state.condition !== null;
  const prompt = formatPrompt({
    ...{ task: task.id, name: task.name, files: task.files, branch: taskBranch(convoy.epic, task.id) },
    text: readPrompt(orch, task),
    others: others.map(([, other]) => ({
      task: other.task.id,
      name: other.task.name,
      files: other.task.files,
    })),
    feedback: job.feedback,
  });
  const file = promptFile(ports, progress, task);
  await makeFolder(orch.disk, join(orch.home, 'logs', nameFile(progress.run.id)));
  await writeAtomically(orch, file, prompt);
  const command = makeAgentCommand(worker, prompt, job.attempt);
  const { agent, model } = command;
  const lease = Math.max(job.record.lease, convoy.leases.get(task.id) ?? 0) + 1;
  convoy.leases.set(task.id, lease);
  job.record = { ...job.record, lease, agent, model, step: 'working', commit: null, costMicros: state.spent };
  await note(ports, progress, job, 'working');
  ports.onEvent({ kind: 'begun', task, attempt: job.attempt });
  try {
    await startWorker(orch, {
      epic: taskEpic(convoy.epic, task.id),
      argv: command.argv,
      cwd: worktree.own.path,
      env: {
        ...task.env,
        ...(await raiseFence(orch, worktree.branch)),
        ORCH_PROMPT_FILE: file,
        ORCH_TASK: task.id,
        ORCH_RUN: progress.run.id,
        ORCH_ATTEMPT: String(job.attempt),
      },
      allowance: allowance.amount,
      spent: state.spent,
      resumes: isContinued || job.feedback !== null,
    });
    return null;
  } catch (error) {
    // No failed attempt: the agent did nothing yet.
    return { kind: 'held', reason: messageOf(error) };
  }
}

/** Records how far a task is. */
async function note(
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  step: WorkerRecord['step'],
  why?: string,
): Promise<void> {
  job.record = { ...job.record, step };
  const status = step === 'held' ? 'pending' : 'running';
  const now = {
    status,
    attempts: job.attempt,
    worker: job.record,
    ...(why !== undefined && { why }),
  } as const;
  await recordTask(ports, progress, job.task, now);
}

function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, 200).replace(/:$/, '');
}
