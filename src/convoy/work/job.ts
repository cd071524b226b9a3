import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { type ConvoyPlan, defaultWorkerAttempts } from '../../plan/convoy-plan.ts';
import type { Worker } from '../../plan/convoy-shape.ts';
import type { Task } from '../../plan/plan.ts';
import type { RunTrace } from '../../plan/run/trace-run.ts';
import { type RunProgress, recordTask, type TaskPorts } from '../../plan/task/do-task.ts';
import type { WorkerRecord } from '../../state/runs.ts';
import type { EpicId, Micros } from '../../types.ts';
import type { MergeQueue } from '../merge/merge-queue.ts';
import { taskEpic } from '../names.ts';
import type { ModelHistory } from '../route/route.ts';
import type { Slot } from '../worktree/slots.ts';
import type { UserState } from '../worktree/watch-user.ts';
import { readFeedback } from './task-texts.ts';
import { readTaskState, type TaskEvent, type TaskState, transition } from './task-transition.ts';

/** What the tasks of a convoy share. */
export type Convoy = {
  readonly epic: EpicId;
  readonly worker: Worker;
  /** Who looks at what a worker did before it is merged. */
  readonly review: NonNullable<ConvoyPlan['review']>;
  readonly queue: MergeQueue;
  readonly trace: Pick<RunTrace, 'workerEnv'>;
  /** Makes worktrees one after the other. */
  readonly makeInTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** The tasks that agents work on now, with what each worker may still spend. */
  readonly active: Map<string, { readonly task: Task; allowance: Micros | null }>;
  /** What is known of each task begun here; a task that is held or failed continues from it. */
  readonly jobs: Map<string, Job>;
  /** The newest lease of each task begun here: a later round of a loop continues from it. */
  readonly leases: Map<string, number>;
  /** How earlier tasks went, once that was needed. */
  history?: readonly ModelHistory[];
  /** What finished tasks have cost. */
  readonly finished: Micros[];
  /** What people ordered for tasks that are not being done now. */
  readonly wishes: Map<string, Wish>;
  /** The prompts to do, if not all of them. */
  readonly only: ReadonlySet<string> | null;
  /** Tasks that wait to be claimed. */
  readonly unclaimed: Set<string>;
  /** Tasks that are held because the convoy's budget cannot pay for them. */
  readonly unpaid: Set<string>;
  /** Tasks that wait because they collide, and with which. */
  readonly colliding: Map<string, readonly string[]>;
  /** Does the later of two tasks that collide wait? */
  readonly holdsCollisions: boolean;
  /** Has the plan been done before, by another run? */
  readonly hasEarlierRun: boolean;
  /** What was last seen of what is the user's. */
  readonly user: {
    state: UserState | null;
    readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  };
  /** Every task known so far, with those of lists that have begun. */
  readonly tasks: Map<string, Task>;
};

/** What a person wants of a task. */
export type Wish =
  /** Leave it; what needs it `goesOn` without, or is left too. */
  | { readonly kind: 'cancel'; readonly goesOn: boolean }
  /** Try it again: with this model, or from the start. */
  | { readonly kind: 'retry'; readonly model: string | null; readonly isFresh: boolean };

/** A task that is being done. */
export type Job = {
  deaths: number;
  /** Was it begun, in this run or before it was resumed? */
  hasBegun: boolean;
  readonly task: Task;
  readonly worker: Worker;
  readonly round: number;
  attempt: number;
  /** Does this attempt still have to begin? */
  isNew: boolean;
  /** Has a person been in its conversation, and does the worker continue, however they left? */
  wasJoined: boolean;
  /** Does the worker continue with the next phase? */
  entersPhase: boolean;
  /** Does the next worker begin a conversation of its own? */
  isFresh: boolean;
  /** Why the work was sent back. */
  feedback: string | null;
  record: WorkerRecord;
  state: TaskState;
  /** Ends what is done for it now, because a person wants something else. */
  stop: AbortController;
  /** Who does it, if no agent is started for it. */
  claim: Claim | null;
  /** What it has on this machine for itself; null before it begins. */
  slot: Slot | null;
};

/** A task that was claimed. */
export type Claim = {
  readonly by: string;
  /** The order that waits for a reply. */
  order: string | null;
  /** Called when they are done; null before they have begun. */
  end: ((how: { readonly problem: string | null }) => void) | null;
};

/** As `agent`: none is started for the task; a person, or an agent that works already, claims it. */
export const toBeClaimed = 'claim';

/** Finds what is known of a task, or begins to know it. */
export async function openJob(orch: Orch, convoy: Convoy, progress: RunProgress, task: Task): Promise<Job> {
  const round = progress.schedule.roundOf(task);
  const open = convoy.jobs.get(task.id);
  if (open?.round === round) return open;
  const job = await readJob(orch, convoy, progress, task, round);
  convoy.jobs.set(task.id, job);
  return job;
}

