import { type Clock, drawFraction, type Random, sleepUnlessAborted } from '../../system/clock.ts';
import type { Environment } from '../../system/process/spawn.ts';
import type { Millis } from '../../types.ts';
import type { Task } from '../plan.ts';
import { type AttemptContext, askCheck, attemptAction } from './attempt.ts';
import { decideNext, judgeAttempt } from './outcome.ts';
import type { EffectFact, PlannedEffect } from './plan-effects.ts';

export type PerformPorts = {
  readonly clock: Clock;
  readonly random: Random;
  readonly cwd: string;
  /** For commands and a request's variables; the task's own entries are added. */
  readonly env: Environment;
  /** Stops the current attempt, and starts no other. */
  readonly signal: AbortSignal;
  /** Receives the output of commands, and a line for each request. */
  readonly onOutput: (text: string) => void;
  /** Receives sentences for people: what is retried, and what was already done. */
  readonly onNote: (text: string) => void;
  /** Records how far an effect is; on disk when this returns. */
  readonly record: (fact: EffectFact) => Promise<void>;
};

export type EffectsOutcome =
  | { readonly kind: 'done' }
  /** It may work another time: exit 75. `retryAt` is when the other side wants to be asked again. */
  | {
      readonly kind: 'resume_needed';
      readonly effect: string;
      readonly reason: string;
      readonly retryAt: Millis | null;
    }
  /** It will not work as it is: exit 3. */
  | { readonly kind: 'blocked'; readonly effect: string; readonly reason: string }
  /** Stopped by the signal. An attempt under way may have been done; its check is asked the next time. */
  | { readonly kind: 'stopped'; readonly effect: string };

type EffectTask = Pick<Task, 'env' | 'timeout' | 'effectRetry'>;

/**
 * Performs a task's open effects in order. Each is acknowledged durably before the next is tried, and the first that
 * can't be done ends it.
 */
export async function performEffects(
  ports: PerformPorts,
  task: EffectTask,
  planned: readonly PlannedEffect[],
): Promise<EffectsOutcome> {
  for (const one of planned) {
    if (one.record.status === 'acknowledged') continue;
    const outcome = await performEffect(ports, task, one);
    const record = markTried(one.record);
    if (outcome.kind === 'done') {
      await ports.record({ ...record, status: 'acknowledged', reason: null });
      continue;
    }
    if (outcome.kind !== 'stopped') {
      const status = outcome.kind === 'blocked' ? 'blocked' : 'planned';
      await ports.record({ ...record, status, reason: outcome.reason });
    }
    return outcome;
  }
  return { kind: 'done' };
}

async function performEffect(
  ports: PerformPorts,
  { env, timeout, effectRetry }: EffectTask,
  { effect, record, blocked }: PlannedEffect,
): Promise<EffectsOutcome> {
  const { id, action, check } = effect;
  const { clock, random, signal, onNote } = ports;
  const context: AttemptContext = { ...ports, env: { ...ports.env, ...env }, timeout };
  if (blocked !== null) return { kind: 'blocked', effect: id, reason: blocked };
  let mayBeDone = record.tried !== 'no';
  // After a crash, this record says that the effect may have been sent.
  if (!mayBeDone) await ports.record(markTried(record));
  for (let attempts = 1; ; attempts++) {
    const answer = mayBeDone && check !== null ? await askCheck(check, action, record.key, context) : null;
    if (answer?.kind === 'done') {
      onNote(`${id}: already done`);
      return { kind: 'done' };
    }
    if (answer?.kind === 'stopped' || signal.aborted) return { kind: 'stopped', effect: id };
    if (answer?.kind === 'unknown') {
      // Sending it without an answer could do it twice.
      const reason = `its check gave no answer: ${answer.problem}`;
      if (!answer.isTransient) return { kind: 'blocked', effect: id, reason };
      return { kind: 'resume_needed', effect: id, reason, retryAt: null };
    }
    const result = await attemptAction(action, record.key, context);
    if (result.how === 'stopped') return { kind: 'stopped', effect: id };
    const verdict = judgeAttempt(result, clock.now());
    if (verdict.kind === 'done') return verdict;
    ({ mayBeDone } = verdict);
    const next = decideNext(verdict, attempts, effectRetry, clock.now(), drawFraction(random));
    if (next.kind !== 'retry') {
      if (
        mayBeDone &&
        check !== null &&
        (await askCheck(check, action, record.key, context)).kind === 'done'
      ) {
        onNote(`${id}: ${next.reason}; its check says it was done`);
        return { kind: 'done' };
      }
      return { ...next, effect: id };
    }
    onNote(`${id}: ${next.reason}; trying again in ${formatPause(next.after)}`);
    await sleepUnlessAborted(next.after, signal);
    if (signal.aborted) return { kind: 'stopped', effect: id };
  }
}

function formatPause(pause: Millis): string {
  return pause < 1_000 ? `${pause} ms` : `${Math.round(pause / 100) / 10} s`;
}

/** The record of an effect that may have been tried, without its payload, which was recorded when it was planned. */
function markTried({ content: _, tried = 'here', ...record }: EffectFact): EffectFact {
  return { ...record, tried: tried === 'no' ? 'here' : tried };
}
