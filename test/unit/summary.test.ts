import { expect, it } from 'vitest';
import { summarize } from '../../src/checkpoint/document/summary.ts';
import { parseSessionId } from '../../src/ids.ts';
import type { Event, Fact } from '../../src/state/facts.ts';
import { foldAll } from '../../src/state/fold.ts';
import { emptyState } from '../../src/state/lists.ts';
import type { Trigger, WriterId } from '../../src/types.ts';

const [own, other] = [parseSessionId('sess-aaaa'), parseSessionId('sess-bbbb')];
const by = 'w-aaaaaaaa' as WriterId;

function title(
  facts: readonly Fact[],
  trigger: Trigger = 'pause',
  reason: string | null = null,
  session = own,
) {
  const events = facts.map(
    (fact, place): Event => ({ at: place + 1, by, session, offset: place, end: place + 1, fact }),
  );
  const occasion = { sessionId: own, trigger, reason, isRoutine: true as const };
  return summarize(occasion, events, emptyState, foldAll(emptyState, events));
}

const decision: Fact = { kind: 'decision', id: 'd-1', text: 'Server sessions', rationale: null };
const file = (path: string): Fact => {
  return { kind: 'file', path, change: 'modified', added: 1, removed: 0, priority: null, why: null };
};
const says = (key: string, text: string): Fact => ({ kind: 'current_set', key, value: { text } });
const usage = { micros: 410_000, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, unpriced: 0 };

it.each<[string, readonly Fact[], string]>([
  ['a decision', [decision], 'Decision: Server sessions'],
  ['several', [decision, { ...decision, id: 'd-2', text: 'Argon2' }], 'Decision: Argon2 (and 1 more)'],
  ['files', [file('src/login.ts'), file('b'), file('c')], '3 files: src/login.ts, b …'],
  [
    'two things',
    [file('b'), decision, { kind: 'budget_set', limit: 5 }],
    'Decision: Server sessions; 1 file: b',
  ],
  ['what was asked', [says('asked', 'Make login\nredirect')], 'Asked: Make login redirect'],
  ['what the agent said', [decision, says('lastMessage', '## Done\n- **All** of it')], 'Done All of it'],
  ['a budget', [{ kind: 'budget_set', limit: 20_000_000 }], 'Budget set to $20.00'],
  ['money alone', [{ kind: 'cost', model: null, usage }], '$0.41 spent'],
  ['nothing at all', [], 'claude ended'],
])('a title says %s', (_, facts, expected) => {
  expect(title(facts, 'pause', 'claude ended')).toBe(expected);
});

it('a new session names its agent, unless the user asked for something', () => {
  const started: Fact = { kind: 'session_started', number: 3, agent: 'claude', parentSessionId: null };
  expect(title([started], 'session_start')).toBe('Session 3 started with claude');
  expect(title([started], 'session_start', 'Continues session 2')).toBe(
    'Session 3 started with claude. Continues session 2',
  );
  expect(title([started, says('asked', 'Fix it')], 'session_start')).toBe('Asked: Fix it');
});

it('a title is about its own session, and about another only where that is all there is', () => {
  const at = { at: 1, by, offset: 0, end: 1 };
  const events: Event[] = [
    { ...at, session: own, fact: decision },
    { ...at, session: other, fact: says('lastMessage', 'Elsewhere') },
  ];
  const occasion = { sessionId: own, trigger: 'pause' as const, reason: null };
  expect(summarize(occasion, events, emptyState, emptyState)).toBe('Decision: Server sessions');
  expect(summarize(occasion, events.slice(1), emptyState, emptyState)).toBe('Elsewhere');
});
