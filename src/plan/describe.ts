import type { EffectRecord } from '../state/run.ts';
import type { EpicId } from '../types.ts';
import { formatInstant } from '../units.ts';
import { listTasks, type Progress, type RunStatus, type TaskStatus } from './progress.ts';
import { isUnfinished, type KnownRun } from './runs.ts';
import type { Plan } from './types.ts';

/** A run as scripts see it. */
export type RunInfo = RunSummary & {
  readonly tasks: readonly {
    readonly id: string;
    readonly number: number;
    readonly name: string;
    readonly status: TaskStatus;
    readonly attempts: number;
  }[];
  readonly effects: readonly { readonly id: string; readonly key: string; readonly status: string }[];
};

/** The same in a list of them. */
export type RunSummary = {
  readonly id: string;
  readonly name: string;
  readonly status: RunStatus | 'running';
  readonly epicId: EpicId;
  /** The run it goes on from. */
  readonly from: string | null;
  readonly startedAt: string;
};

/** What there is to say of a run besides its plan. */
export type RunFigures = Progress & {
  readonly id: string;
  readonly epic: EpicId;
  readonly from: string | null;
  readonly startedAt: number;
  readonly status: RunInfo['status'];
  readonly effects: ReadonlyMap<string, Pick<EffectRecord, 'task' | 'key' | 'status'>>;
};

/** Describes a run of a plan that is at hand. */
export function describeRun(plan: Plan, run: RunFigures): RunInfo {
  const { id, status, epic, from, startedAt } = run;
  return {
    id,
    name: plan.name,
    status,
    epicId: epic,
    from,
    startedAt: formatInstant(startedAt),
    tasks: listTasks(plan, run),
    effects: [...run.effects].map(([effect, each]) => ({ id: effect, key: each.key, status: each.status })),
  };
}

/** The figures of a run that is recorded. */
export function figuresOfKnown(epic: EpicId, { id, head, tasks, effects }: KnownRun): RunFigures {
  const { from, startedAt, status } = head;
  const maps = { tasks: new Map(Object.entries(tasks)), effects: new Map(Object.entries(effects)) };
  return { id, epic, from, startedAt, status, ...maps };
}

/** What is known of a run besides its record. */
export type Standing = {
  /** Is somebody at work on it? */
  readonly isAtWork: boolean;
  /** Is there no later run of its plan? No other can be gone on with. */
  readonly isNewest: boolean;
};

/** A recorded run in a list: one that did not come to its end is to be resumed, or was given up. */
export function summarizeRun(epic: EpicId, run: KnownRun, { isAtWork, isNewest }: Standing): RunSummary {
  const { id, head } = run;
  const { plan, from, startedAt } = head;
  const ended = isNewest ? 'resume_needed' : 'failed';
  const status = isUnfinished(run) && !isAtWork ? ended : head.status;
  return { id, name: plan, status, epicId: epic, from, startedAt: formatInstant(startedAt) };
}
