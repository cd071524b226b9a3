import { describe, expect, it } from 'vitest';
import {
  decide,
  defaultPolicy,
  findFullContext,
  type Policy,
  shouldCheckpoint,
  type View,
} from '../../src/checkpoint/policy.ts';
import type { Saved } from '../../src/checkpoint/read-base.ts';
import { tierOf } from '../../src/cost/context-window.ts';
import { parseSessionId, parseWriterId } from '../../src/ids.ts';
import type { Event, Fact } from '../../src/state/facts.ts';
import { foldAll } from '../../src/state/fold.ts';
import { emptyState } from '../../src/state/lists.ts';
import { cost } from '../support/store.ts';

const minute = 60_000;
const session = parseSessionId('sess-aaaa');
const started: Fact = { kind: 'session_started', number: 1, agent: null, parentSessionId: null };
const budget = (limit: number | null): Fact => ({ kind: 'budget_set', limit });
const note: Fact = { kind: 'note', id: 'n', text: 'x' };
const issue = (status: 'open' | 'in_progress' | 'done' | 'deferred'): Fact => {
  return { kind: 'issue', id: 'i', title: null, status, severity: null, location: null };
};
const doing = (status: string): Fact => {
  return { kind: 'current_set', key: 'currentTask', value: { text: 't', status } };
};

function eventsOf(facts: readonly Fact[], from = 0): Event[] {
  return facts.map((fact, index) => {
    const offset = (from + index) * 10;
    return { at: 0, by: parseWriterId('w'), session, offset, end: offset + 10, fact };
  });
}

/** The view with `saved` in a checkpoint at time 0 and `pending` recorded since; null: nothing was saved yet. */
function viewOf(saved: readonly Fact[] | null, pending: readonly Fact[]): View {
  const before = foldAll(emptyState, eventsOf([started, ...(saved ?? [])]));
  const events = eventsOf(pending, 1 + (saved?.length ?? 0));
  // Only what a decision looks at.
  const found = { commit: { authoredAt: 0 }, document: { state: before } } as unknown as Saved;
  return { saved: saved === null ? null : found, pending: events, state: foldAll(before, events) };
}

const everything: Policy = {
  interval: 15 * minute,
  on: [...defaultPolicy.on, 'issue_complete'],
  cost: [0.5, 0.8],
};
const nothing: Policy = { interval: null, on: [], cost: [] };

describe('what happens calls for a checkpoint', () => {
  const failed: Fact = { kind: 'session_failed', reason: null };
  const task = (status: 'running' | 'succeeded' | 'failed'): Fact => {
    return { kind: 'task', run: 'r', id: 't', status, attempts: 1, digest: 'd', artifacts: [] };
  };
  it.each<[string, Fact, string | null, string | null]>([
    ['a note', note, null, null],
    ['a failed session', failed, 'error', 'error'],
    ['an open issue', issue('open'), null, null],
    ['an issue in progress', issue('in_progress'), null, null],
    ['a deferred issue', issue('deferred'), null, null],
    ['an issue that is done', issue('done'), null, 'issue_complete'],
    ['a task that begins', doing('in_progress'), null, null],
    ['a task that is done', doing('done'), 'task', 'task'],
    ['a step that runs', task('running'), null, null],
    ['a step that failed', task('failed'), null, null],
    ['a step that succeeded', task('succeeded'), 'task', 'task'],
    ['a cost without a budget', cost(99_000_000), null, null],
    ['a pause, which whoever pauses saves', { kind: 'session_paused', reason: null }, null, null],
  ])('%s', (_, fact, byDefault, withAll) => {
    const view = viewOf([], [fact]);
    expect(shouldCheckpoint(defaultPolicy, view, 0)).toBe(byDefault);
    expect(shouldCheckpoint(everything, view, 0)).toBe(withAll);
    expect(shouldCheckpoint(nothing, view, 0)).toBeNull();
    // What is in a checkpoint calls for no other.
    expect(shouldCheckpoint(everything, viewOf([fact], []), 0)).toBeNull();
  });
});

describe('the interval', () => {
  it.each<[string, readonly Fact[] | null, readonly Fact[], number, boolean]>([
    ['is not over yet', [], [note], 15 * minute - 1, false],
    ['is over', [], [note], 15 * minute, true],
    ['is over, and nothing happened', [], [], 60 * minute, false],
    ['is over, and sessions only came and went', [], [{ kind: 'session_running' }], 60 * minute, false],
    ['is over since the first event, where nothing was saved', null, [note], 15 * minute, true],
    ['is over after the clock was set back', [], [note], -15 * minute, true],
  ])('%s', (_, saved, pending, now, isDue) => {
    const view = viewOf(saved, pending);
    expect(shouldCheckpoint(everything, view, now)).toBe(isDue ? 'interval' : null);
    expect(shouldCheckpoint({ ...everything, interval: null }, view, now)).toBeNull();
  });
});

