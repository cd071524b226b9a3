import { describe, expect, it } from 'vitest';
import { nextMergeStep, type QueueFacts } from '../../src/convoy/merge/next-merge-step.ts';

const next = (facts: Partial<QueueFacts>) =>
  nextMergeStep({ waiting: 6, chain: [], isBlocked: false, batch: 4, ...facts });

describe('the next step of the merge queue', () => {
  it('puts as many together as the batch allows, then runs the gates once, on the last', () => {
    expect(next({})).toEqual({ kind: 'add' });
    expect(next({ chain: ['unknown', 'unknown', 'unknown'] })).toEqual({ kind: 'add' });
    const full = next({ chain: ['unknown', 'unknown', 'unknown', 'unknown'] });
    expect(full).toEqual({ kind: 'test', count: 4, isAgain: false });
    const few = next({ waiting: 2, chain: ['unknown', 'unknown'] });
    expect(few).toEqual({ kind: 'test', count: 2, isAgain: false });
    expect(next({ waiting: 0 })).toEqual({ kind: 'idle' });
  });

  it('does not let others pass one that conflicts with work whose fate is open', () => {
    const facts = { chain: ['unknown'], isBlocked: true } as const;
    expect(next(facts)).toEqual({ kind: 'test', count: 1, isAgain: false });
    expect(next({ ...facts, chain: ['green'] })).toEqual({ kind: 'land', count: 1 });
  });

  it('adds no task while the fate of a batch is open', () => {
    expect(next({ chain: ['unknown', 'red once'] })).toEqual({ kind: 'test', count: 2, isAgain: true });
    expect(next({ chain: ['green', 'red'] })).toEqual({ kind: 'land', count: 1 });
  });

  it('bisects what is red twice, lands what was seen green and sends the first red one back', () => {
    const steps = [
      [['unknown', 'unknown', 'unknown', 'red'], { kind: 'test', count: 2, isAgain: false }],
      [['unknown', 'red once', 'unknown', 'red'], { kind: 'test', count: 2, isAgain: true }],
      [['unknown', 'green', 'unknown', 'red'], { kind: 'test', count: 3, isAgain: false }],
      [['unknown', 'green', 'red', 'red'], { kind: 'land', count: 2 }],
      [['red', 'red'], { kind: 'send back' }],
      [['unknown', 'red', 'unknown', 'red'], { kind: 'test', count: 1, isAgain: false }],
    ] as const;
    for (const [chain, step] of steps) expect([chain, next({ chain })]).toEqual([chain, step]);
  });

  it('a chain whose end was cancelled continues with what is known', () => {
    expect(next({ chain: ['unknown', 'green'] })).toEqual({ kind: 'land', count: 2 });
    expect(next({ chain: ['unknown', 'red'], isBlocked: true })).toEqual({
      ...{ kind: 'test', count: 1, isAgain: false },
    });
    expect(next({ chain: ['unknown'] })).toEqual({ kind: 'add' });
  });
});
