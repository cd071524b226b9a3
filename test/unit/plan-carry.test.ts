import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { type CarryRules, carryTasks } from '../../src/plan/run/carry-tasks.ts';
import type { TaskRecord } from '../../src/state/runs.ts';

const text = `tasks:
  - { id: a, run: one }
  - { id: b, run: two, artifacts: [x] }
  - { id: c, run: three }
  - { id: d, run: four, needs: [] }
`;
const plan = parsePlan(text, 'p.yaml');
const plain: CarryRules = { broken: new Map(), isSamePlan: true, assumed: null };

/** The records of a plan's run in which these tasks succeeded and the others failed. */
function recordsOf(of: Plan, ...succeeded: string[]): { [id: string]: TaskRecord } {
  return Object.fromEntries(
    of.tasks.map(({ id, digest }) => {
      const status = succeeded.includes(id) ? 'succeeded' : 'failed';
      return [id, { status, attempts: 1, digest, artifacts: [], at: 1 } as const];
    }),
  );
}

const doneOf = (rules: Partial<CarryRules>, records = recordsOf(plan, 'a', 'b', 'c', 'd'), of = plan) => {
  const { done, rerun, added, removed } = carryTasks(of, records, { ...plain, ...rules });
  return {
    done: [...done.keys()],
    rerun: rerun.map(({ task, why }) => [task.id, why.kind]),
    added: added.map(({ id }) => id),
    removed,
  };
};

describe('what of an earlier run counts', () => {
  it('is what succeeded', () => {
    expect(doneOf({}, recordsOf(plan, 'a', 'd'))).toMatchObject({ done: ['a', 'd'], rerun: [] });
  });

  it('excludes tasks that need one that runs again', () => {
    const rerun = [
      ['b', 'artifact'],
      ['c', 'need'],
    ];
    const broken = new Map([['b', { kind: 'artifact', path: 'x', how: 'missing' } as const]]);
    expect(doneOf({ broken })).toMatchObject({ done: ['a', 'd'], rerun });
    // A task that ran after a failure runs again after the next attempt.
    expect(doneOf({}, recordsOf(plan, 'b', 'd'))).toMatchObject({ done: ['d'], rerun: [['b', 'need']] });
  });

  it('includes tasks after a skipped failure handler', () => {
    const handled = parsePlan(
      `tasks:
  - { id: a, run: one }
  - { id: mend, run: two, when: failure }
  - { id: tell, run: three, when: failure }
  - { id: b, run: four }
`,
      'p.yaml',
    );
    expect(doneOf({}, recordsOf(handled, 'a', 'b'), handled)).toMatchObject({ done: ['a', 'b'], rerun: [] });
    // If the task it watches runs again, it is not yet known whether the handler is skipped.
    const rerun = [['b', 'need']];
    expect(doneOf({}, recordsOf(handled, 'b'), handled)).toMatchObject({ done: [], rerun });
    const step = { ...plain, assumed: new Set(['a', 'mend', 'tell', 'b']) };
    const carried = carryTasks(handled, recordsOf(handled, 'a', 'b'), step);
    expect([...carried.done.keys()]).toEqual(['a', 'b']);
    expect(carried.assumedDone).toEqual([]);
  });

  it('excludes changed tasks, and names new and removed ones', () => {
    const edited = parsePlan(
      `${text.replace('id: c, run: three', 'id: n, run: three')}`.replace('four', 'five'),
      'p.yaml',
    );
    expect(doneOf({ isSamePlan: false }, undefined, edited)).toEqual({
      done: ['a', 'b'],
      rerun: [['d', 'changed']],
      added: ['n'],
      removed: ['c'],
    });
  });

  it('is what the user says with --resume-step', () => {
    const assumed = new Set(['a', 'b']);
    const carried = carryTasks(plan, recordsOf(plan, 'a', 'd'), { ...plain, assumed });
    expect([...carried.done].map(([id, { attempts }]) => [id, attempts])).toEqual([
      ['a', 1],
      ['b', 0],
    ]);
    expect(carried.assumedDone.map(({ task, why }) => [task.id, why])).toEqual([['b', null]]);
  });
});