describe('money', () => {
  const of = (limit: number | null, ...costs: number[]) => [budget(limit), ...costs.map(cost)];
  it.each<[string, readonly Fact[] | null, readonly Fact[], string | null, boolean, boolean]>([
    // what, saved, pending, trigger, warned, stopped
    ['below every threshold', of(100, 10), [cost(39)], null, false, false],
    ['to a threshold', of(100, 10), [cost(40)], 'cost', false, false],
    ['on, past a threshold that is saved', of(100, 50), [cost(29)], null, false, false],
    ['over two at once', of(100), [cost(80)], 'cost', true, false],
    ['on, past both', of(100, 80), [cost(19)], null, false, false],
    ['to the limit', of(100, 99), [cost(1)], 'budget', false, true],
    ['over it at once', of(100), [cost(1_000)], 'budget', false, true],
    ['on, past the limit that is saved', of(100, 100), [cost(5)], null, false, true],
    ['raised after a crossing', of(100, 80), [budget(200)], null, false, false],
    [
      'raised, and a threshold crossed again before anything was saved',
      of(100, 80),
      [budget(200), cost(20)],
      'cost',
      false,
      false,
    ],
    ['raised, and most of it spent again', of(100, 80), [budget(200), cost(80)], 'cost', true, false],
    ['raised past the limit', of(100, 100), [budget(1_000)], null, false, false],
    ['raised, and used up again', of(100, 100), [budget(200), cost(100)], 'budget', false, true],
    ['lowered below a threshold', of(1_000, 80), [budget(100)], 'cost', true, false],
    ['lowered, past what was crossed before', of(100, 80), [budget(90)], null, false, false],
    ['lowered to what is spent', of(1_000, 80), [budget(80)], 'budget', false, true],
    ['lifted', of(100, 100), [budget(null)], null, false, false],
    ['a limit of nothing', null, [budget(0)], 'budget', false, true],
  ])('%s', (_, saved, pending, trigger, isWarned, isStopped) => {
    const verdict = decide(everything, viewOf(saved, pending), 0);
    expect(verdict.checkpoint?.trigger ?? null).toBe(trigger);
    expect([verdict.warn.length > 0, verdict.stop !== null]).toEqual([isWarned, isStopped]);
    // Stopping at the budget and warning about it do not depend on the policy.
    const strict = decide(nothing, viewOf(saved, pending), 0);
    expect([strict.warn, strict.stop]).toEqual([verdict.warn, verdict.stop]);
    expect(strict.checkpoint?.trigger ?? null).toBe(trigger === 'budget' ? 'budget' : null);
  });

  it('is warned about once, compared with what the caller saw last', () => {
    const view = viewOf([budget(100)], [cost(85)]);
    expect(decide(nothing, view, 0).warn).toEqual([{ kind: 'budget', spent: 85, limit: 100 }]);
    expect(decide(nothing, { ...view, seen: view.state }, 0).warn).toEqual([]);
  });

  it('comes before what else happened, and that before the clock', () => {
    const pending = [doing('done'), cost(100)];
    expect(shouldCheckpoint(everything, viewOf([budget(100)], pending), 60 * minute)).toBe('budget');
    expect(shouldCheckpoint(everything, viewOf([budget(200)], pending), 60 * minute)).toBe('task');
    expect(shouldCheckpoint(everything, viewOf([budget(200)], [cost(100)]), 60 * minute)).toBe('cost');
  });
});

describe('the context window', () => {
  const window = (fill: number, agentSession = 'a'): Fact => {
    const tier = tierOf(fill);
    const value = {
      tokens: fill * 100,
      window: 100,
      fill,
      tier,
      source: 'default',
      agentSession,
      madeRoom: null,
    };
    return { kind: 'current_set', key: 'contextWindow', value };
  };
  it.each<[string, readonly Fact[] | null, readonly Fact[], boolean]>([
    ['fills up to less than it takes', [window(0.1)], [window(0.79)], false],
    ['fills up to CRITICAL', [window(0.1)], [window(0.8)], true],
    ['fills up further within CRITICAL', [window(0.8)], [window(0.87)], false],
    ['fills up from CRITICAL to EMERGENCY', [window(0.8)], [window(0.9)], true],
    ['falls from EMERGENCY to CRITICAL', [window(0.9)], [window(0.85)], false],
    ['is made empty', [window(0.9)], [window(0.1)], false],
    ['fills up again after that was saved', [window(0.9), window(0.1)], [window(0.81)], true],
    ['is full from the beginning', null, [window(0.95)], true],
    ['is that of another session of the agent', [window(0.85, 'a')], [window(0.85, 'b')], true],
    ['is unknown', [window(0.85)], [{ kind: 'current_set', key: 'contextWindow', value: null }], false],
    ['is not to be understood', [], [{ kind: 'current_set', key: 'contextWindow', value: 'full' }], false],
  ])('%s', (_, saved, pending, isSaved) => {
    const view = viewOf(saved, pending);
    const trigger = isSaved ? 'context_tier' : null;
    expect(shouldCheckpoint(everything, view, 0)).toBe(trigger);
    expect(shouldCheckpoint({ ...everything, on: [] }, view, 0)).toBeNull();
    const log = { critical: 'log', emergency: 'log' } as const;
    expect(shouldCheckpoint({ ...everything, context: log }, view, 0)).toBeNull();
    const stop = { critical: 'stop', emergency: 'stop' } as const;
    expect(shouldCheckpoint({ ...everything, context: stop }, view, 0)).toBe(trigger);
  });

  it('stops the agent whose window it is, where the user wants that', () => {
    const policy: Policy = { ...everything, context: { critical: 'checkpoint', emergency: 'stop' } };
    const { state } = viewOf([], [window(0.9)]);
    expect(findFullContext(policy, state, ['a'])?.tier).toBe('EMERGENCY');
    expect(findFullContext(policy, state, ['b'])).toBeNull();
    expect(findFullContext(everything, state, ['a'])).toBeNull();
    expect(findFullContext(policy, viewOf([], [window(0.87)]).state, ['a'])).toBeNull();
  });
});
