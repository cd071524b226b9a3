import { describe, expect, it } from 'vitest';
import { parsePlan } from '../../src/plan/parse-plan.ts';
import { simulateRun } from '../support/simulated-run.ts';

type End = { readonly exit?: number; readonly values?: { readonly [name: string]: string } };

/** Runs a plan whose commands end like this (by id, or `id round`), and tells how each task ended, and why. */
function runPlan(tasks: string, ends: { readonly [task: string]: End } = {}, pick = (_: number) => 0) {
  const run = simulateRun({
    plan: parsePlan(`tasks:\n${tasks}`, 'p.yaml'),
    behave: ({ id, round, attempt }) => {
      const { exit = 0, values = {} } = ends[`${id} ${Math.max(round, attempt)}`] ?? ends[id] ?? {};
      return { exit, values };
    },
    jobs: 3,
    pick,
  });
  run.work();
  const known = run.read();
  const ended = Object.entries(known?.tasks ?? {}).map(([id, { status, why }]) => [
    id,
    why === undefined ? status : `${status}: ${why}`,
  ]);
  const ran = run.happened.map(({ id, round, attempt }) => [id, Math.max(round, attempt)].join(' '));
  const sees = (id: string) => run.happened.findLast((each) => each.id === id)?.values;
  return { status: known?.head.status, ended: Object.fromEntries(ended), ran, sees };
}

describe('a decision', () => {
  const choice = `  - { id: scan, run: x, may_fail: true }
  - { id: big, when: tasks.scan.exit == 2, run: x }
  - { id: small, when: tasks.scan.exit == 0, run: x }
  - { id: join, needs: [big, small], run: x }
  - { id: after-small, needs: [small], run: x }
  - { id: in-order, run: x }
`;

  it('skips what is not chosen and what needs only that, and goes on behind a join', () => {
    const { status, ended } = runPlan(choice, { scan: { exit: 2 } });
    expect(status).toBe('succeeded');
    expect(ended).toEqual({
      scan: 'failed',
      big: 'succeeded',
      small: "skipped: tasks.scan.exit is '2'",
      join: 'succeeded',
      'after-small': 'skipped: what it needs was skipped',
      'in-order': 'succeeded',
    });
  });

  it('takes care of the failures it asks about, and of no others', () => {
    const handled = `  - { id: a, run: x, needs: [] }
  - { id: b, run: x, needs: [] }
  - { id: mend, needs: [a, b], when: tasks.a.status == 'failed', run: x }
  - { id: next, run: x }
`;
    expect(runPlan(handled, { a: { exit: 1 } }).ended).toMatchObject({ mend: 'succeeded', next: 'skipped' });
    expect(runPlan(handled, { a: { exit: 1 }, b: { exit: 1 } }).ended).toMatchObject({ mend: 'skipped' });
    expect(runPlan(handled, { a: { exit: 1 } }).status, 'a failed all the same').toBe('failed');
  });

  it('skips a group as a whole, once', () => {
    const { ended, ran } = runPlan(`  - { id: a, run: x }
  - { id: g, when: tasks.a.exit == 1, tasks: [{ id: p, run: x }, { id: q, run: x }] }
  - { id: after, needs: [g], run: x }
`);
    expect(ran).toEqual(['a 1']);
    expect(ended).toEqual({
      a: 'succeeded',
      g: "skipped: tasks.a.exit is '0'",
      after: 'skipped: what it needs was skipped',
    });
  });
});

describe('a loop', () => {
  const loop = `  - id: mend
    repeat: { until: tasks.try.status == 'succeeded', attempts: 3 }
    tasks:
      - { id: try, run: x, may_fail: true }
      - { id: fix, when: tasks.try.status == 'failed', run: x }
  - { id: after, run: x }
`;

  it('runs its tasks again until its condition holds', () => {
    const { status, ran, ended } = runPlan(loop, { try: { exit: 1 }, 'try 2': { exit: 0 } });
    expect(ran).toEqual(['try 1', 'fix 1', 'try 2', 'after 1']);
    expect(ended.fix).toBe("skipped: tasks.try.status is 'succeeded'");
    expect(status).toBe('succeeded');
  });

  it('fails after its last round, and what follows is skipped', () => {
    const { status, ended } = runPlan(loop, { try: { exit: 1 } });
    expect(ended.mend).toBe("failed: after 3 of 3 rounds, tasks.try.status is 'failed'");
    expect(ended.after).toBe('skipped');
    expect(status).toBe('failed');
  });

  it('counts no failure of a round that another made good', () => {
    const plain = '  - { id: g, repeat: { attempts: 2 }, tasks: [{ id: p, run: x }] }\n';
    expect(runPlan(plain, { 'p 1': { exit: 1 } }).status).toBe('succeeded');
  });

  it('hands on what its tasks set in the round before, rather than what was set before the loop', () => {
    const { sees } = runPlan(
      `  - { id: a, run: x }
  - { id: g, repeat: { until: tasks.q.exit == 1, attempts: 2 }, tasks: [{ id: p, run: x }, { id: q, run: x, may_fail: true }] }
`,
      {
        a: { values: { N: 'from a', M: 'from a' } },
        q: { values: { N: 'from q' } },
        'q 2': { exit: 1 },
      },
    );
    expect(sees('p')).toEqual({ N: 'from q', M: 'from a' });
  });
});

describe('a list that a task sets', () => {
  const list = `  - { id: a, run: x }
  - { id: each, foreach: values.L, run: x }
  - { id: after, run: x }
`;

  it('has a task for each item, and is done when they are', () => {
    const { ran, ended } = runPlan(list, { a: { values: { L: '["x", "y"]' } } });
    expect(ran).toEqual(['a 1', 'each[x] 1', 'each[y] 1', 'after 1']);
    expect(ended.each).toBe('succeeded');
    expect(runPlan(list, { a: { values: { L: 'x' } }, 'each[x]': { exit: 1 } }).ended).toMatchObject({
      each: 'failed: each[x] failed',
      after: 'skipped',
    });
  });

  it('may be empty, and fails if it is none', () => {
    expect(runPlan(list, { a: { values: { L: '[]' } } })).toMatchObject({
      status: 'succeeded',
      ended: { each: 'succeeded', after: 'succeeded' },
    });
    expect(runPlan(list, { a: { values: { L: '[1' } } }).ended.each).toBe(
      'failed: values.L is not a list: it starts like a JSON list and is none',
    );
    expect(runPlan(list).ended.each).toBe('failed: values.L is not a list: no task before it has set it');
  });
});

it('a value is the last in the order of the plan, whichever task was faster', () => {
  const plan = `  - { id: a, needs: [], run: x }
  - { id: b, needs: [], run: x }
  - { id: c, needs: [b, a], run: x }
`;
  const ends = { a: { values: { N: 'a' } }, b: { values: { N: 'b' } } };
  for (const pick of [() => 0, (many: number) => many - 1])
    expect(runPlan(plan, ends, pick).sees('c')).toEqual({ N: 'b' });
});
