import { expect, it } from 'vitest';
import { listWaiting } from '../../src/convoy/waiting-list.ts';

it('what waits for a person is listed oldest first, with what depends on it and what to type', () => {
  const task = (id: string, status: string, changedAt: string | null) => ({
    id,
    status,
    changedAt,
    reason: `why ${id}`,
  });
  const convoy = { epic: 'auth', isActive: true, path: null, run: { head: { tasks: 4 } } };
  const epics = [
    {
      status: {
        epicId: 'other',
        questions: [{ id: 'q-1', text: 'Which?', askedAt: '2026-01-01T10:00:00Z' }],
        agents: [
          {
            number: 2,
            waiting: { for: 'permission', detail: 'Bash: rm', since: '2026-01-01T09:00:00Z', until: null },
          },
          { number: 3, waiting: { for: 'input', detail: null, since: '2026-01-01T01:00:00Z', until: null } },
          { number: 4, waiting: { for: 'limit', detail: null, since: '2026-01-01T01:00:00Z', until: null } },
        ],
      },
    },
  ];
  const tasks = [
    task('mailer', 'needs_input', '2026-01-01T11:00:00Z'),
    task('broken', 'failed', '2026-01-01T09:30:00Z'),
    task('poor', 'held', null),
    task('fine', 'done', '2026-01-01T00:00:00Z'),
  ];
  const waiting = listWaiting({ epics } as never, [{ convoy, tasks }] as never); // as far as it is read
  expect(
    waiting.map(({ epicId, task: id, kind, command }) => `${epicId} ${id ?? ''} ${kind}: ${command}`),
  ).toEqual([
    'auth poor held: orch convoy why auth/poor',
    'other  permission: orch session show s2 -e other',
    'auth broken failed: orch convoy retry auth/broken',
    'other  question: orch record question q-1 --answer "…" -e other',
    'auth mailer question: orch convoy say auth/mailer "…"',
  ]);
});
