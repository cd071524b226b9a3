import { messageOf } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import type { Task } from '../../plan/plan.ts';
import { digestChoice } from '../../plan/run/carry-tasks.ts';
import { type RunProgress, recordTask, type TaskOutcome, type TaskPorts } from '../../plan/task/do-task.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import type { Fact } from '../../state/facts.ts';
import type { Millis } from '../../types.ts';
import { taskEpic } from '../names.ts';
import { noteFailed, noteHeld } from '../notices.ts';
import { release } from '../worker/worker-money.ts';
import { freeSlot } from '../worktree/slots.ts';
import { closeTaskWorktree, type TaskWorktree } from '../worktree/task-worktree.ts';
import { attempt } from './attempt.ts';
import { decideAfterAttempt, type Refused } from './decide-next.ts';
import {
  type Convoy,
  follow,
  isClaimable,
  type Job,
  mostAttempts,
  noteStep,
  openJob,
  retryJob,
} from './job.ts';

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
  convoy.unclaimed.delete(task.id);
  // In turn, so that tasks which start together begin in the order of the plan.
  const job = await convoy.makeInTurn(() => openJob(orch, convoy, progress, task));
  const wish = convoy.wishes.get(task.id);
  convoy.wishes.delete(task.id);
  if (wish?.kind === 'cancel') return cancel(ports, progress, job, wish.goesOn);
  if (wish?.kind === 'retry') retryJob(job, wish);
  follow(job, 'opened');
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
    const next = decideAfterAttempt(result, {
      ...{ attempt: job.attempt, mostAttempts: mostAttempts(job), deaths: job.deaths },
      isCancelled: wish?.kind === 'cancel',
      isClaimable: isClaimable(convoy, task),
    });
    switch (next.kind) {
      case 'leave':
        return { kind: 'stopped' };
      case 'cancel':
        convoy.wishes.delete(task.id);
        return cancel(ports, progress, job, wish?.kind === 'cancel' && wish.goesOn);
      case 'continue':
        follow(job, next.event);
        if (next.event === 'died') {
          job.deaths += 1;
          const text = `${task.id}: its worker died; it continues where it was`;
          ports.onEvent({ kind: 'said', task, text });
        }
        continue;
      case 'wait for money':
        await noteStep(ports, progress, job, 'held', next.reason);
        follow(job, 'opened');
        continue;
      case 'hold':
        await noteHeld(orch, convoy, progress, job, next.reason);
        await noteStep(ports, progress, job, 'held', next.reason);
        return { kind: 'held', reason: next.reason };
      case 'ask':
        await noteStep(ports, progress, job, 'asked', next.question);
        return { kind: 'held', reason: `it asks: ${next.question}` };
      case 'finish':
        convoy.wishes.delete(task.id);
        return finish(orch, convoy, ports, progress, job, next.worktree);
      case 'fail':
        return fail(orch, ports, progress, job, next);
      case 'try again': {
        follow(job, 'sent_back');
        const { feedback } = next;
        refuseWork(job, next);
        const [most, reason] = [mostAttempts(job), firstLine(feedback)];
        ports.onEvent({ kind: 'retry', task, attempt: job.attempt, most, reason });
        job.feedback = feedback;
        job.attempt += 1;
        job.isNew = true;
        if (next.waitsForClaim && job.claim === null) return waitForClaim(convoy, job);
      }
    }
  }
}

/** What was done so far is not accepted, nor what was spent on it. */
function refuseWork(job: Job, { feedback, cause }: Refused): void {
  const { costMicros: rejectedMicros, session, tries = [] } = job.record;
  const last = tries.at(-1);
  job.record = {
    ...job.record,
    ...{ rejectedMicros, ...(session !== undefined && { refused: session }) },
    ...(last && { tries: [...tries.slice(0, -1), { ...last, refused: firstLine(feedback), ...cause }] }),
  };
}

function waitForClaim({ unclaimed }: Convoy, { task }: Job): TaskOutcome {
  unclaimed.add(task.id);
  return { kind: 'held', reason: 'it waits to be claimed: orch convoy claim' };
}

async function finish(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  worktree: TaskWorktree,
): Promise<TaskOutcome> {
  const { task, attempt: attempts, record: worker } = job;
  follow(job, 'merged');
  convoy.finished.push(worker.costMicros);
  await recordTask(ports, progress, task, { status: 'succeeded', attempts, worker });
  await resolveBlocker(ports, progress, task.id);
  await closeTaskWorktree(orch, worktree).catch((error) =>
    orch.report(`its worktree could not be removed: ${messageOf(error)}`),
  );
  return { kind: 'succeeded' };
}

/** A task that failed blocks what needs it, until it is done after all. */
function blockerOf(task: string, text: string, resolvedAt: Millis | null): Fact {
  return { kind: 'blocker', id: `task-${task}`, text, resolvedAt };
}

async function resolveBlocker(ports: TaskPorts, { target }: RunProgress, task: string): Promise<void> {
  const { state } = await readView(ports, target.epic);
  const open = lookUp(state.blockers, `task-${task}`)?.value;
  if (open === undefined || open.resolvedAt !== null) return;
  await record(ports, target, [blockerOf(task, open.text, ports.clock.now())]);
}

async function fail(
  orch: Orch,
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  refused: Refused,
): Promise<TaskOutcome> {
  const { feedback } = refused;
  follow(job, 'given_up');
  refuseWork(job, refused);
  const { task, attempt: attempts, record: worker } = job;
  const why = `after ${attempts} of ${mostAttempts(job)} attempts: ${firstLine(feedback)}`;
  job.feedback = feedback;
  await noteFailed(orch, progress, job, why);
  await recordTask(ports, progress, task, { status: 'failed', attempts, why, worker });
  await record(ports, progress.target, [blockerOf(task.id, `${task.id} failed ${why}`, null)]);
  return { kind: 'failed', reason: why };
}

/** Leaves a task as it is: what was done is on its branch and in its worktree. */
async function cancel(
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  goesOn: boolean,
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
  follow(job, 'cancelled');
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
  const [attempts, most] = [job.attempt, mostAttempts(job)];
  const about = { task, attempts, most, elapsed: clock.elapsed() - began, output: '', log: '' };
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
