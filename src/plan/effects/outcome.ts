import { parseRetryAfter } from '../../system/http.ts';
import { temporaryFailure } from '../../system/process/capture.ts';
import type { Millis } from '../../types.ts';
import { formatInstant } from '../../units.ts';
import type { Retry } from '../plan.ts';

/** What was observed of one attempt. */
export type AttemptResult =
  | { readonly how: 'done' }
  /** A server's answer; `retryAfter` is the header, `text` the beginning of the body. */
  | {
      readonly how: 'answered';
      readonly status: number;
      readonly retryAfter: string | null;
      readonly text: string;
    }
  /** No answer, or an unreadable one. If the request may have arrived, the effect may be done. */
  | { readonly how: 'unanswered'; readonly mayHaveArrived: boolean; readonly problem: string }
  /** It can't be sent or started, now or the next time. */
  | { readonly how: 'impossible'; readonly problem: string }
  | { readonly how: 'exited'; readonly status: number }
  | { readonly how: 'cut_short'; readonly problem: string }
  /** A function threw an error. */
  | { readonly how: 'threw'; readonly problem: string; readonly isTransient: boolean };

export type Verdict =
  | { readonly kind: 'done' }
  /** Worth another attempt; `mayBeDone` if this one may have got through. */
  | {
      readonly kind: 'transient';
      readonly reason: string;
      readonly mayBeDone: boolean;
      readonly retryAt: Millis | null;
    }
  | { readonly kind: 'permanent'; readonly reason: string; readonly mayBeDone: boolean };

/** Judges whether another attempt is worth it. What is not known to be transient is permanent. */
export function judgeAttempt(attempt: AttemptResult, now: Millis): Verdict {
  switch (attempt.how) {
    case 'done':
      return { kind: 'done' };
    case 'answered':
      return judgeAnswer(attempt, now);
    case 'unanswered':
      return transient(attempt.problem, attempt.mayHaveArrived);
    case 'impossible':
      return permanent(attempt.problem, false);
    case 'exited':
      if (attempt.status === 0) return { kind: 'done' };
      if (attempt.status === temporaryFailure) return transient(`exited ${temporaryFailure}`, false);
      return permanent(`exited ${attempt.status}`, false);
    case 'cut_short':
      return permanent(attempt.problem, true);
    case 'threw':
      return attempt.isTransient ? transient(attempt.problem, true) : permanent(attempt.problem, false);
  }
}

function judgeAnswer(
  { status, retryAfter, text }: Extract<AttemptResult, { how: 'answered' }>,
  now: Millis,
): Verdict {
  const answer = `answered ${status}${text === '' ? '' : `: ${text}`}`;
  if (status >= 200 && status < 300) return { kind: 'done' };
  if (status === 429) return transient(answer, false, parseRetryAfter(retryAfter, now));
  if (status === 408 || status >= 500) return transient(answer, true, parseRetryAfter(retryAfter, now));
  // The conflict may be with an earlier attempt of ours.
  if (status === 409 || status === 412) return permanent(`conflict: ${answer}`, true);
  if (status >= 300 && status < 400) return permanent(`${answer}; redirects are not followed`, false);
  return permanent(answer, false);
}

function transient(reason: string, mayBeDone: boolean, retryAt: Millis | null = null): Verdict {
  return { kind: 'transient', reason, mayBeDone, retryAt };
}

function permanent(reason: string, mayBeDone: boolean): Verdict {
  return { kind: 'permanent', reason, mayBeDone };
}

/** What to do after a failed attempt. */
export type NextStep =
  | { readonly kind: 'retry'; readonly after: Millis; readonly reason: string }
  | { readonly kind: 'resume_needed'; readonly reason: string; readonly retryAt: Millis | null }
  | { readonly kind: 'blocked'; readonly reason: string };

/** No pause is longer: a longer wait is left to a later resume. */
export const longestPause: Millis = 2 * 60_000;

/**
 * Computes the pause after so many attempts. The longest pause doubles each time, and each pause is between half of it
 * and all of it, so that attempts that failed together do not retry together.
 */
export function pauseAfter(attempts: number, { backoff }: Retry, fraction: number): Millis {
  return Math.round(Math.min(backoff * 2 ** (attempts - 1), longestPause) * (0.5 + fraction / 2));
}

/** Decides between another attempt and giving up. */
export function decideNext(
  verdict: Exclude<Verdict, { kind: 'done' }>,
  attempts: number,
  retry: Retry,
  now: Millis,
  fraction: number,
): NextStep {
  const { reason } = verdict;
  if (verdict.kind === 'permanent') return { kind: 'blocked', reason };
  const { retryAt } = verdict;
  if (attempts >= retry.attempts)
    return {
      kind: 'resume_needed',
      reason: attempts === 1 ? reason : `${reason} (${attempts} attempts)`,
      retryAt,
    };
  if (retryAt !== null && retryAt - now > longestPause)
    return { kind: 'resume_needed', reason: `${reason}; not before ${formatInstant(retryAt)}`, retryAt };
  const pause = pauseAfter(attempts, retry, fraction);
  return { kind: 'retry', after: Math.max(pause, (retryAt ?? now) - now), reason };
}
