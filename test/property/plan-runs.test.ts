import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plan } from '../../src/plan/plan.ts';
import { withoutItem } from '../../src/plan/references.ts';
import type { UndoStep } from '../../src/plan/rollback/plan-rollback.ts';
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
      { numRuns: runs(150) },
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
      { numRuns: runs(150) },
    );
  });
});

describe('a rollback that crashes at any point', () => {
  /** What succeeded and can be undone, what was done last first: `task` or `task/effect`. Of a loop, the last round. */
  const listDone = (plan: Plan, run: SimulatedRun): string[] => {
    const { tasks } = endsOf(plan, run);
    const { effects = {} } = run.read() ?? {};
    const byId = new Map(plan.tasks.map((task) => [task.id, task]));
    const done = run.facts.flatMap((fact) => {
      if (fact.kind === 'effect' && fact.status === 'acknowledged') return [`${fact.task}/${fact.id}`];
      if (fact.kind !== 'task' || fact.status !== 'succeeded') return [];
      const task = byId.get(withoutItem(fact.id));
      const undo = task?.id === fact.id ? task.undo : task?.parts?.each?.template.undo;
      return undo && tasks[fact.id]?.status === 'succeeded' ? [fact.id] : [];
    });
    const last = done.filter((id, index) => done.lastIndexOf(id) === index);
    return last.filter((id) => !id.includes('/') || effects[id.split('/')[1] ?? '']).reverse();
  };
  const nameStep = ({ task, effect }: UndoStep) => (effect ? `${task.id}/${effect.id}` : task.id);

  it('undoes each step once, what was done last first, with the values it saw', () => {
    fc.assert(
      fc.property(
        anyPlan,
        salt,
        jobs,
        chances,
        fc.integer({ min: 1, max: 5 }),
        (plan, seed, many, order, again) => {
          const behave = makeBehaviour(seed);
          const make = () => runToEnd({ plan, behave, jobs: many, pick: pickBy(order) });
          const calm = make();
          const expected = listDone(plan, calm);
          const ofLastRound = endsOf(plan, calm).tasks;
          const listUndone = ({ undone }: SimulatedRun) =>
            undone.filter(({ task }) => task.id in ofLastRound).map(nameStep);
          const before = calm.facts.length;
          calm.undo();
          expect(listUndone(calm)).toEqual(expected);
          for (const { task, effect, values, record } of calm.undone) {
            const id = effect ? `${task.id}/${effect.id}` : task.id;
            const saw = calm.happened.findLast((each) => each.id === id);
            const set = 'task' in record ? record.task.values : calm.read()?.tasks[task.id]?.values;
            expect(values).toEqual({ ...saw?.values, ...set });
          }
          for (let cut = before; cut < calm.facts.length; cut++) {
            const run = make();
            for (const most of [cut, cut + again]) run.undo(most);
            run.undo();
            const steps = listUndone(run);
            expect(steps.filter((id, index) => steps[index - 1] !== id)).toEqual(expected);
            expect(steps.length).toBeLessThanOrEqual(expected.length + 2);
            const keys = new Set(run.undone.map((step) => `${nameStep(step)} ${step.key}`));
            expect(keys.size, 'one key in every attempt').toBe(expected.length);
            expect(endsOf(plan, run)).toEqual(endsOf(plan, calm));
          }
          calm.work();
          expect(endsOf(plan, calm).tasks, 'the run can be resumed').toEqual(endsOf(plan, make()).tasks);
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
