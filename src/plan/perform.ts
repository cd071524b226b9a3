import { type Clock, drawFraction, type Random, sleepUnlessAborted } from '../system/clock.ts';
import type { Environment } from '../system/spawn.ts';
import type { Millis } from '../types.ts';
import { attempt, type Surroundings } from './attempt.ts';
import { askCheck } from './check.ts';
import type { EffectFact, PlannedEffect } from './effects.ts';
import { decideNext, judge } from './outcome.ts';
import type { Task } from './types.ts';

export type PerformPorts = {
  readonly clock: Clock;
  readonly random: Random;
  readonly cwd: string;
  /** What commands get, and where a request's variables come from; the task's own come on top. */
  readonly env: Environment;
  /** Ends the attempt that runs, and begins no other. */
  readonly signal: AbortSignal;
  /** Takes what commands print, and a line for each request. */
  readonly onOutput: (text: string) => void;
  /** Takes a sentence for people: what is tried again, and what was found done. */
  readonly say: (line: string) => void;
  /** Records how far an effect is; it is on disk when this returns. */
  readonly record: (fact: EffectFact) => Promise<void>;
};

export type EffectsOutcome =
  | { readonly kind: 'done' }
  /** Another time it may work: exit 75. `retryAt` is when the other side wants to be asked again. */
  | {
      readonly kind: 'resume_needed';
      readonly effect: string;
      readonly reason: string;
      readonly retryAt: Millis | null;
    }
  /** It will not work as it is: exit 3. */
  | { readonly kind: 'blocked'; readonly effect: string; readonly reason: string }
  /** The signal came; what was in the air may have been done, and is asked for the next time. */
  | { readonly kind: 'stopped'; readonly effect: string };

/**
 * Does a task's effects in their order, those that are missing. Each is acknowledged durably before the next is tried,
 * and the first that cannot be done ends it.
 */
export async function performEffects(
  ports: PerformPorts,
  task: Pick<Task, 'env' | 'timeout' | 'effectRetry'>,
  planned: readonly PlannedEffect[],
): Promise<EffectsOutcome> {
  for (const one of planned) {
    if (one.record.status === 'acknowledged') continue;
    const outcome = await performOne(ports, task, one);
    const record = sayTried(one.record);
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

async function performOne(
  ports: PerformPorts,
  { env, timeout, effectRetry }: Pick<Task, 'env' | 'timeout' | 'effectRetry'>,
  { effect, record, hold }: PlannedEffect,
): Promise<EffectsOutcome> {
  const { id, deed, check } = effect;
  const { clock, random, signal, say } = ports;
  const at: Surroundings = { ...ports, env: { ...ports.env, ...env }, timeout };
  if (hold !== null) return { kind: 'blocked', effect: id, reason: hold };
  let mayBeDone = record.tried !== 'no';
  // Whoever finds it planned knows from this that it may have been sent.
  if (!mayBeDone) await ports.record(sayTried(record));
  for (let attempts = 1; ; attempts++) {
    const asked = mayBeDone && check !== null ? await askCheck(check, deed, record.key, at) : null;
    if (asked?.kind === 'done') {
      say(`${id}: done already`);
      return { kind: 'done' };
    }
    if (asked?.kind === 'stopped' || signal.aborted) return { kind: 'stopped', effect: id };
    if (asked?.kind === 'unknown') {
      // Sent without knowing, it might be done twice.
      const reason = `its check gave no answer: ${asked.problem}`;
      if (!asked.isTransient) return { kind: 'blocked', effect: id, reason };
      return { kind: 'resume_needed', effect: id, reason, retryAt: null };
    }
    const attempted = await attempt(deed, record.key, at);
    if (attempted.how === 'stopped') return { kind: 'stopped', effect: id };
    const verdict = judge(attempted, clock.now());
    if (verdict.kind === 'done') return verdict;
    ({ mayBeDone } = verdict);
    const next = decideNext(verdict, attempts, effectRetry, clock.now(), drawFraction(random));
    if (next.kind !== 'again') {
      if (mayBeDone && check !== null && (await askCheck(check, deed, record.key, at)).kind === 'done') {
        say(`${id}: ${next.reason}; its check says that it was done`);
        return { kind: 'done' };
      }
      return { ...next, effect: id };
    }
    say(`${id}: ${next.reason}; again in ${formatPause(next.after)}`);
    await sleepUnlessAborted(next.after, signal);
    if (signal.aborted) return { kind: 'stopped', effect: id };
  }
}

function formatPause(pause: Millis): string {
  return pause < 1_000 ? `${pause} ms` : `${Math.round(pause / 100) / 10} s`;
}

/** That an effect may have been tried; what it sends was said when it was planned. */
function sayTried({ content: _, tried = 'here', ...record }: EffectFact): EffectFact {
  return { ...record, tried: tried === 'no' ? 'here' : tried };
}
