import { nextMergeStep, type Verdict } from '../../src/convoy/merge/next-merge-step.ts';
import { type Allowance, decideAllowance } from '../../src/convoy/work/allowance.ts';
import {
  type AttemptResult,
  decideAfterAttempt,
  decideAfterWorker,
  needsWorker,
} from '../../src/convoy/work/decide-next.ts';
import { type TaskEvent, type TaskState, transition } from '../../src/convoy/work/task-transition.ts';
import type { TaskWorktree } from '../../src/convoy/worktree/task-worktree.ts';
import { parseOid } from '../../src/ids.ts';
import {
  type Ended,
  nothingKnown,
  openSchedule,
  type ScheduledTask,
} from '../../src/plan/schedule/schedule.ts';
import { identifyThisProcess } from '../../src/system/process/identity.ts';

/*
 * A convoy as the deciding functions see it: real decisions about played workers, merges and gates. What would be on disk
 * survives the scheduler; everything else is made anew from it.
 */

/** What a worker does, by its lease. `dies`: its supervisor is gone. `spends`: all that it may. */
export type Behaviour = 'succeeds' | 'fails' | 'conflicts' | 'red' | 'asks' | 'dies' | 'spends';

export type PlayedTask = ScheduledTask & {
  readonly mostAttempts: number;
  readonly budget: number | null;
  /** What each of its workers spends. */
  readonly cost: number;
  /** The first worker does the first, and so on; the last one succeeds. */
  readonly behaviours: readonly Behaviour[];
};

export type Story = {
  readonly tasks: readonly PlayedTask[];
  readonly workers: number;
  readonly batch: number;
  readonly budget: number | null;
  /** Which of the things that may happen next does; and before which of them the scheduler dies. */
  readonly choices: readonly number[];
  readonly deaths: readonly number[];
};

type Condition = 'running' | 'completed' | 'failed' | 'interrupted' | 'budget_exceeded';

/** What is recorded of a task, and what its newest worker is. */
type Kept = {
  state: TaskState;
  attempt: number;
  lease: number;
  refused: number;
  spent: number;
  condition: Condition | null;
  behaviour: Behaviour;
  allowance: number | null;
  isAnswered: boolean;
};

type Job = { isNew: boolean; deaths: number; step: 'begin' | 'work' | 'merge' };
type Link = { readonly id: string; verdict: Verdict };

export type Played = {
  /** What was decided, in its order. */
  readonly decisions: readonly string[];
  readonly merged: readonly string[];
  readonly states: { readonly [id: string]: TaskState };
  /** Leases in the order they were given, by task. */
  readonly leases: { readonly [id: string]: readonly number[] };
  readonly mostWorkers: number;
  /** By how much what was promised was ever more than what was left. */
  readonly overpromised: number;
  /** Pairs of tasks that worked beside each other though they share files. */
  readonly beside: readonly (readonly [string, string])[];
  /** Trees that landed with the work of a red or conflicting worker in them. */
  readonly wrong: readonly string[];
};

