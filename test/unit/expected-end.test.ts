import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectEnd, type TimedTask } from '../../src/convoy/expected-end.ts';

const minute = 60_000;
const now = 1_000 * minute;
const done = (id: string, took: number): TimedTask => ({
  ...{
    id,
    needs: [],
    isDone: true,
    startedAt: now - 100 * minute,
    endedAt: now - 100 * minute + took * minute,
  },
});
const open = (id: string, needs: string[] = [], startedAt: number | null = null): TimedTask => ({
  ...{ id, needs, isDone: false, startedAt, endedAt: null },
});
const three = [done('a', 8), done('b', 10), done('c', 30)];
const minutesLeft = (tasks: TimedTask[], workers: number) => {
  const end = expectEnd([...three, ...tasks], workers, now);
  return end === null ? null : (end - now) / minute;
};

describe('the expected end of a convoy', () => {
  it.each<[string, TimedTask[], number, number]>([
    ['nothing is left', [], 4, 0],
    ['one is left', [open('x')], 4, 10],
    ['four are left for two workers', [open('w'), open('x'), open('y'), open('z')], 2, 20],
    ['one needs the other', [open('x'), open('y', ['x'])], 4, 20],
    ['one began four minutes ago', [open('x', [], now - 4 * minute)], 4, 6],
    ['one takes longer than usual', [open('x', [], now - 40 * minute)], 4, 0],
    ['one needs what the convoy does not have', [open('x', ['elsewhere'])], 4, 10],
    ['two need each other', [open('x', ['y']), open('y', ['x'])], 4, 0],
  ])('if %s', (_, tasks, workers, expected) => {
    expect(minutesLeft(tasks, workers)).toBe(expected);
  });

  it('is unknown before three tasks are done', () => {
    expect(expectEnd([done('a', 1), done('b', 1), open('x')], 4, now)).toBeNull();
  });

  it('is never later with more workers', () => {
    fc.assert(
      fc.property(
        fc.array(fc.subarray(['t0', 't1', 't2'])),
        fc.integer({ min: 1, max: 8 }),
        (needs, workers) => {
          const tasks = needs.map((each, at) =>
            open(
              `t${at}`,
              each.filter((id) => Number(id.slice(1)) < at),
            ),
          );
          expect(minutesLeft(tasks, workers + 1)).toBeLessThanOrEqual(minutesLeft(tasks, workers) ?? 0);
        },
      ),
    );
  });
});
