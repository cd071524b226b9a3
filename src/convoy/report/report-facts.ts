import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { listRuns, readRun } from '../../plan/run/known-runs.ts';
import { readView } from '../../record/view.ts';
import { readCurrent } from '../../state/current.ts';
import type { State } from '../../state/lists.ts';
import type { WorkerRecord } from '../../state/runs.ts';
import type { Millis, Status } from '../../types.ts';
import { isLanded, type KnownConvoy } from '../find-convoy.ts';
import { type ConvoySummary, type ConvoyTask, showConvoy } from '../show-convoy.ts';

/* What a report about a convoy is made from: all of it is in the records, whatever has become of plan and branches. */

export type Try = NonNullable<WorkerRecord['tries']>[number];

/** One of a task's workers: how long it worked, and how that ended. */
export type WorkerSession = {
  readonly startedAt: Millis;
  /** Null if it works, or died and was not continued. */
  readonly endedAt: Millis | null;
  readonly status: Status;
};

export type AskedQuestion = {
  readonly text: string;
  readonly answer: string | null;
  /** When it was answered; null while it is open. */
  readonly resolvedAt: Millis | null;
};

export type WitnessNote = { readonly text: string; readonly at: Millis };

/** What a task's own epic says. */
export type TaskHistory = {
  readonly sessions: readonly WorkerSession[];
  readonly questions: readonly AskedQuestion[];
  readonly witness: readonly WitnessNote[];
};

export type TaskFacts = {
  readonly task: Pick<
    ConvoyTask,
    | 'id'
    | 'name'
    | 'status'
    | 'attempts'
    | 'agent'
    | 'model'
    | 'costUsd'
    | 'rejectedUsd'
    | 'startedAt'
    | 'endedAt'
    | 'reason'
    | 'commit'
  >;
  readonly complexity: string | null;
  readonly tries: readonly Try[];
  /** Did a person have it tried again? */
  readonly wasRetried: boolean;
  /** Null if no worker began it, or there are too many tasks to read them all. */
  readonly history: TaskHistory | null;
};

export type ReportFacts = {
  readonly convoy: Omit<ConvoySummary, 'counts'>;
  readonly now: Millis;
  /** Its plan's path from the top of the working tree; null if it was started without a file. */
  readonly planFile: string | null;
  /** How often it had been done before: what that cost is in the money. */
  readonly earlierRuns: number;
  /** Does a branch of the user have what is merged? Null if the merged branch is gone. */
  readonly isLanded: boolean | null;
  /** Which tasks' work collided while they worked, and in which files. */
  readonly collisions: readonly { readonly tasks: readonly string[]; readonly files: readonly string[] }[];
  readonly tasks: readonly TaskFacts[];
  /** How many tasks have a history that was not read. */
  readonly unread: number;
  /** Records that could not be read. */
  readonly damaged: readonly string[];
};

/** More histories than anyone reads; those of tasks that went wrong come first. */
export const mostHistories = 500;

/** Reads what is recorded about a convoy's newest run. */
export async function readReportFacts(
  orch: Orch,
  known: KnownConvoy,
  most = mostHistories,
): Promise<ReportFacts> {
  const { view, run } = known;
  const { counts: _, workers, unlisted, tasks, ...convoy } = await showConvoy(orch, known, true);
  const recorded = await readRun(orch.git, view, run);
  const begun = tasks.filter(({ id }) => (lookUp(recorded.tasks, id)?.worker?.lease ?? 0) > 0);
  const wentWrong = ({ status, attempts }: ConvoyTask) => status !== 'done' || attempts > 1;
  const inOrder = [...begun.filter(wentWrong), ...begun.filter((task) => !wentWrong(task))];
  const read = inOrder.slice(0, most);
  const histories = new Map(
    await Promise.all(
      read.map(async ({ id, epicId }) => {
        const { state } = await readView(orch, epicId);
        return [id, readHistory(state, run.head.startedAt)] as const;
      }),
    ),
  );
  const { told = {} } = readCurrent(view.state, 'collisions') ?? {};
  return {
    convoy,
    now: orch.clock.now(),
    planFile: run.head.file ?? null,
    earlierRuns: listRuns(view.state).length - 1,
    isLanded: convoy.merged === null ? null : await isLanded(orch, known),
    collisions: Object.entries(told).map(([pair, files]) => ({ tasks: pair.split(' '), files })),
    tasks: tasks.map((task): TaskFacts => {
      const worker = lookUp(recorded.tasks, task.id)?.worker;
      return {
        task,
        complexity: worker?.complexity ?? null,
        tries: worker?.tries ?? [],
        wasRetried: worker?.wanted !== undefined,
        history: histories.get(task.id) ?? null,
      };
    }),
    unread: inOrder.length - read.length,
    damaged: recorded.damaged,
  };
}

/** What the epic of a task recorded since its convoy's run began. */
function readHistory({ sessions, questions, notes }: State, since: Millis): TaskHistory {
  const isNew = ({ stamp }: { readonly stamp: readonly [Millis, ...unknown[]] }) => stamp[0] >= since;
  const worked = Object.values(sessions)
    .map(({ value }) => value)
    .filter(({ forCalls, startedAt }) => !forCalls && startedAt >= since)
    .sort((a, b) => a.startedAt - b.startedAt);
  return {
    sessions: worked.map(({ startedAt, endedAt, status }) => ({ startedAt, endedAt, status })),
    questions: Object.values(questions)
      .filter(isNew)
      .sort((a, b) => a.stamp[0] - b.stamp[0])
      .map(({ value: { text, answer, resolvedAt } }) => ({ text, answer, resolvedAt })),
    witness: Object.entries(notes)
      .filter(([id, entry]) => id.startsWith('w-') && isNew(entry))
      .map(([, { value, stamp }]) => ({ text: value.text, at: stamp[0] }))
      .sort((a, b) => a.at - b.at),
  };
}
