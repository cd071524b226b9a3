import { isOrchError, systemCode, writeFailed } from '../../errors.ts';
import { parseOid } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import type { RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import { listUnheard, needsTurn, settleTaken } from '../../session/messages.ts';
import type { EpicId } from '../../types.ts';
import { formatAge, formatUsd } from '../../units.ts';
import { taskEpic } from '../names.ts';
import { noteQuestion } from '../notices.ts';
import { reviewWork } from '../review/review-work.ts';
import { writeClaimFiles } from '../steer/claim-files.ts';
import { type Reply, replyTo } from '../steer/orders.ts';
import { makeKeeper } from '../worker/keep-progress.ts';
import {
  findWorkerTranscript,
  isWorking,
  joined,
  pauseWorker,
  readWorker,
  type WorkerState,
  waitForPerson,
  waitForWorker,
} from '../worker/worker.ts';
import { chargeWorker } from '../worker/worker-money.ts';
import { slotEnvironment, takeSlot } from '../worktree/slots.ts';
import { startAfresh } from '../worktree/start-afresh.ts';
import { collectWork, openTaskWorktree, type TaskWorktree } from '../worktree/task-worktree.ts';
import { beginWorker, tellWorker, type Work } from './begin-worker.ts';
import { type AttemptResult, decideAfterWorker, needsWorker, type Refused } from './decide-next.ts';
import { type Claim, type Convoy, follow, type Job, mostAttempts, noteStep } from './job.ts';
import { keepFeedback, titleOf } from './task-texts.ts';
import { isStillAtTests, listDeletedTests, phaseOf, seeTestsFail } from './tests-first.ts';
import { reportUserChanges } from './user-state.ts';

/* One attempt at a task: an agent works, what it did is committed, merged and checked. */

/** What a person has to change about the disk. */
const fullDisk = ['ENOSPC', 'EDQUOT', 'EROFS'];

/** Makes one attempt, or continues one that was interrupted. */
export async function attempt(
  orch: Orch,
  convoy: Convoy,
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
): Promise<AttemptResult> {
  const epic = taskEpic(convoy.epic, job.task.id);
  const signal = AbortSignal.any([ports.signal, job.stop.signal]);
  const work = { orch, convoy, ports, progress, job, epic, signal };
  try {
    const worktree = await openPlace(work);
    if (job.claim !== null) return await workByClaim(work, worktree, job.claim);
    for (;;) {
      const state = await workIn(work, worktree);
      const result = 'kind' in state ? state : await takeWork(work, worktree, state);
      if (result !== 'next phase') return result;
      job.entersPhase = true;
      job.feedback = null;
      follow(job, 'opened');
    }
  } catch (error) {
    // What keeps one task from going on, such as a full disk or a setup that fails, is for a person, and stops no other.
    if (signal.aborted) return { kind: 'stopped' };
    const known = fullDisk.includes(systemCode(error) ?? '')
      ? writeFailed('nothing could be written for it', error)
      : error;
    if (!isOrchError(known) || known.code === 'INTERNAL') throw error;
    return { kind: 'held', reason: known.message };
  }
}

/** Finds the worktree of a task, or makes it. */
async function openPlace({ orch, convoy, job, epic, signal }: Work): Promise<TaskWorktree> {
  const { task, worker } = job;
  const base = parseOid(job.record.base);
  const place = { convoy: convoy.epic, task: task.id, worker, base, isNew: !job.hasBegun, signal };
  // One after the other, in the order of the plan: git locks what all worktrees share, and several at once are no faster.
  let worktree = await convoy.makeInTurn(async () => {
    job.slot = await takeSlot(orch, { epic });
    return openTaskWorktree(orch, { ...place, env: slotEnvironment(job.slot) });
  });
  if (job.isNew && job.isFresh) {
    const afresh = await startAfresh(worktree, await convoy.queue.tip());
    worktree = afresh.worktree;
    if (afresh.kept !== null)
      orch.report(`${task.id} begins anew; what was done before is on ${afresh.kept}`);
    job.feedback = null;
    const { tests, ...others } = job.record;
    job.record = others;
  }
  job.record = { ...job.record, base: worktree.base };
  job.hasBegun = true;
  return worktree;
}

/** Has a worker work there until it ends, and returns how it ended. */
async function workIn(work: Work, worktree: TaskWorktree): Promise<WorkerState | AttemptResult> {
  const { orch, convoy, ports, progress, job, epic, signal } = work;
  let state = await readWorker(orch, epic);
  // A scheduler that died may have begun an attempt whose worker it had not started yet.
  if (state.session !== null && state.session === job.record.refused) job.isNew = true;
  const isNew = job.isNew || job.wasJoined || job.entersPhase;
  const { condition } = state;
  if (!isWorking(state) && needsWorker({ isNew, condition, hasUnheard: hasUnheard(orch, epic) })) {
    const held = await beginWorker(work, worktree, state);
    if (held !== null) return held;
  }
  job.isNew = false;
  job.wasJoined = false;
  job.entersPhase = false;
  job.isFresh = false;
  let asked: string | null = null;
  const keep = makeKeeper(orch, epic, worktree.own.path);
  const onLook = async () => {
    await chargeWorker(orch, convoy, progress, ports, job, epic);
    const { questions, session } = await readWorker(orch, epic);
    if (session !== null) await keep(session);
    const [question] = questions;
    if (question !== undefined && question.id !== asked) {
      await noteQuestion(orch, convoy, job, question);
      ports.onEvent({ kind: 'said', task: job.task, text: describeQuestion(convoy, job, question.text) });
    }
    asked = question?.id ?? null;
    await settleTaken(orch, epic, await findWorkerTranscript(orch, epic, worktree.own.path), false);
  };
  const limit = job.worker.timeout ?? null;
  state = await waitForWorker(orch, epic, signal, { onLook, limit });
  if (state.condition === 'paused' && state.reason === joined) {
    const left = await waitForPerson(orch, epic, signal, { paused: state.session, onLook });
    job.wasJoined = left !== null && left.condition !== 'budget_exceeded' && !signal.aborted;
    state = left ?? state;
  }
  await chargeWorker(orch, convoy, progress, ports, job, epic);
  if (job.wasJoined) return { kind: 'told' };
  if (state.session !== null) job.record = { ...job.record, session: state.session };
  if (!isWorking(state)) await reportUserChanges(orch, convoy, ports, progress, job);
  if (isWorking(state) && signal.aborted) {
    // A signal to the scheduler ends only the scheduling; a pause, the budget or a person stops the worker too.
    const isOnlyScheduling = !job.stop.signal.aborted && !pausesWorkers(ports.signal.reason);
    if (isOnlyScheduling) return { kind: 'stopped' };
    await pauseWorker(orch, epic, job.stop.signal.aborted ? 'cancelled' : 'the convoy was paused');
    await commitWork(work, worktree);
    return { kind: 'stopped' };
  }
  await settleTaken(orch, epic, await findWorkerTranscript(orch, epic, worktree.own.path), !isWorking(state));
  if (!isWorking(state) || limit === null) return state;
  await pauseWorker(orch, epic, `It took longer than ${formatAge(limit)}`);
  await commitWork(work, worktree);
  const feedback = `It took longer than ${formatAge(limit)}, as long as worker.timeout allows.`;
  return { kind: 'sent_back', feedback: await keepFeedback(ports, progress, job.task, feedback) };
}

/** Carries out what follows from how a worker ended: what it did is merged, or it continues, or a person has to help. */
async function takeWork(
  work: Work,
  worktree: TaskWorktree,
  state: WorkerState,
): Promise<AttemptResult | 'next phase'> {
  const { orch, convoy, ports, progress, job, epic } = work;
  const { task, worker } = job;
  const [question] = state.questions;
  const next = decideAfterWorker({
    ...{ condition: state.condition, reason: state.reason, hasUnheard: hasUnheard(orch, epic) },
    question: question?.text ?? null,
    isOwnBudget: isOwnBudget(worker.budget, state),
  });
  switch (next.kind) {
    case 'merge':
      return mergeWork(work, worktree);
    case 'used_up':
      return next.isOwnBudget
        ? { kind: 'held', reason: describeUsedUp(state, worker.budget) }
        : { kind: 'unpaid', reason: describeUsedUp(state, undefined) };
    case 'sent_back':
      await commitWork(work, worktree);
      return { ...next, feedback: await keepFeedback(ports, progress, task, next.feedback) };
    case 'asks':
      if (question !== undefined) await noteQuestion(orch, convoy, job, question);
      await commitWork(work, worktree);
      return next;
    default:
      return next;
  }
}

function hasUnheard({ home }: Orch, epic: EpicId): boolean {
  return listUnheard(home, epic).some(needsTurn);
}

/** Commits and merges what was done; the gates decide. */
async function mergeWork(work: Work, worktree: TaskWorktree): Promise<AttemptResult | 'next phase'> {
  const { convoy, ports, progress, job, signal } = work;
  const { task } = job;
  await noteStep(ports, progress, job, 'finished');
  const finished = await commitWork(work, worktree);
  const sendBack = async ({ feedback, cause }: Refused): Promise<AttemptResult> => ({
    ...{ kind: 'sent_back', cause },
    feedback: await keepFeedback(ports, progress, task, feedback),
  });
  if (finished.kind === 'refused') return sendBack(finished);
  if (phaseOf(job) === 'implementation' && isStillAtTests(job)) return 'next phase';
  if (phaseOf(job) === 'tests') {
    const seen = await seeTestsFail(work, finished.commit);
    if (seen.kind === 'sent_back') return sendBack(seen);
    if (seen.kind === 'held') return seen;
    ports.onEvent({
      kind: 'said',
      task,
      text: `${task.id}: its tests fail, as they should; now it is implemented`,
    });
    return 'next phase';
  }
  const deleted = await listDeletedTests(work, finished.commit);
  if (deleted.length > 0)
    return sendBack({
      feedback: `Tests that you wrote first are gone: ${deleted.join(', ')}. Bring them back.`,
    });
  job.record = { ...job.record, commit: finished.commit };
  const review = await reviewWork(work, finished.commit);
  if (review === 'stopped') return { kind: 'stopped' };
  if (review.kind === 'missing') return { kind: 'held', reason: review.reason };
  if (review.kind === 'sent_back') return sendBack(review);
  await noteStep(ports, progress, job, 'committed');
  const { lease } = job.record;
  const merged = await convoy.queue.merge(
    { task: task.id, title: await ports.redact(titleOf(task)), ...{ lease, commit: finished.commit } },
    signal,
  );
  if (merged.kind === 'stopped') return merged;
  if (merged.kind === 'sent_back') return sendBack(merged);
  job.record = { ...job.record, merged: merged.commit };
  return { kind: 'merged', worktree };
}

/** Waits for a claimed task to be done, and replies what came of it. */
async function workByClaim(work: Work, worktree: TaskWorktree, claim: Claim): Promise<AttemptResult> {
  const { orch, convoy, ports, progress, job, signal } = work;
  const { task } = job;
  const reply = async (answer: Reply) => {
    if (claim.order !== null) await replyTo(orch, convoy.epic, claim.order, answer);
    claim.order = null;
  };
  if (job.isNew) {
    const lease = Math.max(job.record.lease, convoy.leases.get(task.id) ?? 0) + 1;
    convoy.leases.set(task.id, lease);
    job.record = { ...job.record, lease, agent: claim.by, since: job.record.since ?? ports.clock.now() };
    job.isNew = false;
    await noteStep(ports, progress, job, 'begun');
    ports.onEvent({ kind: 'begun', task, attempt: job.attempt });
  }
  const files = await writeClaimFiles(orch, work, task.id, tellWorker(work, ''));
  const ended = new Promise<{ readonly problem: string | null }>((resolve, reject) => {
    claim.end = resolve;
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const { lease } = job.record;
  const place = { worktree: worktree.own.path, branch: worktree.branch, lease, ...files };
  await reply({ task: task.id, ...place, feedback: job.feedback });
  const { problem } = await ended;
  claim.end = null;
  if (problem !== null) {
    await commitWork(work, worktree);
    job.claim = null;
    await reply({ task: task.id, givenBack: true });
    return { kind: 'sent_back', feedback: await keepFeedback(ports, progress, task, problem) };
  }
  const result = await mergeWork(work, worktree);
  if (result === 'next phase') throw new Error('a claimed task has no phases');
  if (result.kind === 'merged') await reply({ task: task.id, merged: job.record.merged });
  // What is wrong is told with the files of the next attempt, unless there is none.
  if (result.kind === 'sent_back' && job.attempt >= mostAttempts(job))
    await reply({ task: task.id, failed: result.feedback });
  return result;
}

/** Commits what the worker left uncommitted, so that nothing depends on its worktree. */
async function commitWork({ orch, convoy, job: { task } }: Work, worktree: TaskWorktree) {
  const trailers = `Orch-Convoy: ${convoy.epic}\nOrch-Task: ${task.id}\n`;
  const title = await orch.redact(titleOf(task));
  return collectWork(orch, worktree, { task: task.id, title, trailers });
}

function isOwnBudget(budget: number | undefined, { spent }: Pick<WorkerState, 'spent'>): budget is number {
  return budget !== undefined && spent >= budget;
}

/** Whose budget it was: the task's own, or what the convoy had left for it. */
function describeUsedUp({ spent }: Pick<WorkerState, 'spent'>, own: number | undefined): string {
  return own === undefined
    ? `what the convoy's budget had left for it is used up (${formatUsd(spent)} so far)`
    : `its own budget is used up (${formatUsd(spent)} of ${formatUsd(own)}); raise it in the plan, then resume the convoy`;
}

function pausesWorkers(why: unknown): boolean {
  const kind = typeof why === 'object' && why !== null && 'kind' in why ? why.kind : null;
  return kind !== 'signal' && kind !== 'taken_over';
}

function describeQuestion({ epic }: Convoy, { task }: Job, text: string): string {
  return `${task.id} asks: “${text}”  orch convoy say ${epic}/${task.id} "…"`;
}
