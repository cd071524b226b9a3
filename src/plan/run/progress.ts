import { groupBy } from '../../keyed.ts';
import type { EffectRecord, TaskRecord } from '../../state/runs.ts';
import type { StopReason } from '../../supervise/decide.ts';
import type { SessionEvent } from '../../supervise/look.ts';
import type { EpicId, Micros, Millis, Oid } from '../../types.ts';
import { formatInstant } from '../../units.ts';
import { type EffectFact, listOpenEffects } from '../effects/plan-effects.ts';
import type { Plan, Task } from '../plan.ts';
import { withoutItem } from '../references.ts';
import type { RollbackResult } from '../rollback/undo-work.ts';
import type { RerunReason } from './carry-tasks.ts';
import type { KnownRun } from './known-runs.ts';
import type { StartedRun } from './start-run.ts';

/* What a run reports: how it starts, what happens, and how far it is. */

export type RunStatus = 'succeeded' | 'failed' | 'resume_needed' | 'blocked';
type TaskStatus = TaskRecord['status'];

type TaskEffect = { readonly id: string; readonly task: string };

/** What a run starts with: what counts of an earlier run, and what does not. */
export type RunStart = {
  readonly id: string;
  readonly name: string;
  readonly epicId: EpicId;
  readonly sessionNumber: number;
  /** The run it continues from. */
  readonly from: string | null;
  /** Processes that a crash left running, by task; they were stopped. */
  readonly leftovers: StartedRun['leftovers'];
  /** Tasks that are done, effects included. */
  readonly done: readonly { readonly id: string; readonly number: number }[];
  /** Effects still to do, of tasks whose command has succeeded. */
  readonly openEffects: readonly TaskEffect[];
  /** Tasks that had succeeded, and run again. */
  readonly rerun: readonly { readonly task: string; readonly why: RerunReason }[];
  /** Tasks that count as done because the user says so, and what speaks against it. */
  readonly assumedDone: readonly { readonly task: string; readonly why: RerunReason | null }[];
  /** Tasks that are new in the plan or were not started yet: a run does not record the rest of its plan. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** What else is different, in sentences for people. */
  readonly changes: readonly string[];
  /** Effects that were done before and are not repeated, although their tasks run again. */
  readonly keptEffects: readonly TaskEffect[];
};

/** Describes what a run starts with. */
export function describeStart({ run, carried, changes, leftovers, started }: StartedRun): RunStart {
  const { plan, done, effects } = run;
  const { epic, session } = started.target;
  const open = listOpenEffects(effects)
    .map(({ record }) => record)
    .filter(({ task }) => done.has(task));
  const isOpen = new Set(open.map(({ task }) => task));
  const kept = effects
    .filter(({ effect, record }) => record.status === 'acknowledged' && record.digest === effect.digest)
    .map(({ record }) => record)
    .filter(({ task }) => !done.has(task));
  const nameEffect = ({ id, task }: TaskEffect) => ({ id, task });
  return {
    id: run.id,
    name: plan.name,
    epicId: epic,
    sessionNumber: started.state.sessions[session]?.value.number ?? 0,
    from: run.from,
    leftovers,
    done: plan.tasks
      .filter(({ id }) => done.has(id) && !isOpen.has(id))
      .map(({ id, number }) => ({ id, number })),
    openEffects: open.map(nameEffect),
    rerun: (carried?.rerun ?? []).map(({ task, why }) => ({ task: task.id, why })),
    assumedDone: (carried?.assumedDone ?? []).map(({ task, why }) => ({ task: task.id, why })),
    added: (carried?.added ?? []).map(({ id }) => id),
    removed: carried?.removed ?? [],
    changes,
    keptEffects: kept.map(nameEffect),
  };
}

/** What a run reports while it works. */
export type RunEvent =
  | {
      readonly kind: 'begun';
      readonly task: Task;
      readonly attempt: number;
      /** Does it continue an attempt that was interrupted? */
      readonly continues?: boolean;
    }
  /** Agents are about to work, or still do: where what they do is merged, and how many of them are as they were left. */
  | {
      readonly kind: 'workers';
      readonly isNew: boolean;
      readonly base: Oid;
      readonly budget: Micros | null;
      readonly working: number;
      readonly died: number;
    }
  | {
      readonly kind: 'retry';
      readonly task: Task;
      readonly attempt: number;
      readonly reason: string;
      /** How many attempts it has, if people gave it more than the plan does. */
      readonly most?: number;
    }
  | {
      readonly kind: 'ended';
      readonly task: Task;
      readonly status: 'succeeded' | 'failed' | 'skipped';
      readonly attempts: number;
      readonly most?: number;
      readonly elapsed: Millis;
      /** Why it failed. */
      readonly reason: string | null;
      /** The end of its output. */
      readonly output: string;
      /** The path of its log, which has all of the output; empty if it has none. */
      readonly log: string;
    }
  /** A group is repeated, because what it is repeated for does not hold yet. */
  | { readonly kind: 'round'; readonly task: Task; readonly round: number; readonly reason: string }
  /** The items of a list are known; each is a task of its own. */
  | { readonly kind: 'items'; readonly task: Task; readonly count: number }
  /** An effect cannot be done now, so the run has to stop and be resumed later. */
  | { readonly kind: 'held'; readonly task: Task; readonly reason: string }
  | { readonly kind: 'said'; readonly task: Task; readonly text: string }
  /** What succeeded is undone now, in so many steps. */
  | { readonly kind: 'rollback'; readonly steps: number }
  /** A task was undone, or one of its effects. */
  | { readonly kind: 'undone'; readonly task: Task; readonly effect: string | null }
  | {
      readonly kind: 'undo_failed';
      readonly task: Task;
      readonly effect: string | null;
      readonly reason: string;
    }
  | { readonly kind: 'stopping'; readonly why: StopReason }
  | SessionEvent;

