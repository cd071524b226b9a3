import { hasCode, messageOf } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { type Delivery, openDelivery } from '../notify/deliver.ts';
import { notify } from '../notify/notify.ts';
import type { Orch } from '../orch.ts';
import { listRuns } from '../plan/run/known-runs.ts';
import type { RunFileEvent, RunFileOutcome } from '../plan/run/run-plan.ts';
import type { RunProgress } from '../plan/task/do-task.ts';
import { readView } from '../record/view.ts';
import type { OpenQuestion } from '../session/epic-status.ts';
import { watchBudget } from '../supervise/watch-agent.ts';
import type { EpicId } from '../types.ts';
import { count } from '../units.ts';
import { taskEpic } from './names.ts';
import type { Convoy, Job } from './work/job.ts';
import { readWorker } from './worker/worker.ts';

/*
 * What a convoy tells those who are not watching it. What is about a task is queued before it is recorded: a scheduler that
 * dies in between notes it again, with the same id.
 */

/** A worker has a question. */
export async function noteQuestion(
  orch: Orch,
  { epic }: Convoy,
  { task }: Job,
  { id, text }: OpenQuestion,
): Promise<void> {
  const { state } = await readView(orch, taskEpic(epic, task.id));
  // Since when it is open, so that an old one is not told again.
  const at = lookUp(state.questions, id)?.stamp[0] ?? orch.clock.now();
  await notify(orch, {
    ...{ kind: 'question', at, epic, task: task.id, unique: [id] },
    text: `${task.id} asks: ${text}`,
    next: `orch convoy say ${epic}/${task.id} "…"`,
  });
}

/** A task has used up its attempts. */
export async function noteFailed(
  orch: Orch,
  { run, target: { epic } }: RunProgress,
  { task, attempt, record: { lease } }: Job,
  why: string,
): Promise<void> {
  await notify(orch, {
    ...{ kind: 'task_failed', at: orch.clock.now(), epic, task: task.id, unique: [run.id, attempt, lease] },
    text: `${task.id} failed ${why}`,
    next: `orch convoy why ${epic}/${task.id}`,
  });
}

/** A task waits for a person, or for money. What a person paused needs no notice. */
export async function noteHeld(
  orch: Orch,
  { epic, unpaid }: Convoy,
  { target }: RunProgress,
  { task, record }: Job,
  reason: string,
): Promise<void> {
  const worker = await readWorker(orch, taskEpic(epic, task.id));
  if (worker.condition === 'paused' && reason === worker.reason) return;
  const isMoney = unpaid.has(task.id) || worker.condition === 'budget_exceeded';
  await notify(orch, {
    ...{ kind: isMoney ? 'budget' : 'task_failed', at: orch.clock.now(), epic, task: task.id },
    unique: ['held', target.session, record.lease],
    text: `${task.id} waits: ${reason}`,
    next: isMoney ? `orch convoy budget +10 -e ${epic}` : `orch convoy why ${epic}/${task.id}`,
  });
}

/** Tells of a whole convoy: its budget, its commands that fail, and how it ended. */
export type ConvoyNotices = {
  onEvent(event: RunFileEvent): void;
  /** It has ended; returns how, as it got it. */
  end(outcome: Promise<RunFileOutcome>): Promise<RunFileOutcome>;
};

/** Opens the delivery of notices, which lasts until the convoy has ended. */
export async function openNotices(
  orch: Orch,
  onEvent: (event: RunFileEvent) => void,
): Promise<ConvoyNotices> {
  const delivery = await openDelivery(orch);
  let started: { readonly epic: EpicId; readonly run: string } | null = null;
  let noteBudget: ReturnType<typeof watchBudget> | null = null;
  return {
    onEvent: (event) => {
      if (event.kind === 'start') {
        started = { epic: event.start.epicId, run: event.start.id };
        noteBudget = watchBudget(orch, delivery, `orch convoy budget +10 -e ${started.epic}`);
      }
      if (event.kind === 'look') noteBudget?.(event);
      if (started !== null) noteCommand(orch, delivery, started, event);
      onEvent(event);
    },
    end: async (outcome) => {
      try {
        const ended = await outcome;
        if (ended.kind === 'ended' && ended.result !== null) await noteEnd(orch, delivery, ended);
        return ended;
      } catch (error) {
        if (started !== null && !hasCode(error, 'SESSION_ACTIVE'))
          delivery.note({
            ...{ kind: 'convoy_failed', at: orch.clock.now(), epic: started.epic },
            unique: [started.run, orch.clock.now()],
            text: `${started.epic} had to stop: ${messageOf(error)}`,
            next: `orch convoy resume ${started.epic}`,
          });
        throw error;
      } finally {
        await delivery.close();
      }
    },
  };
}

/** What agents do is noted where it is decided; this is about the other tasks. */
function noteCommand(
  { clock }: Orch,
  { note }: Delivery,
  { epic, run }: { readonly epic: EpicId; readonly run: string },
  event: RunFileEvent,
): void {
  if (event.kind !== 'ended' || event.status !== 'failed' || event.task.convoy.prompt !== null) return;
  note({
    ...{ kind: 'task_failed', at: clock.now(), epic, task: event.task.id },
    unique: [run, event.attempts, clock.now()],
    text: `${event.task.id} failed: ${event.reason ?? 'it failed'}`,
    next: `orch convoy why ${epic}/${event.task.id}`,
  });
}

async function noteEnd(
  orch: Orch,
  { note }: Delivery,
  { run, result }: Extract<RunFileOutcome, { kind: 'ended' }>,
): Promise<void> {
  const { epicId: epic, id, status, tasks } = run;
  if (status !== 'succeeded' && status !== 'failed' && status !== 'blocked') return;
  const { state } = await readView(orch, epic);
  const head = listRuns(state).find((listed) => listed.id === id)?.head;
  const at = head?.endedAt ?? orch.clock.now();
  const done = count(tasks.filter((task) => task.status === 'succeeded').length, 'task');
  const isDone = status === 'succeeded';
  note({
    ...{ kind: isDone ? 'convoy_done' : 'convoy_failed', at, epic, unique: [id, at] },
    text: isDone ? `${epic} is done: ${done} merged.` : `${epic} failed: ${result?.reason ?? status}`,
    next: isDone ? `orch convoy land ${epic}` : `orch convoy show ${epic}`,
  });
}
