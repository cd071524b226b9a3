import { describe, expect, it } from 'vitest';
import {
  type AttemptFacts,
  type AttemptResult,
  decideAfterAttempt,
  decideAfterWorker,
  needsWorker,
  type WorkerEnd,
} from '../../src/convoy/work/decide-next.ts';
import { taskEvents, taskStates, transition } from '../../src/convoy/work/task-transition.ts';

describe('the states of a task', () => {
  it('change as the table says, in every state by every event', () => {
    const table = Object.fromEntries(
      taskStates.map((from) => [
        from,
        Object.fromEntries(
          taskEvents.flatMap((event) => {
            const to = transition(from, event);
            return to === null ? [] : [[event, to]];
          }),
        ),
      ]),
    );
    const open = { opened: 'working', held: 'held', cancelled: 'cancelled' };
    const judged = { sent_back: 'ready', given_up: 'failed' };
    const anew = { opened: 'ready', cancelled: 'cancelled' };
    const goesOn = { begun: 'working', died: 'working', told: 'working' };
    expect(table).toEqual({
      waiting: anew,
      ready: { ...anew, begun: 'working', held: 'held' },
      working: { ...open, ...judged, ...goesOn, asked: 'needs_input', finished: 'checking' },
      needs_input: open,
      checking: { ...open, ...judged, committed: 'merging' },
      merging: { ...open, ...judged, merged: 'done' },
      held: open,
      failed: anew,
      cancelled: anew,
      skipped: anew,
      done: { opened: 'ready' },
    });
  });

  it('C3: only work that is being merged becomes done', () => {
    const before = taskStates.filter((from) =>
      taskEvents.some((event) => transition(from, event) === 'done'),
    );
    expect(before).toEqual(['merging']);
  });
});

const ended: WorkerEnd = {
  ...{ condition: 'completed', reason: null, hasUnheard: false, question: null, isOwnBudget: false },
};

describe('how a worker ended', () => {
  it.each<[string, Partial<WorkerEnd>, ReturnType<typeof decideAfterWorker>]>([
    ['it is done', {}, { kind: 'merge' }],
    ['it asks', { question: 'Which?' }, { kind: 'asks', question: 'Which?' }],
    ['it has not heard the answer', { question: 'Which?', hasUnheard: true }, { kind: 'told' }],
    ['its process is gone', { condition: 'interrupted' }, { kind: 'again' }],
    ['it was paused', { condition: 'paused', reason: 'lunch' }, { kind: 'held', reason: 'lunch' }],
    [
      'it failed',
      { condition: 'failed', reason: 'exit 1' },
      { kind: 'sent_back', feedback: 'The agent failed: exit 1' },
    ],
    [
      'it used up its own budget',
      { condition: 'budget_exceeded', isOwnBudget: true },
      { kind: 'used_up', isOwnBudget: true },
    ],
  ])('says what follows: %s', (_, end, next) => {
    expect(decideAfterWorker({ ...ended, ...end })).toEqual(next);
  });

  it('C3: only one that was completed, has heard everything and asks nothing is merged', () => {
    const conditions = [
      'completed',
      'failed',
      'paused',
      'interrupted',
      'budget_exceeded',
      'elsewhere',
    ] as const;
    const merged = conditions.flatMap((condition) =>
      [true, false].flatMap((hasUnheard) =>
        ['Which?', null].flatMap((question) => {
          const { kind } = decideAfterWorker({ ...ended, condition, hasUnheard, question });
          return kind === 'merge' ? [{ condition, hasUnheard, question }] : [];
        }),
      ),
    );
    expect(merged).toEqual([{ condition: 'completed', hasUnheard: false, question: null }]);
  });

  it('C7: none is started for one that is done, has failed or is at work, unless there is something new', () => {
    const facts = { isNew: false, hasUnheard: false };
    for (const condition of ['completed', 'failed', 'running', 'elsewhere'] as const)
      expect(needsWorker({ ...facts, condition })).toBe(false);
    for (const condition of ['paused', 'interrupted', 'budget_exceeded', null] as const)
      expect(needsWorker({ ...facts, condition })).toBe(true);
    expect(needsWorker({ ...facts, condition: 'completed', isNew: true })).toBe(true);
    expect(needsWorker({ ...facts, condition: 'completed', hasUnheard: true })).toBe(true);
  });
});

describe('how an attempt ended', () => {
  const facts: AttemptFacts = {
    ...{ attempt: 1, mostAttempts: 2, deaths: 0, isCancelled: false, isClaimable: false },
  };
  const back: AttemptResult = { kind: 'sent_back', feedback: 'red' };
  it.each<[string, AttemptResult, Partial<AttemptFacts>, ReturnType<typeof decideAfterAttempt>]>([
    ['sent back', back, {}, { kind: 'try again', feedback: 'red', waitsForClaim: false }],
    ['sent back the last time', back, { attempt: 2 }, { kind: 'fail', feedback: 'red' }],
    ['dead', { kind: 'again' }, {}, { kind: 'continue', event: 'died' }],
    [
      'dead again and again',
      { kind: 'again' },
      { deaths: 5 },
      { kind: 'hold', reason: 'its worker died 6 times' },
    ],
    ['told', { kind: 'told' }, {}, { kind: 'continue', event: 'told' }],
    ['stopped', { kind: 'stopped' }, {}, { kind: 'leave' }],
    ['stopped because it was cancelled', { kind: 'stopped' }, { isCancelled: true }, { kind: 'cancel' }],
  ])('says what follows: %s', (_, result, more, next) => {
    expect(decideAfterAttempt(result, { ...facts, ...more })).toEqual(next);
  });
});
