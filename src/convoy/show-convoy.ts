import type { Budget } from '../cost/budget.ts';
import { readBranch } from '../git/worktree/merge-commits.ts';
import { listOwnWorktrees } from '../git/worktree/own-worktrees.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import { loadConvoyPlan } from '../plan/parse-plan.ts';
import type { Plan, Task } from '../plan/plan.ts';
import { type KnownRun, readRun } from '../plan/run/known-runs.ts';
import { readWaiting } from '../session/agent/agent-waiting.ts';
import { describeMoney } from '../session/epic-status.ts';
import { type Collision, readCurrent } from '../state/current.ts';
import type { TaskRecord } from '../state/runs.ts';
import type { EpicId, Micros, Millis } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { type KnownHealth, readHealth } from '../witness/health-file.ts';
import type { Health } from '../witness/judge.ts';
import { countBy, countStates, fewTasks, sizeOf } from './count-states.ts';
import { expectEnd } from './expected-end.ts';
import type { KnownConvoy } from './find-convoy.ts';
import { mergedBranch, taskBranch, taskEpic, worktreeName } from './names.ts';
import { readTaskState, type TaskState } from './work/task-transition.ts';
import { readEvidence } from './worker/evidence.ts';
import { isWorking, readWorker, type WorkerState } from './worker/worker.ts';
import { isFreeWorktree } from './worktree/free-worktrees.ts';

/* How a convoy is, and each of its tasks. */

export type ConvoyTask = {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly status: TaskState;
  /** How the agent is that works on it now; null if none does. */
  readonly health: Health | null;
  /** The attempts, oldest first: with which model, why with that, and why each was not accepted. */
  readonly tries: readonly {
    readonly attempt: number;
    readonly model: string | null;
    readonly why: string;
    readonly refused: string | null;
  }[];
  /** What the witness sees, if that is worth a word, and what it did about it. */
  readonly witness: KnownHealth | null;
  readonly attempts: number;
  readonly agent: string | null;
  readonly model: string | null;
  readonly worktree: string | null;
  readonly branch: string;
  readonly epicId: EpicId;
  readonly sessionId: string | null;
  readonly labels: readonly string[];
  readonly costUsd: number;
  /** How much of it went into attempts that were not accepted. */
  readonly rejectedUsd: number;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** When its state last changed, as far as it is recorded. */
  readonly changedAt: string | null;
  readonly reason: string | null;
  /** What its agent said or did last, while it works. */
  readonly doing: string | null;
  /** When that was. */
  readonly activeAt: string | null;
  /** The tasks it conflicts with as it is now, or `merged`, and in which files. */
  readonly collisions: readonly { readonly task: string; readonly files: readonly string[] }[];
  /** The commit on the merged branch that has its work. */
  readonly commit: string | null;
};

export type ConvoyStatus = 'running' | 'paused' | 'succeeded' | 'failed' | 'cancelled' | 'interrupted';

export type ConvoySummary = {
  readonly id: string;
  readonly name: string;
  readonly epicId: EpicId;
  readonly status: ConvoyStatus;
  /** The plan's file; null if it is gone. */
  readonly plan: string | null;
  readonly base: string | null;
  readonly merged: string | null;
  readonly budget: Budget;
  readonly startedAt: string;
  readonly endedAt: string | null;
  /** How many tasks are in each state. */
  readonly counts: { readonly [S in TaskState]?: number };
};

export type ConvoyInfo = ConvoySummary & {
  /** How many agents work now. */
  readonly workers: number;
  /** When it will probably be done, as far as its tasks so far tell; null if that is unknown, or it is not at work. */
  readonly expectedEnd: string | null;
  readonly tasks: readonly ConvoyTask[];
  /** How many tasks are not listed: in a large convoy, only those that matter are, unless all are asked for. */
  readonly unlisted: number;
};

/** Describes a convoy without its tasks. */
export async function summarizeConvoy(orch: Orch, convoy: KnownConvoy): Promise<ConvoySummary> {
  // How workers are, and what they ask, is not in the convoy's own records.
  const isSmall = sizeOf(convoy, {}) <= fewTasks;
  return isSmall
    ? leaveOutTasks(await showConvoy(orch, convoy))
    : summarize(orch, convoy, await countStates(orch, convoy));
}

function leaveOutTasks({ tasks, workers, unlisted, ...summary }: ConvoyInfo): ConvoySummary {
  return summary;
}

