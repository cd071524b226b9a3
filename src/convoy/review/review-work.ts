import { parseOid } from '../../ids.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import type { Micros, Oid } from '../../types.ts';
import { count } from '../../units.ts';
import { taskEpic } from '../names.ts';
import type { Work } from '../work/begin-worker.ts';
import { readPrompt } from '../work/task-texts.ts';
import { readWorker } from '../worker/worker.ts';
import { chargeEpic, waitForMoney } from '../worker/worker-money.ts';
import { deferredFacts, listOpenFindings } from './deferred.ts';
import { decideReview, type ReviewDecision } from './findings.ts';
import { runReviews } from './run-review.ts';

/** Has the plan's reviewers look at what a worker did, before it is merged. Without any, it is accepted. */
export async function reviewWork(
  { orch, convoy, ports, progress, job, epic, signal }: Work,
  commit: Oid,
): Promise<ReviewDecision | 'stopped'> {
  const { by = [], required = 1 } = convoy.review;
  const { task } = job;
  const isReviewed = job.record.reviewed === commit;
  if (by.length === 0 || isReviewed) return { kind: 'accepted', grave: [], deferred: [] };
  const names = by.map((_, index) => taskEpic(convoy.epic, `${task.id}.review-${index + 1}`));
  const epicOf = (place: number) => names[place - 1] ?? taskEpic(convoy.epic, `${task.id}.review`);
  let isCharging = false;
  const charge = async () => {
    // Each of the reviewers looks; one at a time adds up what they cost.
    if (isCharging) return;
    isCharging = true;
    let sum: Micros = 0;
    try {
      for (const each of names) sum += await chargeEpic(orch, convoy, progress, ports, each);
    } finally {
      isCharging = false;
    }
    const before = job.record.reviewMicros ?? 0;
    job.record = { ...job.record, reviewMicros: sum, costMicros: job.record.costMicros + sum - before };
    const own = convoy.active.get(task.id);
    if (own && own.allowance !== null) own.allowance = Math.max(0, own.allowance - (sum - before));
  };
  // A task whose worker has ended under an earlier scheduler, or that a person has done, was granted nothing yet.
  if (convoy.active.get(task.id)?.allowance === null) {
    const money = await waitForMoney(orch, convoy, { ...ports, signal }, job, await readWorker(orch, epic));
    if (money === null) return 'stopped';
    if (money.kind === 'held' && money.isConvoys) convoy.unpaid.add(task.id);
    if (money.kind === 'held') return { kind: 'missing', reason: money.reason };
  }
  const left = convoy.active.get(task.id)?.allowance ?? null;
  const { state } = await readView(orch, convoy.epic);
  ports.onEvent({ kind: 'said', task, text: `${task.id} is reviewed by ${count(by.length, 'reviewer')}` });
  const reviews = await runReviews(
    orch,
    {
      ...{ convoy: convoy.epic, name: task.id, epicOf, by, task: readPrompt(orch, task) },
      ...{ from: parseOid(job.record.base), to: commit, open: listOpenFindings(state, task.id) },
      allowance: left === null ? null : Math.floor(left / by.length),
      env: { ...task.env, ...convoy.trace.workerEnv(task.id, job.attempt) },
      onLook: charge,
    },
    signal,
  );
  await charge();
  if (reviews === null) return 'stopped';
  const decision = decideReview(reviews, Math.min(required, by.length));
  if (decision.kind === 'missing') return decision;
  const facts = deferredFacts((await readView(orch, convoy.epic)).state, task.id, decision.deferred);
  if (facts.length > 0) await record(ports, progress.target, facts);
  if (decision.kind === 'accepted') job.record = { ...job.record, reviewed: commit };
  return decision;
}
