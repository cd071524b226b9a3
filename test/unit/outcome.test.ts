import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AttemptResult,
  decideNext,
  judgeAttempt,
  longestPause,
} from '../../src/plan/effects/outcome.ts';
import { parseRetryAfter } from '../../src/system/http.ts';

const now = Date.parse('2026-11-16T12:00:00Z');
const answered = (status: number, text = '', retryAfter: string | null = null): AttemptResult => ({
  how: 'answered',
  status,
  text,
  retryAfter,
});

describe('what came of an attempt', () => {
  it.each([200, 201, 202, 204, 299])('%d is done', (status) => {
    expect(judgeAttempt(answered(status), now)).toEqual({ kind: 'done' });
  });

  it.each<[AttemptResult, string, boolean]>([
    [answered(408), 'answered 408', true],
    [answered(429, 'slow down'), 'answered 429: slow down', false],
    [answered(500), 'answered 500', true],
    [answered(503, 'maintenance'), 'answered 503: maintenance', true],
    [{ how: 'unanswered', mayHaveArrived: false, problem: 'refused' }, 'refused', false],
    [{ how: 'unanswered', mayHaveArrived: true, problem: 'broke off' }, 'broke off', true],
    [{ how: 'exited', status: 75 }, 'exited 75', false],
    [{ how: 'threw', problem: 'reset', isTransient: true }, 'reset', true],
  ])('%o is transient', (attempt, reason, mayBeDone) => {
    expect(judgeAttempt(attempt, now)).toEqual({ kind: 'transient', reason, mayBeDone, retryAt: null });
  });

  it.each<[AttemptResult, string, boolean]>([
    [
      answered(302, 'moved to http://other'),
      'answered 302: moved to http://other; redirects are not followed',
      false,
    ],
    [answered(400, 'bad'), 'answered 400: bad', false],
    [answered(401), 'answered 401', false],
    [answered(404), 'answered 404', false],
    [answered(409, 'exists'), 'conflict: answered 409: exists', true],
    [answered(412), 'conflict: answered 412', true],
    [answered(422), 'answered 422', false],
    [{ how: 'exited', status: 1 }, 'exited 1', false],
    [{ how: 'exited', status: 127 }, 'exited 127', false],
    [{ how: 'impossible', problem: 'no address' }, 'no address', false],
    [{ how: 'cut_short', problem: 'took too long' }, 'took too long', true],
    [{ how: 'threw', problem: 'wrong', isTransient: false }, 'wrong', false],
  ])('%o is permanent', (attempt, reason, mayBeDone) => {
    expect(judgeAttempt(attempt, now)).toEqual({ kind: 'permanent', reason, mayBeDone });
  });
});

describe('Retry-After', () => {
  it.each<[string | null, number | null]>([
    ['0', now],
    ['120', now + 120_000],
    [' 5 ', now + 5_000],
    ['Mon, 16 Nov 2026 12:01:00 GMT', now + 60_000],
    ['Mon, 16 Nov 2026 11:00:00 GMT', now],
    ['soon', null],
    ['-3', null],
    ['1.5', null],
    ['', null],
    [null, null],
  ])('%o', (header, at) => {
    expect(parseRetryAfter(header, now)).toBe(at);
  });

  it('is waited for, within bounds', () => {
    const retry = { attempts: 3, backoff: 1_000 };
    const verdict = (retryAt: number) =>
      ({ kind: 'transient', reason: 'answered 429', mayBeDone: false, retryAt }) as const;
    expect(decideNext(verdict(now + 90_000), 1, retry, now, 0)).toMatchObject({
      kind: 'retry',
      after: 90_000,
    });
    expect(decideNext(verdict(now + 10), 1, retry, now, 0)).toMatchObject({ kind: 'retry', after: 500 });
    expect(decideNext(verdict(now + 3_600_000), 1, retry, now, 0)).toEqual({
      kind: 'resume_needed',
      reason: 'answered 429; not before 2026-11-16T13:00:00Z',
      retryAt: now + 3_600_000,
    });
  });
});

describe('the next step after a failed attempt', () => {
  const transient = { kind: 'transient', reason: 'r', mayBeDone: false, retryAt: null } as const;

  it('is never another attempt after a permanent failure', () => {
    const permanent = { kind: 'permanent', reason: 'answered 404', mayBeDone: false } as const;
    const next = decideNext(permanent, 1, { attempts: 9, backoff: 1 }, now, 0.5);
    expect(next).toEqual({ kind: 'blocked', reason: 'answered 404' });
  });

  it('is to resume later after the last attempt', () => {
    const next = decideNext(transient, 3, { attempts: 3, backoff: 1_000 }, now, 0.5);
    expect(next).toEqual({ kind: 'resume_needed', reason: 'r (3 attempts)', retryAt: null });
  });

  it('waits longer each time, never twice the same, and never past the bound', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 0, max: 600_000 }),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (attempts, backoff, fraction) => {
          const next = decideNext(transient, attempts, { attempts: 100, backoff }, now, fraction);
          if (next.kind !== 'retry') throw new Error('there are attempts left');
          const whole = Math.min(backoff * 2 ** (attempts - 1), longestPause);
          expect(next.after).toBeGreaterThanOrEqual(Math.floor(whole / 2));
          expect(next.after).toBeLessThanOrEqual(Math.ceil(whole));
        },
      ),
    );
  });
});
