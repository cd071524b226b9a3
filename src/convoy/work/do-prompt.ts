import { messageOf } from '../../errors.ts';
import type { Orch } from '../../orch.ts';
import type { Task } from '../../plan/plan.ts';
import { digestChoice } from '../../plan/run/carry-tasks.ts';
import { type RunProgress, recordTask, type TaskOutcome, type TaskPorts } from '../../plan/task/do-task.ts';
import { taskEpic } from '../names.ts';
import { freeSlot } from '../worktree/slots.ts';
import { closeTaskWorktree } from '../worktree/task-worktree.ts';
import { type AttemptResult, attempt } from './attempt.ts';
import {
  type Convoy,
  isClaimable,
  type Job,
  mostAttempts,
  noteStep,
  openJob,
  retryJob,
  type Wish,
} from './job.ts';
import { release } from './worker-money.ts';

/* One task of a convoy, from its first worker to the merged branch. */

/** Does a task until its work is merged, its attempts are used up, it has to wait, or it is cancelled. */
export async function doPrompt(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  task: Task,
): Promise<TaskOutcome> {
  const began = ports.clock.elapsed();
  if (convoy.only !== null && !convoy.only.has(task.id))
    return { kind: 'held', reason: 'it was not asked for; start or resume without --label' };
  convoy.tasks.set(task.id, task);
  convoy.unpaid.delete(task.id);
  // In turn, so that tasks which start together begin in the order of the plan.
  const job = await convoy.makeInTurn(() => openJob(orch, convoy, progress, task));
  const wish = convoy.wishes.get(task.id);
  convoy.wishes.delete(task.id);
  if (wish?.kind === 'cancel') return cancel(ports, progress, job, wish);
  if (wish?.kind === 'retry') retryJob(job, wish);
  if (isClaimable(convoy, task) && job.claim === null) return waitForClaim(convoy, job);
  job.stop = new AbortController();
  convoy.active.set(task.id, { task, allowance: convoy.active.get(task.id)?.allowance ?? null });
  try {
    const outcome = await tryUntilDone(orch, convoy, ports, progress, job);
    // A worker that continues without its scheduler keeps its slot.
    if (outcome.kind !== 'stopped') freeSlot(orch, taskEpic(convoy.epic, task.id));
    report(ports, job, outcome, began);
    return outcome;
  } finally {
    convoy.active.delete(task.id);
  }
}

async function tryUntilDone(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
): Promise<TaskOutcome> {
  const { task } = job;
  for (;;) {
    const result = await attempt(orch, convoy, ports, progress, job);
    release(convoy, task);
    const wish = convoy.wishes.get(task.id);
    if (result.kind !== 'merged' && wish?.kind === 'cancel') {
      convoy.wishes.delete(task.id);
      return cancel(ports, progress, job, wish);
    }
    switch (result.kind) {
      case 'stopped':
        return { kind: 'stopped' };
      case 'again':
        if (++job.deaths > mostDeaths)
          return hold(ports, progress, job, `its worker died ${job.deaths} times`);
        ports.onEvent({ kind: 'said', task, text: `${task.id}: its worker died; it continues where it was` });
        continue;
      case 'told':
        continue;
      case 'unpaid':
        await noteStep(ports, progress, job, 'held', result.reason);
        continue;
      case 'held':
        return hold(ports, progress, job, result.reason);
      case 'asks':
        await noteStep(ports, progress, job, 'needs_input', result.question);
        return { kind: 'held', reason: `it asks: ${result.question}` };
      case 'merged':
        return finish(orch, convoy, ports, progress, job, result);
      case 'sent_back': {
        const { feedback } = result;
        job.record = { ...job.record, rejectedMicros: job.record.costMicros };
        if (job.attempt >= mostAttempts(job)) return fail(ports, progress, job, feedback);
        ports.onEvent({ kind: 'retry', task, attempt: job.attempt, reason: firstLine(feedback) });
        job.feedback = feedback;
        job.attempt += 1;
        job.isNew = true;
        if (isClaimable(convoy, task) && job.claim === null) return waitForClaim(convoy, job);
      }
    }
  }
}

function waitForClaim({ unclaimed }: Convoy, { task }: Job): TaskOutcome {
  unclaimed.add(task.id);
  return { kind: 'held', reason: 'it waits to be claimed: orch convoy claim' };
}

/** How often a dead worker is started again: something kills it. */
const mostDeaths = 5;

async function hold(ports: TaskPorts, progress: RunProgress, job: Job, reason: string): Promise<TaskOutcome> {
  await noteStep(ports, progress, job, 'held', reason);
  return { kind: 'held', reason };
}

async function finish(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  { task, attempt: attempts, record: worker }: Job,
  { worktree }: Extract<AttemptResult, { kind: 'merged' }>,
): Promise<TaskOutcome> {
  convoy.finished.push(worker.costMicros);
  await recordTask(ports, progress, task, { status: 'succeeded', attempts, worker });
  await closeTaskWorktree(orch, worktree).catch((error) =>
    orch.report(`its worktree could not be removed: ${messageOf(error)}`),
  );
  return { kind: 'succeeded' };
}

async function fail(
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  feedback: string,
): Promise<TaskOutcome> {
  const { task, attempt: attempts, record: worker } = job;
  const why = `after ${attempts} of ${mostAttempts(job)} attempts: ${firstLine(feedback)}`;
  job.feedback = feedback;
  await recordTask(ports, progress, task, { status: 'failed', attempts, why, worker });
  return { kind: 'failed', reason: why };
}

/** Leaves a task as it is: what was done is on its branch and in its worktree. */
async function cancel(
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  { goesOn }: Extract<Wish, { kind: 'cancel' }>,
): Promise<TaskOutcome> {
  await recordCancelled(ports, progress, job, goesOn);
  return { kind: 'cancelled', goesOn };
}

export async function recordCancelled(
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  goesOn: boolean,
): Promise<void> {
  const { task, attempt: attempts, isNew } = job;
  job.record = { ...job.record, step: goesOn ? 'left_out' : 'cancelled' };
  // A later run decides again whether it is skipped only if the plan asks for something else.
  const choice = { ...task, digest: digestChoice(task) };
  await recordTask(ports, progress, choice, {
    status: 'skipped',
    attempts: isNew ? attempts - 1 : attempts,
    worker: job.record,
    why: goesOn ? 'cancelled; what needs it is done without it' : 'cancelled',
  });
}

function report({ clock, onEvent }: TaskPorts, job: Job, outcome: TaskOutcome, began: number): void {
  const { task } = job;
  const about = { task, attempts: job.attempt, elapsed: clock.elapsed() - began, output: '', log: '' };
  switch (outcome.kind) {
    case 'succeeded':
      onEvent({ kind: 'ended', ...about, status: 'succeeded', reason: null });
      break;
    case 'failed':
      onEvent({ kind: 'ended', ...about, status: 'failed', reason: outcome.reason });
      break;
    case 'cancelled':
      onEvent({ kind: 'ended', ...about, status: 'skipped', reason: 'cancelled' });
      break;
    case 'held':
      onEvent({ kind: 'held', task, reason: outcome.reason });
  }
}

function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, 200).replace(/[:.]$/, '');
}
