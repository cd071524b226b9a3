import { parseSessionId, parseWriterId } from '../../src/ids.ts';
import { expandItems } from '../../src/plan/items.ts';
import type { Plan, Task } from '../../src/plan/plan.ts';
import { withoutItem } from '../../src/plan/references.ts';
import { planRollback, type UndoStep } from '../../src/plan/rollback/plan-rollback.ts';
import { makeUndoFact } from '../../src/plan/rollback/undo-work.ts';
import { type KnownRun, listRecords } from '../../src/plan/run/known-runs.ts';
import { listKnown, makeHeadFact, prepareRun } from '../../src/plan/run/prepare-run.ts';
import { openSchedule } from '../../src/plan/schedule/schedule.ts';
import { findAttempt, findDone, takeLeft } from '../../src/plan/task/do-task.ts';
import type { Left } from '../../src/plan/task/task-command.ts';
import { makeDecisionFact, makeTaskFact } from '../../src/plan/task/task-facts.ts';
import type { Event, Fact } from '../../src/state/facts.ts';
import { foldRecord, isRecordEvent, noRecords } from '../../src/state/run-records.ts';
import type { TaskRecord } from '../../src/state/runs.ts';

/*
 * Runs of plans without processes: what a run decides, records and takes over is orch's own code, and only the commands
 * are made up. A crash is the end of what is recorded.
 */

type Values = { readonly [name: string]: string };

/** What a command would do, given what it sees. The same question must get the same answer. */
export type Behave = (asked: {
  readonly id: string;
  readonly round: number;
  readonly attempt: number;
  readonly values: Values;
}) => { readonly exit: number; readonly values: Values };

export type Simulation = {
  readonly plan: Plan;
  readonly behave: Behave;
  readonly jobs: number;
  /** Picks one of so many tasks that are at work: the one that ends next. */
  readonly pick: (many: number) => number;
};

/** What happened in a run that nothing records: `b[x] 2.1` for the first attempt in the second round. */
export type Happening = {
  readonly id: string;
  readonly round: number;
  readonly attempt: number;
  readonly values: Values;
};

type TaskStatus = TaskRecord['status'];

class Crash extends Error {}

const session = parseSessionId('sess-aaaa');
const writer = parseWriterId('w1');
const start = 1_800_000_000_000;

/** A run that can be stopped and continued. */
export type SimulatedRun = {
  readonly facts: readonly Fact[];
  /** Every attempt that was started, in order. */
  readonly happened: readonly Happening[];
  /** Starts or resumes the run; it dies before it records more than `most` facts in all. Tells whether it ended. */
  work(most?: number, simulation?: Partial<Simulation>): boolean;
  /** Undoes what was done; dies like `work`. Returns the steps that were tried. */
  undo(most?: number): boolean;
  readonly undone: readonly UndoStep[];
  read(): KnownRun | null;
  /** What was decided, each decision as often as it was recorded. */
  decided(): string[];
  /** Attempts that were started although their end had been recorded. */
  repeated(): string[];
};

