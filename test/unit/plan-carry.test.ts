import { describe, expect, it } from 'vitest';
import { type CarryRules, carryTasks } from '../../src/plan/carry.ts';
import { parsePlan } from '../../src/plan/parse.ts';
import type { Plan } from '../../src/plan/types.ts';
import type { TaskRecord } from '../../src/state/run.ts';

const text = `tasks:
  - { id: a, run: one }
  - { id: b, run: two, artifacts: [x] }
  - { id: c, run: three }
  - { id: d, run: four, needs: [] }
`;
const plan = parsePlan(text, 'p.yaml');
const plain: CarryRules = { broken: new Map(), isSamePlan: true, byHand: new Set(), isStep: false };

/** What a plan's run recorded: these succeeded, the others came to nothing. */
function recordsOf(of: Plan, ...succeeded: string[]): { [id: string]: TaskRecord } {
  return Object.fromEntries(
    of.tasks.map(({ id, digest }) => {
      const status = succeeded.includes(id) ? 'succeeded' : 'failed';
      return [id, { status, attempts: 1, digest, artifacts: [], at: 1 } as const];
    }),
  );
}

const doneOf = (rules: Partial<CarryRules>, records = recordsOf(plan, 'a', 'b', 'c', 'd'), of = plan) => {
  const { done, again, added, removed } = carryTasks(of, records, { ...plain, ...rules });
  return {
    done: [...done.keys()],
    again: again.map(({ task, why }) => [task.id, why.kind]),
    added: added.map(({ id }) => id),
    removed,
  };
};

describe('what of an earlier run counts', () => {
  it('is what succeeded', () => {
    expect(doneOf({}, recordsOf(plan, 'a', 'd'))).toMatchObject({ done: ['a', 'd'], again: [] });
  });

  it('is nothing that needs what runs again', () => {
    const again = [
      ['b', 'artifact'],
      ['c', 'need'],
    ];
    const broken = new Map([['b', { kind: 'artifact', path: 'x', how: 'missing' } as const]]);
    expect(doneOf({ broken })).toMatchObject({ done: ['a', 'd'], again });
    // What ran after a failure runs again after the next attempt.
    expect(doneOf({}, recordsOf(plan, 'b', 'd'))).toMatchObject({ done: ['d'], again: [['b', 'need']] });
  });

  it('is what came after a task that is only there for failures, and was skipped', () => {
    const handled = parsePlan(
      `tasks:
  - { id: a, run: one }
  - { id: mend, run: two, when: failure }
  - { id: tell, run: three, when: failure }
  - { id: b, run: four }
`,
      'p.yaml',
    );
    expect(doneOf({}, recordsOf(handled, 'a', 'b'), handled)).toMatchObject({ done: ['a', 'b'], again: [] });
    // Where what it watches over runs again, nobody knows yet whether it is skipped.
    const again = [['b', 'need']];
    expect(doneOf({}, recordsOf(handled, 'b'), handled)).toMatchObject({ done: [], again });
    const step = { ...plain, byHand: new Set(['a', 'mend', 'tell', 'b']), isStep: true };
    const carried = carryTasks(handled, recordsOf(handled, 'a', 'b'), step);
    expect([...carried.done.keys()]).toEqual(['a', 'b']);
    expect(carried.byWord).toEqual([]);
  });

  it('is nothing that does something else by now; what is new or gone is named', () => {
    const edited = parsePlan(
      `${text.replace('id: c, run: three', 'id: n, run: three')}`.replace('four', 'five'),
      'p.yaml',
    );
    expect(doneOf({ isSamePlan: false }, undefined, edited)).toEqual({
      done: ['a', 'b'],
      again: [['d', 'changed']],
      added: ['n'],
      removed: ['c'],
    });
  });

  it('is what the user says, where they do', () => {
    const byHand = new Set(['a', 'b']);
    const carried = carryTasks(plan, recordsOf(plan, 'a', 'd'), { ...plain, byHand, isStep: true });
    expect([...carried.done].map(([id, { attempts }]) => [id, attempts])).toEqual([
      ['a', 1],
      ['b', 0],
    ]);
    expect(carried.byWord.map(({ task, why }) => [task.id, why])).toEqual([['b', null]]);
  });
});
