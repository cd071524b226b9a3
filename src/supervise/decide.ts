import type { ProviderFailure, ProviderLimit } from '../agents/provider-limit.ts';
import type { Stop, Verdict } from '../checkpoint/policy.ts';
import type { StopRequest } from '../journal/live.ts';
import type { Exit } from '../system/process/command.ts';
import type { CaughtSignal } from '../system/process/signals.ts';
import type { Millis } from '../types.ts';
import type { WitnessVerdict } from '../witness/witness.ts';
import type { TimedExit } from './wait.ts';

/** How a command that stopped at a provider's limit continues. */
export type Restart = { readonly at: Millis; readonly argv: readonly string[] };

/** Why supervision of a session ends. */
export type StopReason =
  /** `failure`: its provider refused, and orch does not wait for it. */
  | { readonly kind: 'exit'; readonly exit: Exit; readonly failure?: ProviderFailure }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals }
  /** `saved`: the number of the checkpoint that was saved before anything was stopped. */
  | { readonly kind: 'budget'; readonly stop: Stop; readonly saved: number | null }
  | { readonly kind: 'request'; readonly request: StopRequest }
  | { readonly kind: 'taken_over' }
  /** The witness ended it, because its agent is in trouble. */
  | WitnessVerdict
  /** Nothing could be read or saved any more, so no budget could be kept either. */
  | { readonly kind: 'supervision_failed'; readonly problem: string };

/** What a look at the session found. */
export type Findings = {
  /** Has another process ended the session? */
  readonly isTakenOver: boolean;
  readonly overBudget: Stop | null;
  /** The number of the newest checkpoint. */
  readonly saved: number | null;
  /** Why the look failed, and for how long looks have failed in a row; null where it succeeded. */
  readonly failure: { readonly problem: string; readonly lasts: Millis } | null;
};

/** Everything the loop knows when it decides. */
export type Situation = {
  readonly findings: Findings;
  readonly caught: CaughtSignal | null;
  readonly startedAt: Millis | null;
  readonly exit: TimedExit | null;
  /** How the work can continue after its exit, if that was only a provider's limit. */
  readonly restart: Restart | null;
  readonly request: StopRequest | null;
  readonly verdict: WitnessVerdict | null;
  /** The restart that the loop waits for. */
  readonly waitingFor: Restart | null;
  readonly now: Millis;
  /** Does Ctrl+C reach the command by itself, because it has the terminal? */
  readonly hasTerminal: boolean;
  readonly stopGrace: Millis;
};

/** What the loop does next. */
export type Step =
  | { readonly kind: 'continue' }
  | { readonly kind: 'wait'; readonly restart: Restart }
  | { readonly kind: 'restart'; readonly argv: readonly string[] }
  | { readonly kind: 'stop'; readonly why: StopReason };

/** How long looks may fail in a row: a passing cause, such as another git's lock, passes sooner. */
const failurePatience: Millis = 2_000;

/** Decides what to do after a look. */
export function decideStep(situation: Situation): Step {
  const { findings, exit, restart, request, verdict, waitingFor, now } = situation;
  const stop = (why: StopReason): Step => ({ kind: 'stop', why });
  const obstacle = findObstacle(findings);
  if (obstacle) return stop(obstacle);
  const signal = findSignal(situation);
  if (signal) return stop({ kind: 'signal', signal });
  if (exit && restart) return { kind: 'wait', restart };
  if (exit) return stop({ kind: 'exit', exit: { status: exit.status, signal: exit.signal } });
  if (request) return stop({ kind: 'request', request });
  if (verdict) return stop(verdict);
  if (waitingFor && now >= waitingFor.at) return { kind: 'restart', argv: waitingFor.argv };
  return { kind: 'continue' };
}

/** Decides why it ended, after the last look: work that spent too much on its way out ended over budget. */
export function decideFinalReason(why: StopReason, findings: Findings): StopReason {
  if (why.kind === 'budget' || why.kind === 'supervision_failed') return why;
  return findObstacle(findings) ?? why;
}

/** Decides which checkpoint a look makes: by the policy (that includes the budget), or because the interval is over. */
export function decideSave({ checkpoint, stop }: Verdict, isIntervalOver: boolean) {
  if (isIntervalOver && checkpoint === null) return 'interval';
  return checkpoint !== null || stop !== null ? 'policy' : null;
}

function findObstacle({ isTakenOver, overBudget, saved, failure }: Findings): StopReason | null {
  if (isTakenOver) return { kind: 'taken_over' };
  if (overBudget) return { kind: 'budget', stop: overBudget, saved };
  if (failure === null || failure.lasts < failurePatience) return null;
  return { kind: 'supervision_failed', problem: failure.problem };
}

/**
 * The signal the session has to end for. A command with the terminal receives Ctrl+C itself, and may handle it and
 * keep running: then it ends the session only if the command ended because of it, or had not started yet.
 */
function findSignal({ caught, startedAt, exit, hasTerminal, stopGrace }: Situation): NodeJS.Signals | null {
  if (caught === null) return null;
  const isCommands =
    hasTerminal && caught.signal === 'SIGINT' && startedAt !== null && caught.at >= startedAt;
  return !isCommands || (exit && isEndBy(exit, caught.at, stopGrace)) ? caught.signal : null;
}

/** Did a command end because of a Ctrl+C, rather than continue and end later by itself? */
function isEndBy({ status, signal, at }: TimedExit, caughtAt: Millis, grace: Millis): boolean {
  return signal === 'SIGINT' || status === 130 || at - caughtAt <= grace;
}

/** Providers' clocks differ from ours, and they take a moment to reset. */
const margin: Millis = 1_000;
const firstPause: Millis = 60_000;
const longestPause: Millis = 30 * 60_000;
/** The longest limits reset weekly; a time further away is wrong. */
const longestLimit: Millis = 8 * 24 * 3_600_000;
/** How often orch tries again while the agent makes no progress. */
export const mostWaits = 8;

/** Decides until when to wait at a provider's limit: its reset, or longer each time; null after too many attempts. */
export function decideWait({ resetsAt }: ProviderLimit, now: Millis, waits: number): Millis | null {
  if (waits >= mostWaits) return null;
  const isPlausible = resetsAt !== null && Math.abs(resetsAt - now) <= longestLimit;
  if (isPlausible && resetsAt > now) return resetsAt + margin;
  // It has reset already. If the agent was refused again after that, the given time is not to be trusted.
  if (isPlausible && waits === 0) return now + margin;
  return now + Math.min(firstPause * 2 ** waits, longestPause);
}
