import { OrchError } from '../../errors.ts';
import { readLive } from '../../journal/live.ts';
import type { Orch } from '../../orch.ts';
import { isActive } from '../../plan/run/known-runs.ts';
import { answerFacts } from '../../record/fact-builders.ts';
import { readView } from '../../record/view.ts';
import { sayTo } from '../../session/messages.ts';
import { stopSession } from '../../session/stop.ts';
import type { EpicId } from '../../types.ts';
import type { KnownConvoy } from '../find-convoy.ts';
import { type ConvoyTask, showConvoy } from '../show-convoy.ts';
import type { TaskState } from '../work/task-transition.ts';
import { isWorking, pauseWorker, readWorker } from '../worker/worker.ts';
import { type Order, placeOrder, waitUntilTaken } from './orders.ts';
import { refuseOwnAnswer, refuseWorkers } from './refuse-workers.ts';

/* What people do with the tasks of a convoy while it runs. */

/** A task that a person named. */
export type NamedTask = { readonly convoy: KnownConvoy; readonly task: ConvoyTask };

/** Reads the task that a person named. */
export async function readTask(orch: Orch, convoy: KnownConvoy, id: string): Promise<ConvoyTask> {
  const { tasks } = await showConvoy(orch, convoy, true);
  const task = tasks.find((each) => each.id === id);
  if (task !== undefined) return task;
  throw new OrchError('USAGE', `${convoy.epic} has no task ${JSON.stringify(id.slice(0, 80))}`, {
    hint: `See its tasks: orch convoy show ${convoy.epic}`,
  });
}

/** Gives an order; false if no scheduler is at work, so that the next one takes it. */
export async function giveOrder(orch: Orch, { epic, run }: KnownConvoy, order: Order): Promise<boolean> {
  const id = await placeOrder(orch, epic, order);
  return waitUntilTaken(orch, epic, id, () => isActive(orch, run));
}

const over: readonly TaskState[] = ['done', 'cancelled', 'skipped'];

export type Said = {
  /** The question this answers. */
  readonly answers: string | null;
  /** When the worker hears it. */
  readonly heard:
    | 'now, if it waits'
    | 'while it works'
    | 'in its next turn'
    | 'when it begins'
    | 'when the convoy continues';
};

/** Says something to the worker of a task: the answer, if it has a question. Nothing is lost if it is not there. */
export async function sayToTask(
  orch: Orch,
  { convoy, task }: NamedTask,
  text: string,
  byAgent: boolean,
): Promise<Said> {
  if (over.includes(task.status) || task.status === 'failed')
    throw new OrchError(
      'USAGE',
      `no agent works on ${task.id} any more: it is ${task.status.replace('_', ' ')}`,
      {
        hint:
          task.status === 'failed'
            ? `Have it tried again: orch convoy retry ${convoy.epic}/${task.id}`
            : `Add what is to be done: orch convoy add "text" -e ${convoy.epic}`,
        data: { task: task.id, status: task.status },
      },
    );
  const epic = task.epicId;
  const { questions } = await readWorker(orch, epic);
  const [question] = questions;
  if (question === undefined) await sayTo(orch, epic, text);
  else {
    refuseOwnAnswer(orch, epic);
    const { state } = await readView(orch, epic);
    const facts = answerFacts(orch.random, state, question.id, text, { at: orch.clock.now(), byAgent });
    await sayTo(orch, epic, `To your question "${question.text}": ${text}`, { facts, answers: question.id });
  }
  const isTaken = await giveOrder(orch, convoy, { kind: 'resume', task: task.id });
  const heard = await whenHeard(orch, task, isTaken);
  // `orch ask --wait` prints the answer.
  const isWaiting = question !== undefined && heard === 'in its next turn' && isTaken;
  return { answers: question?.text ?? null, heard: isWaiting ? 'now, if it waits' : heard };
}

/** The scheduler may have ended since the convoy was read: only one that took the order starts another turn. */
async function whenHeard(orch: Orch, task: ConvoyTask, isTaken: boolean): Promise<Said['heard']> {
  const worker = await readWorker(orch, task.epicId);
  if (isWorking(worker)) return task.agent === 'claude' ? 'while it works' : 'in its next turn';
  if (!isTaken) return 'when the convoy continues';
  return worker.session === null ? 'when it begins' : 'in its next turn';
}

