import { describe, expect, it } from 'vitest';
import { hasEnded, transition } from '../../src/state/transition.ts';
import { statuses } from '../../src/types.ts';

const facts = [
  'session_started',
  'session_joined',
  'session_running',
  'session_paused',
  'session_completed',
  'session_failed',
  'session_recovered',
  'budget_exceeded',
  'note',
  'toString',
];

describe('transition', () => {
  it('leads where the table says, from every status by every fact', () => {
    const table = Object.fromEntries(
      statuses.map((from) => [
        from,
        Object.fromEntries(
          facts.flatMap((kind) => {
            const to = transition(from, { kind });
            return to === null ? [] : [[kind, to]];
          }),
        ),
      ]),
    );
    expect(table).toEqual({
      initializing: {
        session_running: 'running',
        session_paused: 'paused',
        session_completed: 'completed',
        session_failed: 'failed',
        session_recovered: 'failed',
        budget_exceeded: 'budget_exceeded',
      },
      running: {
        session_paused: 'paused',
        session_completed: 'completed',
        session_failed: 'failed',
        session_recovered: 'failed',
        budget_exceeded: 'budget_exceeded',
      },
      paused: { session_joined: 'initializing', session_completed: 'completed' },
      completed: {},
      failed: { session_completed: 'completed' },
      budget_exceeded: { session_joined: 'initializing', session_completed: 'completed' },
    });
  });

  it('never leads back to running', () => {
    for (const from of statuses.filter(hasEnded)) {
      for (const kind of facts) expect(transition(from, { kind })).not.toBe('running');
    }
  });
});
