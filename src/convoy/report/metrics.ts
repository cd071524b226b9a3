import { toMicros, toUsd } from '../../units.ts';
import type { ConvoyStatus } from '../show-convoy.ts';
import type { ConvoyReport } from './make-report.ts';
import { firstAttempts } from './report-document.ts';

/* Convoys in numbers: each alone, one against another, and which way they go. */

export type ConvoyMetrics = {
  readonly name: string;
  readonly epicId: string;
  readonly status: ConvoyStatus;
  readonly startedAt: string;
  readonly tasks: number;
  readonly done: number;
  readonly failed: number;
  readonly costUsd: number;
  /** Null as long as none is done. */
  readonly costPerDoneUsd: number | null;
  /** Of the tasks that agents have ended, how many were accepted at the first attempt. */
  readonly firstAttempts: { readonly accepted: number; readonly of: number };
  /** From a task's first worker to its merge. */
  readonly medianSeconds: number | null;
  /** Answers, retries and cancellations by people, and steps of the witness. */
  readonly interventions: number;
};

/** Puts a convoy into numbers. */
export function measureConvoy({
  convoy,
  counts,
  money,
  tasks,
  questions,
  witness,
}: ConvoyReport): ConvoyMetrics {
  const done = tasks.filter(({ status }) => status === 'done');
  const answered = questions.filter(({ answer }) => answer !== null);
  const retried = tasks.filter(({ wasRetried }) => wasRetried);
  return {
    ...{ name: convoy.name, epicId: convoy.epicId, status: convoy.status, startedAt: convoy.startedAt },
    ...{ tasks: tasks.length, done: done.length, failed: counts.failed ?? 0, costUsd: money.spentUsd },
    costPerDoneUsd: perDone(money.spentUsd, done.length),
    firstAttempts: firstAttempts(tasks),
    medianSeconds: medianOf(done.flatMap(({ time }) => time?.whole ?? [])),
    interventions: answered.length + retried.length + (counts.cancelled ?? 0) + witness.length,
  };
}

/** Several convoys as one: sums, and what follows from them. */
export type PooledMetrics = Pick<
  ConvoyMetrics,
  | 'tasks'
  | 'done'
  | 'failed'
  | 'costUsd'
  | 'costPerDoneUsd'
  | 'firstAttempts'
  | 'medianSeconds'
  | 'interventions'
> & { readonly convoys: number };

export type Trend = { readonly now: PooledMetrics; readonly before: PooledMetrics };

/** How many convoys make one side of a trend. */
const trendLength = 5;

/** Compares the newest convoys that have ended with those before; null if there are none before. Newest come first. */
export function findTrend(convoys: readonly ConvoyMetrics[]): Trend | null {
  const ended = convoys.filter(({ status }) => status !== 'running' && status !== 'paused');
  const [now, before] = [ended.slice(0, trendLength), ended.slice(trendLength, 2 * trendLength)];
  return before.length === 0 ? null : { now: pool(now), before: pool(before) };
}

function pool(convoys: readonly ConvoyMetrics[]): PooledMetrics {
  const sum = (read: (each: ConvoyMetrics) => number) =>
    convoys.reduce((total, each) => total + read(each), 0);
  const costUsd = toUsd(sum((each) => toMicros(each.costUsd)));
  const done = sum((each) => each.done);
  return {
    ...{
      convoys: convoys.length,
      tasks: sum((each) => each.tasks),
      done,
      failed: sum((each) => each.failed),
    },
    ...{ costUsd, costPerDoneUsd: perDone(costUsd, done) },
    firstAttempts: {
      accepted: sum((each) => each.firstAttempts.accepted),
      of: sum((each) => each.firstAttempts.of),
    },
    medianSeconds: medianOf(convoys.flatMap(({ medianSeconds }) => medianSeconds ?? [])),
    interventions: sum((each) => each.interventions),
  };
}

function perDone(costUsd: number, done: number): number | null {
  return done === 0 ? null : toUsd(Math.round(toMicros(costUsd) / done));
}

export function medianOf(numbers: readonly number[]): number | null {
  const sorted = [...numbers].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
