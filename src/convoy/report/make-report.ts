import type { Budget } from '../../cost/budget.ts';
import type { Micros, Millis } from '../../types.ts';
import { toMicros, toUsd } from '../../units.ts';
import type { ConvoySummary } from '../show-convoy.ts';
import type { TaskState } from '../work/task-transition.ts';
import type { ReportFacts, TaskFacts } from './report-facts.ts';
import { splitCost } from './task-money.ts';
import { splitTime, type TaskTime } from './task-time.ts';
import { type LeftForPerson, listLeft } from './what-is-left.ts';

/* What became of a convoy, for people and programs: decided from its records alone. */

export type ReportedAttempt = {
  /** Null for the attempts before those that are recorded one by one. */
  readonly attempt: number | null;
  readonly model: string | null;
  /** Why this model. */
  readonly why: string | null;
  readonly costUsd: number;
  /** Why it was not accepted; null for one that was, or is not over. */
  readonly refused: string | null;
  readonly red: readonly { readonly gate: string; readonly failing: readonly string[] }[];
  readonly conflicts: readonly string[];
};

export type ReportedTask = {
  readonly id: string;
  readonly name: string;
  readonly status: TaskState;
  readonly agent: string | null;
  readonly complexity: string | null;
  /** How many there were; `made` has those that are recorded one by one. */
  readonly attempts: number;
  readonly made: readonly ReportedAttempt[];
  readonly costUsd: number;
  readonly rejectedUsd: number;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** In seconds; null if no worker has begun it. */
  readonly time: { readonly [K in keyof TaskTime]: number } | null;
  readonly reason: string | null;
  readonly wasRetried: boolean;
  /** The commit on the merged branch that has its work. */
  readonly commit: string | null;
};

export type ReportedQuestion = {
  readonly task: string;
  readonly text: string;
  readonly answer: string | null;
};

export type ConvoyReport = {
  readonly convoy: Omit<ConvoySummary, 'counts'> & {
    readonly planFile: string | null;
    readonly earlierRuns: number;
    readonly seconds: number;
  };
  readonly counts: ConvoySummary['counts'];
  readonly money: {
    readonly budget: Budget;
    /** Everything: the tasks, and what is no task's. */
    readonly spentUsd: number;
    readonly rejectedUsd: number;
    readonly otherUsd: number;
    readonly byModel: readonly {
      /** Null if the agent chose it, or it is not recorded. */
      readonly model: string | null;
      readonly agent: string | null;
      readonly attempts: number;
      readonly refused: number;
      readonly costUsd: number;
    }[];
  };
  readonly tasks: readonly ReportedTask[];
  readonly witness: readonly { readonly task: string; readonly at: string; readonly text: string }[];
  readonly questions: readonly ReportedQuestion[];
  readonly collisions: ReportFacts['collisions'];
  readonly left: readonly LeftForPerson[];
  /** What a reader might miss, in words. */
  readonly notRecorded: readonly string[];
};

/** Makes the report of a convoy. */
export function makeReport(facts: ReportFacts): ConvoyReport {
  const { convoy, now, planFile, earlierRuns } = facts;
  const tasks = facts.tasks.map((each) => reportTask(each, now));
  const counts: { [S in TaskState]?: number } = {};
  for (const { status } of tasks) counts[status] = (counts[status] ?? 0) + 1;
  const ofTasks = sum(tasks.map(({ costUsd }) => toMicros(costUsd)));
  // What a worker has just spent is its task's before it is the convoy's.
  const spent = Math.max(ofTasks, toMicros(convoy.budget.spentUsd));
  const until = convoy.endedAt === null ? now : Date.parse(convoy.endedAt);
  return {
    convoy: { ...convoy, planFile, earlierRuns, seconds: toSeconds(until - Date.parse(convoy.startedAt)) },
    counts,
    money: {
      budget: convoy.budget,
      spentUsd: toUsd(spent),
      rejectedUsd: toUsd(sum(tasks.map(({ rejectedUsd }) => toMicros(rejectedUsd)))),
      otherUsd: toUsd(spent - ofTasks),
      byModel: sumByModel(tasks),
    },
    tasks,
    witness: facts.tasks.flatMap(({ task, history }) =>
      (history?.witness ?? []).map(({ at, text }) => {
        return { task: task.id, at: new Date(at).toISOString(), text };
      }),
    ),
    questions: facts.tasks.flatMap(({ task, history }) =>
      (history?.questions ?? []).map(({ text, answer }) => ({ task: task.id, text, answer })),
    ),
    collisions: facts.collisions,
    left: listLeft(facts),
    notRecorded: listNotRecorded(facts),
  };
}

