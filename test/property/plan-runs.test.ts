import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plan } from '../../src/plan/plan.ts';
import { withoutItem } from '../../src/plan/references.ts';
import { runs } from '../support/depth.ts';
import { makeBehaviour, makePlans } from '../support/random-plans.ts';
import { nameHappening, type SimulatedRun, type Simulation, simulateRun } from '../support/simulated-run.ts';

const inOrder = () => 0;
const pickBy = (chances: readonly number[]) => {
  let next = 0;
  return (many: number) => (chances[next++ % Math.max(1, chances.length)] ?? 0) % many;
};
const chances = fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 12 });
const jobs = fc.integer({ min: 1, max: 4 });
const salt = fc.nat();
const anyPlan = makePlans({ allMayFail: false, effects: true });
/** Plans that no failure ends: what failed was allowed to, and is not tried again. */
const steadyPlan = makePlans({ allMayFail: true, effects: true });

/** How everything ended, and with which values. Of a loop, the last round counts. */
function endsOf(plan: Plan, run: SimulatedRun) {
  const { tasks = {}, effects = {} } = run.read() ?? {};
  const byId = new Map(plan.tasks.map((task) => [task.id, task]));
  const isLast = (id: string, round: number) => {
    const task = byId.get(withoutItem(id));
    const outer = [task, byId.get(task?.parent ?? '')].find((each) => each?.parts && each.repeat);
    return outer === undefined || outer.id === id || tasks[outer.id]?.attempts === round;
  };
  const ended = Object.entries(tasks).flatMap(([id, { at: _, ...record }]) =>
    record.status !== 'pending' && isLast(id, record.round ?? 1) ? [[id, record] as const] : [],
  );
  return {
    tasks: Object.fromEntries(ended),
    effects: Object.fromEntries(Object.entries(effects).map(([id, { status }]) => [id, status])),
  };
}

const describeHappened = ({ happened }: SimulatedRun) =>
  [...new Set(happened.map((one) => `${nameHappening(one)} ${JSON.stringify(one.values)}`))].sort();

function runToEnd(simulation: Simulation): SimulatedRun {
  const run = simulateRun(simulation);
  run.work();
  return run;
}

describe('a plan with decisions, loops and lists', () => {
  it('does the same whichever task is faster, and however many run at once', () => {
    fc.assert(
      fc.property(anyPlan, salt, jobs, chances, (plan, seed, many, order) => {
        const behave = makeBehaviour(seed);
        const calm = runToEnd({ plan, behave, jobs: 1, pick: inOrder });
        const other = runToEnd({ plan, behave, jobs: many, pick: pickBy(order) });
        expect(endsOf(plan, other)).toEqual(endsOf(plan, calm));
        expect(describeHappened(other)).toEqual(describeHappened(calm));
        expect(other.happened.length).toBe(calm.happened.length);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

/** Every number of facts after which to die; of many, some. */
function listCuts(total: number): number[] {
  const step = Math.max(1, Math.floor(total / 40));
  return Array.from({ length: Math.ceil(total / step) }, (_, n) => n * step);
}

describe('a run that crashes at any point', () => {
  const survive = (plan: Plan, seed: number, many: number, order: readonly number[], again: number) => {
    const behave = makeBehaviour(seed);
    const calm = runToEnd({ plan, behave, jobs: many, pick: inOrder });
    return listCuts(calm.facts.length).map((cut) => {
      const run = simulateRun({ plan, behave, jobs: many, pick: pickBy(order) });
      for (const most of [cut, cut + again, cut + 2 * again]) run.work(most);
      expect(run.work()).toBe(true);
      return { calm, run };
    });
  };

  it('ends like one that does not, and has done the same', () => {
    fc.assert(
      fc.property(anyPlan, salt, jobs, chances, fc.integer({ min: 1, max: 9 }), (...given) => {
        for (const { calm, run } of survive(...given)) {
          expect(endsOf(given[0], run)).toEqual(endsOf(given[0], calm));
          expect(describeHappened(run)).toEqual(describeHappened(calm));
          expect(new Set(run.decided())).toEqual(new Set(calm.decided()));
        }
      }),
      { numRuns: runs(150), interruptAfterTimeLimit: 40_000, markInterruptAsFailure: true },
    );
  });

  it('repeats only what was at work, and decides nothing twice', () => {
    fc.assert(
      fc.property(steadyPlan, salt, jobs, chances, fc.integer({ min: 1, max: 9 }), (...given) => {
        for (const { calm, run } of survive(...given)) {
          expect(endsOf(given[0], run)).toEqual(endsOf(given[0], calm));
          expect(run.repeated()).toEqual([]);
          expect(run.decided().sort()).toEqual(calm.decided().sort());
        }
      }),
      { numRuns: runs(150), interruptAfterTimeLimit: 40_000, markInterruptAsFailure: true },
    );
  });
});
