import { parseRetryAfter } from '../system/http.ts';
import { temporaryFailure } from '../system/process/capture.ts';
import type { Millis } from '../types.ts';
import type { Entry } from './outbox.ts';

/** What was seen of one attempt to deliver. */
export type DeliveryResult =
  | { readonly how: 'done' }
  /** A server's answer; `retryAfter` is the header, `text` the beginning of the body. */
  | {
      readonly how: 'answered';
      readonly status: number;
      readonly retryAfter: string | null;
      readonly text: string;
    }
  | { readonly how: 'exited'; readonly status: number }
  /** It could not be sent, or it is unknown whether it arrived. */
  | { readonly how: 'failed'; readonly problem: string };

/** With the pauses between them, these take about a day. */
export const mostAttempts = 12;

const firstPause: Millis = 2_000;
const longestPause: Millis = 8 * 3_600_000;
/** A receiver cannot ask for more. */
const longestWait: Millis = 24 * 3_600_000;

/**
 * Decides what becomes of a queued entry after an attempt, which `entry.attempts` counts already. `fraction`, from 0 up
 * to 1, is drawn by chance, so that entries that failed together are not sent again together.
 */
export function decideDelivery(entry: Entry, result: DeliveryResult, now: Millis, fraction: number): Entry {
  const verdict = judge(result, now);
  const { reason } = verdict;
  if (verdict.kind === 'sent') return { ...entry, state: 'sent', at: now, reason };
  if (verdict.kind === 'refused') return { ...entry, state: 'dead', at: now, reason };
  if (entry.attempts >= mostAttempts)
    return { ...entry, state: 'dead', at: now, reason: `${reason} (${entry.attempts} attempts)` };
  const longest = Math.min(firstPause * 3 ** (entry.attempts - 1), longestPause);
  const pause = Math.round(longest * (0.5 + fraction / 2));
  const asked = Math.min(verdict.retryAt ?? 0, now + longestWait);
  return { ...entry, at: Math.max(now + pause, asked), reason };
}

type Verdict =
  | { readonly kind: 'sent'; readonly reason: null }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'again'; readonly reason: string; readonly retryAt: Millis | null };

function judge(result: DeliveryResult, now: Millis): Verdict {
  switch (result.how) {
    case 'done':
      return { kind: 'sent', reason: null };
    case 'failed':
      return { kind: 'again', reason: result.problem, retryAt: null };
    case 'exited':
      if (result.status === 0) return { kind: 'sent', reason: null };
      return {
        kind: 'again',
        reason: `exited ${result.status}${result.status === temporaryFailure ? ', to be tried again' : ''}`,
        retryAt: null,
      };
    case 'answered': {
      const { status, retryAfter, text } = result;
      const reason = `answered ${status}${text === '' ? '' : `: ${text}`}`;
      if (status >= 200 && status < 300) return { kind: 'sent', reason: null };
      if (status >= 300 && status < 400)
        return { kind: 'refused', reason: `${reason}; redirects are not followed` };
      if (status >= 400 && status < 500 && status !== 408 && status !== 429)
        return { kind: 'refused', reason };
      return { kind: 'again', reason, retryAt: parseRetryAfter(retryAfter, now) };
    }
  }
}