export function simulateRun(given: Simulation): SimulatedRun {
  const facts: Fact[] = [];
  const happened: Happening[] = [];
  const undone: UndoStep[] = [];
  let limit = Number.POSITIVE_INFINITY;

  const finished = new Map<string, TaskStatus>();
  const statuses = new Map<string, TaskStatus>();
  const repeated: string[] = [];
  const wholes = new Set(given.plan.tasks.filter(({ parts }) => parts !== null).map(({ id }) => id));

  function record(...more: readonly Fact[]): void {
    for (const fact of more) {
      if (facts.length >= limit) throw new Crash();
      facts.push(fact);
      const end = nameEnd(fact);
      if (end !== null) finished.set(end, 'status' in fact ? (fact.status as TaskStatus) : 'succeeded');
      if (fact.kind === 'task') statuses.set(fact.id, fact.status);
      // After a failure, a repeated task begins with its first attempt.
      if (fact.kind === 'task' && fact.status === 'failed')
        for (let attempt = 1; attempt <= fact.attempts; attempt++)
          finished.set(nameHappening({ ...fact, round: fact.round ?? 1, attempt }), 'failed');
    }
  }

  function noteAttempt(happening: Happening): void {
    happened.push(happening);
    const name = nameHappening(happening);
    const end = finished.get(name);
    if (end !== undefined && (end !== 'failed' || isAllowed(happening.id))) repeated.push(name);
  }

  /** Whether a failure counts as the end. Any other is tried again when the run is resumed. */
  function isAllowed(id: string): boolean {
    const task = given.plan.tasks.find((each) => each.id === withoutItem(id));
    if (task === undefined) return false;
    const hasOuterEnded = [withoutItem(id), task.parent ?? '']
      .filter((outer) => outer !== id)
      .some((outer) => ['succeeded', 'failed'].includes(statuses.get(outer) ?? ''));
    return task.mayFail || hasOuterEnded;
  }

  function read(): KnownRun | null {
    const events = facts.map((fact, index): Event => {
      const place = { at: start + index, by: writer, session, offset: index, end: index + 1 };
      return { ...place, fact };
    });
    const head = events.flatMap(({ fact, at }) => (fact.kind === 'run' ? [{ ...fact, at }] : [])).at(-1);
    if (head === undefined) return null;
    const { kind: _, run: id, ...rest } = head;
    const records = events.filter(isRecordEvent).reduce(foldRecord, noRecords);
    return { id, head: rest, writer, damaged: [], ...listRecords(records) };
  }

  function dieAt(most: number, work: () => void): boolean {
    limit = most;
    try {
      work();
      return true;
    } catch (error) {
      if (error instanceof Crash) return false;
      throw error;
    }
  }

  return {
    facts,
    happened,
    undone,
    read,
    repeated: () => repeated,
    decided: () =>
      facts.flatMap((fact) => {
        if (fact.kind !== 'task' || fact.status === 'pending') return [];
        const { id, status, attempts, round = 1, why = '' } = fact;
        // Whether anything failed is looked at again when a run is resumed.
        if (status === 'skipped' && why === '') return [];
        return wholes.has(id) || status === 'skipped' ? [[id, round, status, attempts, why].join(' ')] : [];
      }),
    work: (most = Number.POSITIVE_INFINITY, simulation = {}) =>
      dieAt(most, () => workThrough({ ...given, ...simulation }, read(), record, noteAttempt)),
    undo: (most = Number.POSITIVE_INFINITY) =>
      dieAt(most, () => {
        const run = read();
        if (run === null) return;
        const { plan } = given;
        const { from, file = null, startedAt, shards = 0 } = run.head;
        const active = { id: run.id, plan, from, file, startedAt, shards };
        record(makeHeadFact(active, session, { status: 'running', endedAt: null, rollback: 'running' }));
        for (const step of planRollback(plan, run).steps) {
          const fact = { ...effectFact(run.id, step), reason: null };
          record(makeUndoFact(active, step, { ...fact, status: 'planned' }));
          undone.push(step);
          record(makeUndoFact(active, step, { ...fact, status: 'acknowledged' }));
        }
        record(makeHeadFact(active, session, { status: 'failed', endedAt: start, rollback: 'done' }));
      }),
  };
}

export function nameHappening({ id, round, attempt }: Omit<Happening, 'values'>): string {
  return `${id} ${round}.${attempt}`;
}

/** The attempt whose end a fact records; null if it records none. */
function nameEnd(fact: Fact): string | null {
  if (fact.kind === 'effect' && fact.status === 'acknowledged')
    return nameHappening({ id: `${fact.task}/${fact.id}`, round: 1, attempt: 1 });
  if (fact.kind !== 'task' || fact.attempts === 0) return null;
  const isEnd = ['succeeded', 'failed', 'pending'].includes(fact.status);
  return isEnd ? nameHappening({ id: fact.id, round: fact.round ?? 1, attempt: fact.attempts }) : null;
}