async function summarize(
  orch: Orch,
  { epic, view, run, isActive, path }: KnownConvoy,
  counts: ConvoySummary['counts'],
): Promise<ConvoySummary> {
  const { id, head } = run;
  return {
    ...{ id, name: head.plan, epicId: epic, plan: path },
    status: isActive ? 'running' : endedStatus(head.status, counts),
    base: readCurrent(view.state, 'convoy')?.base ?? null,
    merged: await readBranch(orch.repository, mergedBranch(epic)),
    budget: describeMoney(view.state),
    startedAt: formatInstant(head.startedAt),
    endedAt: head.endedAt === null ? null : formatInstant(head.endedAt),
    counts,
  };
}

/** Describes a convoy with its tasks: of many, those that matter, or all if they are asked for. */
export async function showConvoy(orch: Orch, convoy: KnownConvoy, wantsAll = false): Promise<ConvoyInfo> {
  const { epic, view, run, path } = convoy;
  const counted = await countStates(orch, convoy);
  const total = sizeOf(convoy, counted);
  const isWhole = wantsAll || total <= fewTasks;
  const known: Pick<KnownRun, 'tasks'> = isWhole ? await readRun(orch.git, view, run) : run.inDocument;
  const plan = isWhole ? loadIfThere(path) : null;
  const own = listOwnWorktrees(orch, `${epic}/`).filter((each) => !isFreeWorktree(each));
  const worktrees = new Map(own.map(({ name, path: at }) => [name, at]));
  const collisions = readCurrent(view.state, 'collisions')?.current ?? [];
  const tasks: ConvoyTask[] = [];
  for (const task of listTasks(plan, known.tasks)) {
    const record = lookUp(known.tasks, task.id);
    const isBegun = record?.worker !== undefined && record.worker.lease > 0;
    const isOver = record?.status === 'succeeded' || record?.status === 'skipped';
    const worker = isBegun && !isOver ? await readWorker(orch, taskEpic(epic, task.id)) : null;
    const isReady = (need: string) => lookUp(known.tasks, need)?.status === 'succeeded';
    const at = worktrees.get(worktreeName(epic, task.id)) ?? null;
    const seen =
      worker && isWorking(worker)
        ? await readEvidence(orch, taskEpic(epic, task.id), { session: worker.session, worktree: at })
        : null;
    const witnessed = worker?.session == null ? null : readHealth(orch.home, worker.session);
    tasks.push({
      ...{ id: task.id, number: task.number, name: task.name, labels: task.labels },
      ...describeRecord(record, worker, isBegun || !task.needs.every(isReady)),
      health: describeHealth(orch, record, worker, witnessed),
      witness: witnessed,
      ...{ worktree: at, doing: seen?.doing ?? null },
      collisions: isBegun && !isOver ? collisionsOf(collisions, task.id) : [],
      activeAt: seen?.at == null ? null : formatInstant(seen.at),
      ...{ branch: taskBranch(epic, task.id), epicId: taskEpic(epic, task.id) },
    });
  }
  const workers = tasks.filter(({ health }) => health !== null && health !== 'dead').length;
  // What is read of all tasks says more than the counts.
  const counts = isWhole ? countBy(tasks) : counted;
  return {
    ...(await summarize(orch, convoy, counts)),
    workers,
    expectedEnd: convoy.isActive && plan !== null ? describeEnd(plan, tasks, orch.clock.now()) : null,
    tasks,
    unlisted: Math.max(0, total - tasks.length),
  };
}

function describeEnd(
  { tasks: planned, convoy }: Plan,
  tasks: readonly ConvoyTask[],
  now: Millis,
): string | null {
  const needs = new Map(planned.map((task) => [task.id, task.needs]));
  const at = (instant: string | null) => (instant === null ? null : Date.parse(instant));
  const end = expectEnd(
    tasks.flatMap(({ id, status, startedAt, endedAt }) =>
      over.includes(status)
        ? []
        : [
            {
              ...{ id, needs: needs.get(id) ?? [], isDone: status === 'done' },
              ...{ startedAt: at(startedAt), endedAt: at(endedAt) },
            },
          ],
    ),
    convoy.workers ?? 4,
    now,
  );
  return end === null ? null : formatInstant(end);
}

/** What these wait for is a person. */
const over: readonly TaskState[] = ['failed', 'cancelled', 'skipped', 'held', 'needs_input'];

function collisionsOf(all: readonly Collision[], task: string): ConvoyTask['collisions'] {
  return all
    .filter(({ one, other }) => one === task || other === task)
    .map(({ one, other, files }) => ({ task: one === task ? other : one, files }));
}

type ListedTask = Pick<Task, 'id' | 'number' | 'name' | 'needs'> & { readonly labels: readonly string[] };