async function readJob(
  orch: Orch,
  convoy: Convoy,
  progress: RunProgress,
  task: Task,
  round: number,
): Promise<Job> {
  const known = convoy.jobs.has(task.id) ? undefined : lookUp(progress.run.recorded, task.id);
  const earlier = known?.worker ?? convoy.jobs.get(task.id)?.record;
  const isUnderWay = known?.status === 'running' || known?.status === 'pending';
  const begun = known?.status === 'succeeded' ? undefined : known?.worker;
  const base = begun?.base ?? (await convoy.queue.tip());
  const isContinued = isUnderWay && begun !== undefined && begun.lease > 0;
  return {
    task,
    worker: override(convoy.worker, task.convoy.worker),
    round,
    deaths: 0,
    hasBegun: begun !== undefined,
    attempt: isContinued ? Math.max(1, known?.attempts ?? 1) : 1,
    isNew: !isContinued,
    wasJoined: false,
    entersPhase: false,
    // What an earlier run left is kept, and not continued.
    isFresh: convoy.hasEarlierRun && !convoy.jobs.has(task.id) && known === undefined,
    feedback: begun ? readFeedback(orch, progress, task) : null,
    record: {
      ...{ lease: earlier?.lease ?? 0, step: 'working', epic: taskEpic(convoy.epic, task.id), base },
      ...{ agent: begun?.agent ?? '', model: begun?.model ?? null, commit: null, merged: null },
      costMicros: earlier?.costMicros ?? 0,
      ...(earlier?.rejectedMicros !== undefined && { rejectedMicros: earlier.rejectedMicros }),
      // More attempts were given on top of those before; one that starts over has as many as the plan says.
      ...(begun?.wanted && { wanted: isContinued ? begun.wanted : omitAttempts(begun.wanted) }),
      ...(begun?.tries && isContinued && { tries: begun.tries }),
      ...(begun?.tests && { tests: begun.tests }),
      ...(begun?.reviewMicros !== undefined && { reviewMicros: begun.reviewMicros }),
      ...(begun?.reviewed !== undefined && { reviewed: begun.reviewed }),
      ...(begun?.since !== undefined && { since: begun.since }),
      ...(begun?.refused !== undefined && { refused: begun.refused }),
      ...(begun?.tries !== undefined && { tries: begun.tries }),
      ...(begun?.complexity !== undefined && { complexity: begun.complexity }),
    },
    state: readTaskState(known, false),
    stop: new AbortController(),
    slot: null,
    claim: isContinued && isClaimable(convoy, task) ? { by: begun.agent, order: null, end: null } : null,
  };
}

function omitAttempts({ model }: NonNullable<WorkerRecord['wanted']>): WorkerRecord['wanted'] {
  return model === undefined ? {} : { model };
}

/** Is it claimed rather than given to an agent that is started for it? */
export function isClaimable(convoy: Pick<Convoy, 'worker'>, { convoy: { worker } }: Task): boolean {
  return override(convoy.worker, worker).agent === toBeClaimed;
}

/** The plan's worker, with what a task says otherwise. */
export function override(plan: Worker, task: Worker): Worker {
  return { ...plan, ...Object.fromEntries(Object.entries(task).filter(([, value]) => value !== undefined)) };
}

/** How many attempts a task has: as the plan says, and as many more as people gave it. */
export function mostAttempts({ worker, record }: Pick<Job, 'worker' | 'record'>): number {
  return Math.max(worker.attempts ?? defaultWorkerAttempts, record.wanted?.attempts ?? 0);
}

/** Gives a task as many attempts again as it had, with another model if one is named. */
export function retryJob(job: Job, { model, isFresh }: Extract<Wish, { kind: 'retry' }>): void {
  const isBegun = job.record.lease > 0;
  job.attempt += isBegun ? 1 : 0;
  job.isNew = true;
  job.isFresh = isFresh;
  job.deaths = 0;
  const attempts = job.attempt - 1 + (job.worker.attempts ?? defaultWorkerAttempts);
  const wanted = { ...job.record.wanted, attempts, ...(model !== null && { model }) };
  job.record = { ...job.record, wanted };
}

/** Takes note of what happens to a task. */
export function follow(job: Job, event: TaskEvent): void {
  const state = transition(job.state, event);
  if (state === null) throw new Error(`${job.task.id} is ${job.state}: it cannot be ${event} now`);
  job.state = state;
}

/** Takes note of what happens to a task, and records how far it is. */
export async function noteStep(
  ports: TaskPorts,
  progress: RunProgress,
  job: Job,
  event: 'begun' | 'finished' | 'committed' | 'held' | 'asked',
  why?: string,
): Promise<void> {
  follow(job, event);
  const step = steps.find((each) => each === job.state) ?? job.record.step;
  job.record = { ...job.record, step };
  const status = step === 'held' || step === 'needs_input' ? 'pending' : 'running';
  await recordTask(ports, progress, job.task, {
    status,
    attempts: job.attempt,
    worker: job.record,
    ...(why !== undefined && { why }),
  });
}

/** The states that are recorded as a step of the worker. */
const steps = ['working', 'needs_input', 'checking', 'merging', 'held'] as const;