function effectFact(run: string, { task, effect, key }: UndoStep) {
  const about = { kind: 'effect', run, id: effect?.id ?? task.id, task: task.id, key } as const;
  return { ...about, digest: '', what: '' };
}

function workThrough(
  { plan, behave, jobs, pick }: Simulation,
  last: KnownRun | null,
  record: (...facts: readonly Fact[]) => void,
  onAttempt: (happening: Happening) => void,
): void {
  const choice =
    last === null
      ? ({ kind: 'new', from: null, after: 0 } as const)
      : ({ kind: 'resume', run: last } as const);
  const ports = {
    random: { id: () => 'aaaaaa' },
    clock: { now: () => start, elapsed: () => 0 },
    home: '/nowhere',
  };
  const request = { plan, file: null, worktree: '/nowhere', env: {}, choices: new Map() };
  const { run, facts } = prepareRun(ports, request, choice, { session, writer, last });
  if (last?.head.status === 'succeeded') return;
  record(...facts);
  const schedule = openSchedule<Task>(run.plan.tasks, listKnown(run), jobs, expandItems);
  const progress = { run, schedule };
  // What is at work at the same time; each takes its next step when it is picked.
  const atWork: (() => void)[] = [];
  const acknowledged = new Set(
    run.effects.filter((each) => each.record.status === 'acknowledged').map((each) => each.record.id),
  );

  function startAttempt(task: Task, attempt: number): void {
    record(makeTaskFact(progress, task, { status: 'running', attempts: attempt }));
    const about = { id: task.id, round: schedule.roundOf(task), attempt };
    const values = schedule.valuesFor(task);
    onAttempt({ ...about, values });
    atWork.push(() => endAttempt(task, attempt, task.run ? behave({ ...about, values }) : { values: {} }));
  }

  function endAttempt(task: Task, attempt: number, left: Left): void {
    const status = (left.exit ?? 0) === 0 ? 'succeeded' : 'failed';
    const { until = 'success', attempts: most = 1 } = task.repeat ?? {};
    const isEnough =
      typeof until === 'string'
        ? status === 'succeeded'
        : schedule.ask(until, task, { status, ...left }).holds;
    if (!isEnough && attempt < most) {
      record(makeTaskFact(progress, task, { status: 'pending', attempts: attempt, left }));
      startAttempt(task, attempt + 1);
      return;
    }
    const end = isEnough ? status : 'failed';
    record(makeTaskFact(progress, task, { status: end, attempts: attempt, left }));
    if (end === 'failed') schedule.finish(task.id, { status: 'failed', ...left });
    else doEffects(task, left);
  }

  function doEffects(task: Task, left: Left): void {
    const [next] = run.effects.filter(
      ({ record: { id, task: of } }) => of === task.id && !acknowledged.has(id),
    );
    if (next === undefined) {
      schedule.finish(task.id, { status: 'succeeded', ...left });
      return;
    }
    const { tried: _, ...known } = next.record;
    record({ ...known, status: 'planned', tried: 'here', shards: run.shards });
    onAttempt({ id: `${task.id}/${known.id}`, round: 1, attempt: 1, values: schedule.valuesFor(task) });
    atWork.push(() => {
      record({ ...known, status: 'acknowledged', shards: run.shards });
      acknowledged.add(known.id);
      doEffects(task, left);
    });
  }

  for (;;) {
    const { decisions, ready } = schedule.next();
    record(...decisions.map((decision) => makeDecisionFact(progress, decision)));
    for (const { kind, task } of decisions)
      if (kind === 'round') atWork.push(() => schedule.beginRound(task.id));
    for (const task of ready) {
      const known = findDone(progress, task);
      if (known) doEffects(task, takeLeft(known));
      else startAttempt(task, findAttempt(progress, task));
    }
    if (atWork.length === 0) break;
    const [step] = atWork.splice(pick(atWork.length), 1);
    step?.();
  }
  const failed = schedule.failures().length > 0;
  record(makeHeadFact(run, session, { status: failed ? 'failed' : 'succeeded', endedAt: start }));
}
