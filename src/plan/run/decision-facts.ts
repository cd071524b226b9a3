import type { Fact } from '../../state/facts.ts';
import { listOpenEffects } from '../effects/plan-effects.ts';
import type { Task } from '../plan.ts';
import type { Decision, Ended, Known } from '../schedule/schedule.ts';
import { makeTaskFact } from '../task/do-task.ts';
import { digestChoice } from './carry-tasks.ts';
import type { ActiveRun } from './prepare-run.ts';

/* What the schedule decides, as it is recorded, and what it takes over of a run that was stopped. */

/** The fact that says what was decided. */
export function makeDecisionFact(
  progress: Parameters<typeof makeTaskFact>[0],
  decision: Decision<Task>,
): Fact {
  const { task, inRound: round } = decision;
  const why = decision.kind === 'begin' || decision.why === null ? {} : { why: decision.why };
  switch (decision.kind) {
    case 'skip': {
      const choice = { ...task, digest: digestChoice(task) };
      return makeTaskFact(progress, choice, { status: 'skipped', attempts: 0, round, ...why });
    }
    case 'begin':
      return makeTaskFact(progress, task, { status: 'running', attempts: 1, round });
    case 'round': {
      const left = { values: decision.values };
      return makeTaskFact(progress, task, {
        status: 'running',
        attempts: decision.round,
        round,
        left,
        ...why,
      });
    }
    case 'end': {
      const { status, rounds, values } = decision;
      return makeTaskFact(progress, task, { status, attempts: rounds, round, left: { values }, ...why });
    }
  }
}

/** What the schedule has to know of the run so far. */
export function listKnown({ plan, done, settled, begun, skipped, before, effects }: ActiveRun): Known {
  const open = new Set(listOpenEffects(effects).map(({ record: fact }) => fact.task));
  const parents = new Map(plan.tasks.map(({ id, parent }) => [id, parent]));
  // What is recorded with a group is seen by its own tasks only.
  const wholes = new Set(plan.tasks.filter(({ parts }) => parts !== null).map(({ id }) => id));
  // A group, or a list, with a task that has effects to do is not over.
  for (const id of [...open].filter((each) => done.has(each)))
    for (let outer = parents.get(id) ?? null; outer !== null; outer = parents.get(outer) ?? null)
      open.add(outer);
  const ended = [...done, ...settled].flatMap(([id, { status, exit, values, why }]): [string, Ended][] => {
    // The effects of what was skipped, or of a command that failed, are not done.
    const hasWork = open.has(id) && (wholes.has(id) || status === 'succeeded');
    const isEnd = status === 'succeeded' || status === 'failed' || status === 'skipped';
    if (!isEnd || (status !== 'skipped' && hasWork)) return [];
    // Only a choice has a reason.
    const isPassedOver = status === 'skipped' && why !== undefined;
    const seen = wholes.has(id) ? undefined : values;
    return [[id, { status, exit, values: seen, isPassedOver }]];
  });
  const reopened = [...done, ...settled].flatMap(([id, { attempts, status }]): [string, number][] =>
    wholes.has(id) && open.has(id) && status !== 'skipped' ? [[id, attempts]] : [],
  );
  return { ended: new Map(ended), begun: new Map([...begun, ...reopened]), skipped, before };
}