/** Plays a convoy until nothing can happen any more. `hasPeople`: they answer, and continue what is held. */
export function playConvoy(story: Story, hasPeople: boolean): Played {
  const { tasks, workers, batch } = story;
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const kept = new Map<string, Kept>(tasks.map(({ id }) => [id, begin()]));
  const decisions: string[] = [];
  const merged: string[] = [];
  const leases: Record<string, number[]> = {};
  const beside: (readonly [string, string])[] = [];
  const wrong: string[] = [];
  let mostWorkers = 0;
  let overpromised = 0;
  let budget = story.budget;
  let helped = 0;

  const get = (id: string): Kept => {
    const found = kept.get(id);
    if (found === undefined) throw new Error(`there is no ${id}`);
    return found;
  };
  const spent = () => [...kept.values()].reduce((sum, each) => sum + each.spent, 0);
  const follow = (id: string, event: TaskEvent) => {
    const own = get(id);
    const to = transition(own.state, event);
    if (to === null) throw new Error(`${id} is ${own.state}: it cannot be ${event}`);
    decisions.push(`${id} ${event}: ${to}`);
    own.state = to;
  };

  let schedule = openSchedule(tasks, nothingKnown, workers);
  let jobs: Map<string, Job>;
  let waiting: string[];
  let chain: Link[];
  let isBlocked: boolean;
  let finished: number[];
  /** A scheduler begins: from the plan and from what is kept. */
  const open = () => {
    const done = [...kept].filter(([, { state }]) => state === 'done');
    const ended = new Map<string, Ended>(done.map(([id]) => [id, { status: 'succeeded' }]));
    const working = [...kept].filter(([, { state }]) => ['working', 'checking', 'merging'].includes(state));
    const underWay = new Set(working.map(([id]) => id));
    schedule = openSchedule(tasks, { ended, begun: new Map(), before: new Map(), underWay }, workers);
    jobs = new Map();
    waiting = [];
    chain = [];
    isBlocked = false;
    finished = done.map(([, each]) => each.spent);
    // What adopted workers may still spend is theirs.
    for (const each of kept.values()) if (each.condition !== 'running') each.allowance = null;
  };
  open();

  /** What an attempt ended with, and what follows. */
  const end = (id: string, result: AttemptResult['kind']) => {
    const own = get(id);
    const job = jobs.get(id);
    const task = byId.get(id);
    if (job === undefined || task === undefined) return;
    own.allowance = null;
    const next = decideAfterAttempt(resultOf(result), {
      ...{ attempt: own.attempt, mostAttempts: task.mostAttempts, deaths: job.deaths },
      ...{ isCancelled: false, isClaimable: false },
    });
    decisions.push(`${id} ${next.kind}`);
    switch (next.kind) {
      case 'continue':
        follow(id, next.event);
        job.deaths += next.event === 'died' ? 1 : 0;
        job.step = 'begin';
        return;
      case 'wait for money':
        follow(id, 'held');
        follow(id, 'opened');
        job.step = 'begin';
        return;
      case 'try again':
        follow(id, 'sent_back');
        Object.assign(own, { refused: own.lease, attempt: own.attempt + 1 });
        Object.assign(job, { isNew: true, step: 'begin' });
        return;
      case 'finish':
        follow(id, 'merged');
        finished.push(own.spent);
        jobs.delete(id);
        return schedule.finish(id, { status: 'succeeded' });
      case 'fail':
        follow(id, 'given_up');
        jobs.delete(id);
        return schedule.finish(id, { status: 'failed' });
      default:
        follow(id, next.kind === 'ask' ? 'asked' : 'held');
        jobs.delete(id);
        schedule.hold(id);
    }
  };

  const allow = (id: string): Allowance => {
    const task = byId.get(id);
    const others = [...kept].filter(([other, { allowance }]) => other !== id && allowance !== null);
    return decideAllowance({
      left: budget === null ? null : budget - spent(),
      outstanding: others.map(([, { allowance }]) => allowance),
      taskLeft: task?.budget == null ? null : task.budget - get(id).spent,
      finished,
      spent: get(id).spent,
      waiting: [...jobs].flatMap(([other, { step }]) => {
        if (other === id || step !== 'begin' || get(other).allowance !== null) return [];
        const cap = byId.get(other)?.budget ?? null;
        return [cap === null ? null : Math.max(0, cap - get(other).spent)];
      }),
    });
  };

  /** Starts a worker, waits for money, or takes what the worker of before did. */
  const beginWork = (id: string, job: Job) => {
    const own = get(id);
    if (own.lease > 0 && own.lease === own.refused) job.isNew = true;
    const facts = { isNew: job.isNew, hasUnheard: own.condition === 'completed' && own.isAnswered };
    if (own.condition === 'running' || !needsWorker({ ...facts, condition: own.condition })) {
      job.step = 'work';
      return;
    }
    const allowance = allow(id);
    if (allowance.kind === 'held') {
      const others = [...kept].some(([other, each]) => other !== id && each.allowance !== null);
      if (allowance.why === 'task' || !others) end(id, 'held');
      return;
    }
    follow(id, 'begun');
    const task = byId.get(id);
    const behaviour = task?.behaviours[own.lease] ?? 'succeeds';
    const lease = own.lease + 1;
    leases[id] = [...(leases[id] ?? []), lease];
    Object.assign(own, {
      lease,
      behaviour,
      condition: 'running',
      allowance: allowance.amount,
      isAnswered: false,
    });
    Object.assign(job, { isNew: false, step: 'work' });
    const working = [...kept].flatMap(([other, each]) => (each.condition === 'running' ? [other] : []));
    mostWorkers = Math.max(mostWorkers, working.length);
    for (const other of working.filter((each) => each !== id))
      if (byId.get(other)?.files.some((file) => task?.files.includes(file))) beside.push([id, other]);
    const promised = [...kept.values()].reduce((sum, each) => sum + (each.allowance ?? 0), 0);
    if (budget !== null) overpromised = Math.max(overpromised, promised - (budget - spent()));
  };

  /** A worker ends, whether or not a scheduler is there. */
  const endWorker = (id: string) => {
    const own = get(id);
    const cost = byId.get(id)?.cost ?? 0;
    const isPoor = own.allowance !== null && (own.behaviour === 'spends' || cost >= own.allowance);
    own.spent += isPoor ? (own.allowance ?? 0) : cost;
    own.allowance = null;
    const ends: { readonly [B in Behaviour]?: Condition } = { fails: 'failed', dies: 'interrupted' };
    own.condition = isPoor ? 'budget_exceeded' : (ends[own.behaviour] ?? 'completed');
  };

  /** The scheduler sees that a worker has ended. */
  const take = (id: string, job: Job) => {
    const own = get(id);
    const next = decideAfterWorker({
      ...{ condition: own.condition, reason: null, isOwnBudget: false },
      hasUnheard: own.condition === 'completed' && own.isAnswered,
      question: own.behaviour === 'asks' && !own.isAnswered ? 'Which?' : null,
    });
    decisions.push(`${id} worker ${own.condition}: ${next.kind}`);
    if (next.kind !== 'merge') return end(id, next.kind === 'used_up' ? 'unpaid' : next.kind);
    follow(id, 'finished');
    follow(id, 'committed');
    job.step = 'merge';
    waiting.push(id);
  };

  const isRed = (ids: readonly string[]) =>
    ids.some((id) => get(id).behaviour === 'red' && get(id).state !== 'done');

  const merge = () => {
    const step = nextMergeStep({
      waiting: waiting.length,
      chain: chain.map(({ verdict }) => verdict),
      isBlocked,
      batch,
    });
    decisions.push(`queue ${JSON.stringify(step)}`);
    const ids = chain.map(({ id }) => id);
    switch (step.kind) {
      case 'idle':
        return;
      case 'add': {
        const id = waiting[chain.length];
        if (id === undefined) return;
        if (merged.includes(id)) {
          // It landed before a crash kept that from being recorded.
          waiting.splice(chain.length, 1);
          return end(id, 'merged');
        }
        if (get(id).behaviour !== 'conflicts') return void chain.push({ id, verdict: 'unknown' });
        waiting.splice(chain.length, 1);
        return end(id, 'sent_back');
      }
      case 'test': {
        const link = chain[step.count - 1];
        if (link)
          link.verdict = !isRed(ids.slice(0, step.count)) ? 'green' : step.isAgain ? 'red' : 'red once';
        return;
      }
      case 'land': {
        const landed = ids.slice(0, step.count);
        merged.push(...landed);
        for (const id of landed) if (['red', 'conflicts'].includes(get(id).behaviour)) wrong.push(id);
        chain = chain.slice(step.count);
        waiting = waiting.slice(step.count);
        // Its scheduler may die between any two of these.
        landings = landed;
        return;
      }
      case 'send back': {
        const [id] = waiting.splice(0, 1);
        chain = [];
        if (id !== undefined) end(id, 'sent_back');
      }
    }
  };
  let landings: string[] = [];

  /** Everything that may happen next. */
  const list = (): (() => void)[] => [
    ...landings.map((id) => () => {
      landings = landings.filter((each) => each !== id);
      end(id, 'merged');
    }),
    ...[...jobs].flatMap(([id, job]) => {
      const { condition } = get(id);
      if (job.step === 'begin') {
        const isWaiting =
          allow(id).kind === 'held' &&
          [...kept].some(([other, each]) => other !== id && each.allowance !== null);
        return isWaiting && condition !== 'running' ? [] : [() => beginWork(id, job)];
      }
      return job.step === 'work' && condition !== 'running' ? [() => take(id, job)] : [];
    }),
    ...[...kept].flatMap(([id, { condition }]) => (condition === 'running' ? [() => endWorker(id)] : [])),
    ...(waiting.length > 0 && landings.length === 0 ? [merge] : []),
  ];

  let at = 0;
  const startReady = () => {
    for (const { id } of schedule.next().ready) {
      const own = get(id);
      const isOpen = ['working', 'checking', 'merging', 'held', 'needs_input'].includes(own.state);
      follow(id, 'opened');
      if (!isOpen) own.attempt = 1;
      jobs.set(id, { isNew: !isOpen || own.lease === 0, deaths: 0, step: 'begin' });
    }
  };
  for (; ; at++) {
    if (at > 20_000) throw new Error('it does not end');
    if (story.deaths.includes(at)) {
      decisions.push('the scheduler dies');
      landings = [];
      open();
    }
    startReady();
    const possible = list();
    const choice = story.choices[at % story.choices.length] ?? 0;
    if (possible.length > 0) {
      possible[choice % possible.length]?.();
      continue;
    }
    const held = [...kept].filter(([, { state }]) => state === 'held' || state === 'needs_input');
    if (!hasPeople || held.length === 0 || helped++ > 500) break;
    if (budget !== null) budget += 100;
    for (const [id, own] of held) {
      if (own.state === 'needs_input') own.isAnswered = true;
      schedule.reopen(id);
    }
  }
  const states = Object.fromEntries([...kept].map(([id, { state }]) => [id, state]));
  return { decisions, merged, states, leases, mostWorkers, overpromised, beside, wrong };
}

function begin(): Kept {
  return {
    ...{ state: 'waiting', attempt: 1, lease: 0, refused: 0, spent: 0 },
    ...{ condition: null, behaviour: 'succeeds', allowance: null, isAnswered: false },
  };
}

const worktree: TaskWorktree = {
  own: { name: 'auth/a', path: '/auth/a', holder: identifyThisProcess() },
  ...{ branch: 'orch/auth/a', base: parseOid('0'.repeat(40)), setup: null },
};

function resultOf(kind: AttemptResult['kind']): AttemptResult {
  switch (kind) {
    case 'sent_back':
      return { kind, feedback: 'red' };
    case 'held':
    case 'unpaid':
      return { kind, reason: 'money' };
    case 'asks':
      return { kind, question: 'Which?' };
    case 'merged':
      return { kind, worktree };
    default:
      return { kind };
  }
}
