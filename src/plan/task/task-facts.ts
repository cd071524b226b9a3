import type { Fact } from '../../state/facts.ts';
import type { TaskRecord } from '../../state/runs.ts';
import type { Task } from '../plan.ts';
import { digestChoice } from '../run/carry-tasks.ts';
import type { ActiveRun } from '../run/prepare-run.ts';
import type { Decision } from '../schedule/schedule.ts';
import type { Artifact } from './artifacts.ts';
import type { RunProgress } from './do-task.ts';
import type { Left } from './task-command.ts';

/* What a run records about its tasks: how far each is, and what the schedule decided. */

/** How far a task is now. */
export type TaskNow = Pick<TaskRecord, 'status' | 'attempts' | 'worker'> & {
  readonly artifacts?: readonly Artifact[];
  readonly left?: Left;
  readonly why?: string;
  /** The round its group is in, if that may be another by now. */
  readonly round?: number;
};

/** The fact that says how far a task is. */
export function makeTaskFact(
  progress: Pick<RunProgress, 'run' | 'schedule'>,
  task: Task,
  now: TaskNow,
  isDone = false,
): Fact {
  const { id, digest } = task;
  const { run, schedule } = progress;
  const { status, attempts, artifacts = [], left, why, round = schedule.roundOf(task) } = now;
  const set = left?.values ?? {};
  return {
    ...({
      kind: 'task',
      run: run.id,
      id,
      status,
      attempts,
      digest,
      artifacts: artifacts.map((each) => ({ ...each })),
    } as const),
    ...(left?.exit !== undefined && { exit: left.exit }),
    ...(Object.keys(set).length > 0 && { values: { ...set } }),
    ...(round > 1 && { round }),
    ...(why !== undefined && { why }),
    ...(now.worker && { worker: now.worker }),
    ...inShards(run, isDone),
  };
}

/** The fact that says what was decided. */
export function makeDecisionFact(
  progress: Pick<RunProgress, 'run' | 'schedule'>,
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

/** Where a record is kept, and whether its task is done with it, effects included. */
export function inShards({ shards }: Pick<ActiveRun, 'shards'>, completes: boolean) {
  return { shards, ...(completes && { completes: true as const }) };
}