function reportTask({ task, complexity, tries, wasRetried, history }: TaskFacts, now: Millis): ReportedTask {
  const { id, name, status, agent, costUsd, rejectedUsd, startedAt, endedAt, reason, commit } = task;
  const made = splitCost({ task, tries }).map(({ made: own, cost }): ReportedAttempt => {
    return {
      ...{ attempt: own?.attempt ?? null, model: own?.model ?? null, why: own?.why ?? null },
      ...{ costUsd: toUsd(cost), refused: own?.refused ?? null },
      ...{ red: own?.red ?? [], conflicts: own?.conflicts ?? [] },
    };
  });
  // One that was begun anew counts its attempts from 1 again.
  const attempts = Math.max(task.attempts, tries.length);
  const until = endedAt === null ? now : Date.parse(endedAt);
  const time =
    startedAt === null || history === null ? null : splitTime(history, Date.parse(startedAt), until);
  return {
    ...{ id, name, status, agent, complexity, attempts, made, costUsd, rejectedUsd, startedAt, endedAt },
    ...{ time: time && inSeconds(time), reason, wasRetried, commit },
  };
}

function inSeconds(time: TaskTime): { [K in keyof TaskTime]: number } {
  const { whole, working, forPeople, forMoney, paused, between } = time;
  return {
    ...{ whole: toSeconds(whole), working: toSeconds(working), forPeople: toSeconds(forPeople) },
    ...{ forMoney: toSeconds(forMoney), paused: toSeconds(paused), between: toSeconds(between) },
  };
}

/** Of what is not a whole second, the tenths matter. */
function toSeconds(span: Millis): number {
  return Math.max(0, Math.round(span / 100) / 10);
}

type ByModel = ConvoyReport['money']['byModel'][number];

/** The most expensive first. */
function sumByModel(tasks: readonly ReportedTask[]): ByModel[] {
  const known = new Map<string, Omit<ByModel, 'costUsd'> & { readonly cost: Micros }>();
  for (const { agent, made } of tasks)
    for (const { model, attempt, refused, costUsd } of made) {
      const who = model === null ? agent : null;
      const key = JSON.stringify([model, who]);
      const before = known.get(key) ?? { model, agent: who, attempts: 0, refused: 0, cost: 0 };
      known.set(key, {
        ...before,
        attempts: before.attempts + (attempt === null ? 0 : 1),
        refused: before.refused + (refused === null ? 0 : 1),
        cost: before.cost + toMicros(costUsd),
      });
    }
  const all = [...known.values()].sort(
    (a, b) => b.cost - a.cost || ((a.model ?? '') < (b.model ?? '') ? -1 : 1),
  );
  return all.map(({ cost, ...rest }) => ({ ...rest, costUsd: toUsd(cost) }));
}

function listNotRecorded({ tasks, unread, damaged, earlierRuns, convoy }: ReportFacts): string[] {
  const isUnsplit = ({ task, tries }: TaskFacts) => task.attempts > tries.length && task.agent !== null;
  const unsplit = tasks.filter(isUnsplit).map(({ task }) => task.id);
  const hasWorked = tasks.some(({ history }) => history !== null);
  return [
    ...(hasWorked
      ? [
          "How long a worker waited at its provider's limit is part of its working time, and so is a wait with orch ask --wait.",
        ]
      : []),
    ...(unsplit.length === 0
      ? []
      : [`Attempt by attempt, some are not recorded: ${nameSome(unsplit)}. What they cost is in the sums.`]),
    ...(earlierRuns > 0
      ? [`${convoy.name} has been started ${earlierRuns + 1} times; the money is that of all its runs.`]
      : []),
    ...(unread > 0
      ? [`The times, questions and witness notes of ${unread} tasks were not read: there are too many.`]
      : []),
    ...damaged.map((what) => `Some records could not be read: ${what}.`),
  ];
}

function nameSome(names: readonly string[]): string {
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${names.slice(0, 5).join(', ')}${more}`;
}

function sum(amounts: readonly Micros[]): Micros {
  return amounts.reduce((total, each) => total + each, 0);
}