export type TaskProgress = { readonly status: TaskStatus; readonly attempts: number };

/** How far the tasks and effects of a run are. */
type Progress = {
  readonly tasks: ReadonlyMap<string, TaskProgress>;
  readonly effects: ReadonlyMap<string, Pick<EffectFact, 'task' | 'status'>>;
};

/** Lists a plan's tasks with their progress. A task whose command succeeded is done once its effects are. */
export function listTasks(
  { tasks }: Plan,
  progress: Progress,
): (TaskProgress & Pick<Task, 'id' | 'number' | 'name'>)[] {
  const effects = new Map<string, EffectFact['status'][]>();
  for (const { task, status } of progress.effects.values())
    effects.set(task, [...(effects.get(task) ?? []), status]);
  return tasks.map(({ id, number, name }) => {
    const { status, attempts } = progress.tasks.get(id) ?? { status: 'pending', attempts: 0 };
    const open = (effects.get(id) ?? []).filter((each) => each !== 'acknowledged');
    const isOpen = status === 'succeeded' && open.length > 0;
    const now = !isOpen ? status : open.includes('blocked') ? 'failed' : 'running';
    return { id, number, name, status: now, attempts };
  });
}

/** How a run ended in this session. */
export type RunResult = {
  readonly status: RunStatus;
  /** Why it ended; `exit` if nothing was left to do. */
  readonly why: StopReason;
  /** What went wrong, if anything did. */
  readonly reason: string | null;
  /** With the tasks that were made of lists. */
  readonly plan: Plan;
  readonly tasks: ReadonlyMap<string, TaskProgress>;
  readonly effects: ReadonlyMap<string, EffectFact>;
  readonly rollback: RollbackResult | null;
  /** The number of the last checkpoint. */
  readonly saved: number | null;
};

/** A run as scripts see it. */
export type RunInfo = RunSummary & {
  readonly tasks: ReturnType<typeof listTasks>;
  readonly effects: readonly { readonly id: string; readonly key: string; readonly status: string }[];
  /** What was undone, if anything was. */
  readonly rollback?: {
    readonly status: 'done' | 'unfinished';
    readonly undone: RollbackResult['undone'];
    readonly kept: RollbackResult['kept'];
  };
};

/** A run as scripts see it in a list. */
export type RunSummary = {
  readonly id: string;
  readonly name: string;
  readonly status: RunStatus | 'running';
  readonly epicId: EpicId;
  /** The run it continues from. */
  readonly from: string | null;
  readonly startedAt: string;
};

/** A run in the list of runs. */
export type ListedRunInfo = RunSummary & { readonly rollback?: 'done' | 'unfinished' };

type RunFigures = Progress & {
  readonly id: string;
  readonly epic: EpicId;
  readonly from: string | null;
  readonly startedAt: Millis;
  readonly status: RunInfo['status'];
  readonly effects: ReadonlyMap<string, Pick<EffectRecord, 'task' | 'key' | 'status'>>;
  readonly rollback?: RollbackResult | null;
};

/** Describes a run of a plan. */
export function describeRun(plan: Plan, run: RunFigures): RunInfo {
  const { id, status, epic, from, startedAt, rollback } = run;
  return {
    id,
    name: plan.name,
    status,
    epicId: epic,
    from,
    startedAt: formatInstant(startedAt),
    tasks: listTasks(plan, run),
    effects: inPlanOrder(plan, run.effects).map(([effect, { key, status: how }]) => ({
      id: effect,
      key,
      status: how,
    })),
    ...(rollback && {
      rollback: {
        status: rollback.problem === null ? 'done' : 'unfinished',
        undone: rollback.undone,
        kept: rollback.kept,
      },
    }),
  };
}

/** Effects in the order of their plan, whichever was done first. */
function inPlanOrder<T>({ tasks }: Plan, effects: ReadonlyMap<string, T>): [id: string, effect: T][] {
  const ranks = new Map(tasks.flatMap((task) => task.effects).map(({ id }, rank) => [id, rank]));
  const rankOf = ([id]: [string, T]) => ranks.get(id) ?? ranks.get(withoutItem(id)) ?? ranks.size;
  return [...effects].sort((a, b) => rankOf(a) - rankOf(b));
}

/** Describes a recorded run of a plan. */
export function describeKnownRun(
  plan: Plan,
  epic: EpicId,
  { id, head, tasks, effects }: KnownRun,
  rollback: RollbackResult | null = null,
): RunInfo {
  const { from, startedAt, status } = head;
  const maps = { tasks: new Map(Object.entries(tasks)), effects: new Map(Object.entries(effects)) };
  return describeRun(withItems(plan, tasks), { id, epic, from, startedAt, status, rollback, ...maps });
}

/** The plan with the tasks that a run made of lists, as far as it has recorded them. */
function withItems(plan: Plan, records: KnownRun['tasks']): Plan {
  const ids = new Set(plan.tasks.map(({ id }) => id));
  const items = groupBy(
    Object.keys(records).filter((id) => !ids.has(id) && id !== withoutItem(id)),
    withoutItem,
  );
  if (items.size === 0) return plan;
  const listed = plan.tasks.flatMap((task) => {
    const own = task.parts?.each ? (items.get(task.id) ?? []) : [];
    return [...own.map((id) => ({ ...task, id, name: id })), task];
  });
  return { ...plan, tasks: listed };
}
