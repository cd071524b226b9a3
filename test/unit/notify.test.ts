import { describe, expect, it } from 'vitest';
import { parseEpicId } from '../../src/ids.ts';
import { type DeliveryResult, decideDelivery, mostAttempts } from '../../src/notify/decide-delivery.ts';
import { formatNotice, type Happening, makeNotice } from '../../src/notify/notice.ts';
import type { Entry } from '../../src/notify/outbox.ts';

const now = Date.UTC(2026, 10, 16, 12);
const happening: Happening = {
  ...{ kind: 'question', at: now, epic: parseEpicId('auth'), task: 'login', unique: ['q-1'] },
  text: 'login asks: SES or SMTP?',
};
const notice = makeNotice(happening);
const entryAt = (attempts: number): Entry => ({
  ...{ notice, receiver: 'hook', state: 'queued', at: now - 1_000, attempts, reason: null },
});
const answered = (status: number, retryAfter: string | null = null, text = ''): DeliveryResult => ({
  ...{ how: 'answered', status, retryAfter, text },
});
const hour = 3_600_000;

describe('what becomes of a notice after an attempt', () => {
  it.each<[DeliveryResult, number, Entry['state'], number, string | null]>([
    [answered(200), 1, 'sent', 0, null],
    [answered(204), 12, 'sent', 0, null],
    [{ how: 'done' }, 3, 'sent', 0, null],
    [{ how: 'exited', status: 0 }, 1, 'sent', 0, null],
    // It will never be taken.
    [answered(410, null, 'gone'), 1, 'dead', 0, 'answered 410: gone'],
    [answered(400), 1, 'dead', 0, 'answered 400'],
    [answered(401), 1, 'dead', 0, 'answered 401'],
    [answered(404, '5'), 1, 'dead', 0, 'answered 404'],
    [answered(301), 1, 'dead', 0, 'answered 301; redirects are not followed'],
    // It may be taken later.
    [answered(408), 1, 'queued', 2_000, 'answered 408'],
    [answered(429), 2, 'queued', 6_000, 'answered 429'],
    [answered(500), 3, 'queued', 18_000, 'answered 500'],
    [answered(503), 10, 'queued', 8 * hour, 'answered 503'],
    [answered(503), 11, 'queued', 8 * hour, 'answered 503'],
    [
      { how: 'failed', problem: 'the connection was refused' },
      4,
      'queued',
      54_000,
      'the connection was refused',
    ],
    [{ how: 'exited', status: 1 }, 1, 'queued', 2_000, 'exited 1'],
    [{ how: 'exited', status: 75 }, 1, 'queued', 2_000, 'exited 75, to be tried again'],
    // When the receiver says so, but within a day.
    [answered(429, '60'), 1, 'queued', 60_000, 'answered 429'],
    [answered(503, '1'), 1, 'queued', 2_000, 'answered 503'],
    [answered(503, 'Mon, 16 Nov 2026 13:00:00 GMT'), 1, 'queued', hour, 'answered 503'],
    [answered(503, '99999999'), 1, 'queued', 24 * hour, 'answered 503'],
    [answered(503, 'soon'), 1, 'queued', 2_000, 'answered 503'],
    // And not for ever.
    [answered(500), mostAttempts, 'dead', 0, 'answered 500 (12 attempts)'],
    [{ how: 'failed', problem: 'x' }, mostAttempts + 1, 'dead', 0, 'x (13 attempts)'],
  ])('%j at attempt %i: %s', (result, attempts, state, after, reason) => {
    const entry = entryAt(attempts);
    expect(decideDelivery(entry, result, now, 1)).toEqual({ ...entry, state, at: now + after, reason });
  });

  it('waits between half of a pause and all of it, and gives up after about a day', () => {
    const waits = (fraction: number) => {
      let entry = entryAt(1);
      let at = now;
      while (entry.state === 'queued') {
        entry = decideDelivery(entry, answered(500), at, fraction);
        at = entry.at;
        entry = { ...entry, attempts: entry.attempts + 1 };
      }
      return (at - now) / hour;
    };
    expect(waits(0)).toBeCloseTo(waits(1) / 2, 5);
    expect(waits(0)).toBeGreaterThan(10);
    expect(waits(1)).toBeLessThan(30);
  });
});

describe('a notice', () => {
  it('has the same id whoever notes it, and another one for anything else', () => {
    expect(makeNotice({ ...happening, at: now + 5, text: 'said otherwise' }).id).toBe(notice.id);
    const others: Happening[] = [
      { ...happening, unique: ['q-2'] },
      { ...happening, task: 'logout' },
      { ...happening, kind: 'budget' },
      { ...happening, epic: parseEpicId('other') },
    ];
    expect(new Set([notice, ...others.map(makeNotice)].map(({ id }) => id)).size).toBe(5);
  });

  it('is one line of JSON', () => {
    expect(
      JSON.parse(formatNotice(makeNotice({ ...happening, text: 'two\nlines', next: 'orch status' }))),
    ).toEqual({
      ...{ id: notice.id, kind: 'question', at: '2026-11-16T12:00:00Z', epic: 'auth', task: 'login' },
      ...{ text: 'two\nlines', next: 'orch status' },
    });
    expect(formatNotice({ ...notice, text: 'two\nlines' })).not.toContain('\n');
  });
});