/** The tasks of the plan, and those that are recorded though the plan does not name them any more. */
function listTasks(plan: Plan | null, records: KnownRun['tasks']): ListedTask[] {
  const planned = (plan?.tasks ?? []).map((task) => ({ ...task, labels: task.convoy.labels }));
  const ids = new Set(planned.map(({ id }) => id));
  const others = Object.entries(records).filter(([id, { status, worker }]) => {
    const isOpen = status !== 'pending' || worker !== undefined;
    return !ids.has(id) && isOpen;
  });
  return [
    ...planned,
    ...others.map(([id], index) => {
      return { id, number: planned.length + index + 1, name: id, needs: [], labels: [] };
    }),
  ];
}

/** Loads the plan of a convoy; null if it cannot be read now. */
export function loadIfThere(path: string | null): Plan | null {
  try {
    return path === null ? null : loadConvoyPlan(path);
  } catch {
    return null; // a plan that is being edited
  }
}

function describeRecord(record: TaskRecord | undefined, worker: WorkerState | null, isBlocked: boolean) {
  const own = record?.worker;
  const [question] = worker?.questions ?? [];
  const isAsking = question !== undefined && record?.status !== 'failed';
  const isOpen = record?.status === 'running' || record?.status === 'pending';
  const isDead = isOpen && own?.step === 'working' && worker !== null && !isWorking(worker);
  // A worker that was paused, or is out of money, waits for a person, whether or not the scheduler has seen it.
  const isPaused = isDead && (worker.condition === 'paused' || worker.condition === 'budget_exceeded');
  const isDone = isDead && worker.condition === 'completed';
  const isAnswered = isOpen && own?.step === 'needs_input' && worker !== null && question === undefined;
  const known = isAnswered ? 'ready' : readTaskState(record, isBlocked);
  const seen = isPaused ? 'held' : isDone ? 'checking' : known;
  const state = isAsking ? 'needs_input' : seen;
  const ended = state === 'done' || state === 'failed' || state === 'cancelled' || state === 'skipped';
  const spent: Micros = Math.max(own?.costMicros ?? 0, worker?.spent ?? 0);
  const answered = isAnswered ? 'its question is answered; it continues with the convoy' : null;
  const idle = isDead ? describeCondition(worker) : answered;
  return {
    status: state,
    attempts: record?.attempts ?? 0,
    ...{ agent: own?.agent ? own.agent : null, model: own?.model ?? null },
    sessionId: worker?.session ?? own?.session ?? null,
    costUsd: toUsd(spent),
    rejectedUsd: toUsd(own?.rejectedMicros ?? 0),
    tries: (own?.tries ?? []).map(({ attempt, model, why, refused }) => {
      return { attempt, model, why, refused: refused ?? null };
    }),
    startedAt: own?.since === undefined ? null : formatInstant(own.since),
    endedAt: ended && record ? formatInstant(record.at) : null,
    changedAt: question?.askedAt ?? (record ? formatInstant(record.at) : null),
    reason: question?.text ?? idle ?? record?.why ?? null,
    commit: own?.merged ?? null,
  };
}

function describeCondition({ condition, reason }: WorkerState): string {
  switch (condition) {
    case null:
      return 'its worker has not started';
    case 'completed':
      return 'its agent is done; its work is not merged yet';
    case 'interrupted':
      return 'its worker died';
    case 'budget_exceeded':
      return 'its budget is used up';
    default:
      return reason ?? `its worker is ${condition}`;
  }
}

function describeHealth(
  { home, clock }: Orch,
  record: TaskRecord | undefined,
  worker: WorkerState | null,
  witnessed: KnownHealth | null,
): ConvoyTask['health'] {
  if (worker === null || record?.status !== 'running' || record.worker?.step !== 'working') return null;
  if (!isWorking(worker)) return worker.condition === 'interrupted' ? 'dead' : null;
  const waiting = worker.session === null ? null : readWaiting(home, worker.session);
  if (waiting === null) return worker.questions.length > 0 ? 'waiting' : (witnessed?.health ?? 'working');
  if (waiting.for !== 'limit') return 'waiting';
  return typeof waiting.until === 'number' && waiting.until <= clock.now() ? 'waiting' : 'limited';
}

function endedStatus(status: KnownRun['head']['status'], counts: ConvoySummary['counts']): ConvoyStatus {
  if (status === 'running') return 'interrupted';
  if (status === 'resume_needed') return 'paused';
  if (status === 'blocked') return 'failed';
  return status === 'succeeded' && counts.cancelled !== undefined ? 'cancelled' : status;
}