/** Orders that a task is tried again; false if no scheduler is at work. */
export async function retryTask(
  orch: Orch,
  { convoy, task }: NamedTask,
  { model, isFresh }: { readonly model: string | null; readonly isFresh: boolean },
): Promise<boolean> {
  refuseWorkers(orch, convoy.epic, 'try a task again');
  const again: readonly TaskState[] = ['failed', 'held', 'cancelled', 'needs_input'];
  if (!again.includes(task.status))
    throw new OrchError('USAGE', `${task.id} cannot be tried again now: it is ${task.status}`, {
      hint:
        task.status === 'working'
          ? `To begin its work anew, pause it first: orch convoy pause ${convoy.epic}/${task.id}`
          : `See how it is: orch convoy why ${convoy.epic}/${task.id}`,
      data: { task: task.id, status: task.status },
    });
  // What was cancelled is decided once its scheduler has ended: a later one leaves it out.
  if (task.status === 'cancelled' && !convoy.isActive)
    throw new OrchError('USAGE', `${task.id} was cancelled, and its convoy does not run any more`, {
      hint: `Add it to the plan under another id, then: orch convoy resume ${convoy.epic}`,
      data: { task: task.id, status: task.status },
    });
  return giveOrder(orch, convoy, { kind: 'retry', task: task.id, model, isFresh });
}

/** Pauses the worker of a task. Everything is saved, and it continues in the same conversation. */
export async function pauseTask(orch: Orch, { convoy, task }: NamedTask, reason: string): Promise<void> {
  refuseWorkers(orch, convoy.epic, 'pause a task');
  if (isWorking(await readWorker(orch, task.epicId))) return pauseWorker(orch, task.epicId, reason);
  throw new OrchError('USAGE', `no agent works on ${task.id} now: it is ${task.status.replace('_', ' ')}`, {
    hint:
      over.includes(task.status) || task.status === 'failed'
        ? `See how it is: orch convoy why ${convoy.epic}/${task.id}`
        : `To leave it out: orch convoy cancel ${convoy.epic}/${task.id}`,
    data: { task: task.id, status: task.status },
  });
}

/** Orders that a paused task continues; the scheduler does it, or the next one. */
export async function resumeTask(orch: Orch, convoy: KnownConvoy, task: string): Promise<boolean> {
  return giveOrder(orch, convoy, { kind: 'resume', task });
}

/** Orders that tasks which wait for money are looked at again, because there is more. */
export async function resumeUnpaid(orch: Orch, convoy: KnownConvoy): Promise<boolean> {
  return giveOrder(orch, convoy, { kind: 'money' });
}

/** Pauses a convoy: no task is started, and its workers are paused. Returns how many were at work. */
export async function pauseConvoy(orch: Orch, convoy: KnownConvoy, reason: string): Promise<number> {
  refuseWorkers(orch, convoy.epic, 'pause its convoy');
  const { tasks, workers } = await showConvoy(orch, convoy, true);
  const live = convoy.isActive ? readLive(orch.home, convoy.run.head.session) : null;
  if (live !== null) await stopSession(orch, live, { want: 'pause', reason });
  return Math.max(workers, await pauseWorkers(orch, tasks, reason));
}

/**
 * Orders that tasks are left as they are; their workers are stopped at once. With `goesOn`, what needs them is
 * done without them. Returns those that are not over yet.
 */
export async function cancelTasks(
  orch: Orch,
  convoy: KnownConvoy,
  tasks: readonly ConvoyTask[],
  goesOn: boolean,
): Promise<{ readonly tasks: readonly string[]; readonly isTaken: boolean }> {
  refuseWorkers(orch, convoy.epic, 'cancel tasks');
  const open = tasks.filter(({ status }) => !over.includes(status)).map(({ id }) => id);
  if (open.length === 0)
    throw new OrchError('USAGE', 'there is nothing to cancel: it is done, cancelled or skipped already', {
      hint: `See how it is: orch convoy show ${convoy.epic}`,
    });
  const isTaken = await giveOrder(orch, convoy, { kind: 'cancel', tasks: open, goesOn });
  // The scheduler stops them too; what it does is not known before they have stopped.
  await pauseWorkers(orch, tasks, 'cancelled');
  return { tasks: open, isTaken };
}

/** Pauses every worker that is at work; returns how many there were. */
export async function pauseWorkers(
  orch: Orch,
  tasks: readonly Pick<ConvoyTask, 'epicId'>[],
  reason: string,
): Promise<number> {
  const epics: EpicId[] = [];
  for (const { epicId } of tasks) if (isWorking(await readWorker(orch, epicId))) epics.push(epicId);
  await Promise.all(epics.map((epic) => pauseWorker(orch, epic, reason)));
  return epics.length;
}
