import type { Millis } from '../types.ts';
import { formatInstant } from '../units.ts';
import type { Retry } from './types.ts';

/** What came of one attempt, as it was seen. */
export type Attempt =
  | { readonly how: 'done' }
  /** A server's answer; `retryAfter` is its header, `text` the beginning of what it said. */
  | {
      readonly how: 'answered';
      readonly status: number;
      readonly retryAfter: string | null;
      readonly text: string;
    }
  /** No answer, or none that could be read; where the request may have arrived, so may its effect. */
  | { readonly how: 'unanswered'; readonly mayHaveArrived: boolean; readonly problem: string }
  /** It could not be sent or started at all, and would not be the next time. */
  | { readonly how: 'impossible'; readonly problem: string }
  | { readonly how: 'exited'; readonly status: number }
  | { readonly how: 'cut_short'; readonly problem: string }
  /** A function's own words, and whether another attempt may help. */
  | { readonly how: 'threw'; readonly problem: string; readonly isTransient: boolean };

export type Verdict =
  | { readonly kind: 'done' }
  /** Worth another attempt; `mayBeDone` where nobody can tell whether this one got through. */
  | {
      readonly kind: 'transient';
      readonly reason: string;
      readonly mayBeDone: boolean;
      readonly retryAt: Millis | null;
    }
  | { readonly kind: 'permanent'; readonly reason: string; readonly mayBeDone: boolean };

/** The status by which a command says that it should be tried again (EX_TEMPFAIL). */
const temporaryFailure = 75;

/** Is another attempt worth it? What is not known to be transient is permanent. */
export function judge(attempt: Attempt, now: Millis): Verdict {
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
  { status, retryAfter, text }: Extract<Attempt, { how: 'answered' }>,
  now: Millis,
): Verdict {
  const said = `answered ${status}${text === '' ? '' : `: ${text}`}`;
  if (status >= 200 && status < 300) return { kind: 'done' };
  if (status === 429) return transient(said, false, parseRetryAfter(retryAfter, now));
  if (status === 408 || status >= 500) return transient(said, true, parseRetryAfter(retryAfter, now));
  // Somebody was there before: another attempt of ours, perhaps.
  if (status === 409 || status === 412) return permanent(`conflict: ${said}`, true);
  if (status >= 300 && status < 400) return permanent(`${said}; redirects are not followed`, false);
  return permanent(said, false);
}

function transient(reason: string, mayBeDone: boolean, retryAt: Millis | null = null): Verdict {
  return { kind: 'transient', reason, mayBeDone, retryAt };
}

function permanent(reason: string, mayBeDone: boolean): Verdict {
  return { kind: 'permanent', reason, mayBeDone };
}

/** When a server wants to be asked again: in so many seconds, or at a date; null where it did not say. */
export function parseRetryAfter(header: string | null, now: Millis): Millis | null {
  if (header === null) return null;
  if (/^\s*\d{1,9}\s*$/.test(header)) return now + Number(header) * 1_000;
  const at = /[a-z]/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(at, now);
}

/** What to do after an attempt that failed. */
export type Next =
  | { readonly kind: 'again'; readonly after: Millis; readonly reason: string }
  | { readonly kind: 'resume_needed'; readonly reason: string; readonly retryAt: Millis | null }
  | { readonly kind: 'blocked'; readonly reason: string };

/** No pause is longer: whoever has to wait longer than this had better come back. */
export const longestPause: Millis = 2 * 60_000;

/**
 * How long to wait after so many attempts. Pauses double from one to the next, and each is somewhere between half of
 * that and all of it, so that many who failed together do not come back together.
 */
export function pauseAfter(attempts: number, { backoff }: Retry, fraction: number): Millis {
  return Math.round(Math.min(backoff * 2 ** (attempts - 1), longestPause) * (0.5 + fraction / 2));
}

/** Another attempt, or the end of them. */
export function decideNext(
  verdict: Exclude<Verdict, { kind: 'done' }>,
  attempts: number,
  retry: Retry,
  now: Millis,
  fraction: number,
): Next {
  const { reason } = verdict;
  if (verdict.kind === 'permanent') return { kind: 'blocked', reason };
  const { retryAt } = verdict;
  if (attempts >= retry.attempts)
    return { kind: 'resume_needed', reason: sayTimes(reason, attempts), retryAt };
  if (retryAt !== null && retryAt - now > longestPause) {
    return { kind: 'resume_needed', reason: `${reason}; not before ${formatInstant(retryAt)}`, retryAt };
  }
  const pause = pauseAfter(attempts, retry, fraction);
  return { kind: 'again', after: Math.max(pause, (retryAt ?? now) - now), reason };
}

function sayTimes(reason: string, attempts: number): string {
  return attempts === 1 ? reason : `${reason} (${attempts} attempts)`;
}
