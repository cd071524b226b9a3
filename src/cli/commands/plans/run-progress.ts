import {
  defaultWorkerAttempts,
  defaultWorkers,
  type Orch,
  type Plan,
  type RunEvent,
  type RunInfo,
  type RunStart,
  type Task,
} from '../../../index.ts';
import { columnsOf, cutColumns } from '../../../text.ts';
import { count, formatUsd, toUsd } from '../../../units.ts';
import { type Output, writeTo } from '../../output.ts';
import type { Context } from '../../run-command.ts';
import { openTextLine } from '../../session/live-line.ts';
import { showBudgetWarning } from '../../views/money-view.ts';
import { formatClock, timeOfDay } from '../../views/time-view.ts';

/* What orch prints during a run: where it starts, one line per ended task, and what runs now. */

type NamedTask = Pick<Task, 'id' | 'number' | 'name'>;

/** `3/5 ✓ build`: a task's place in the plan, its result, and its id. */
export function showPlace(plan: Plan, { number, id }: NamedTask, mark: string): string {
  const { length } = plan;
  const place = `${String(number).padStart(String(length).length)}/${length}`;
  return `${place} ${mark} ${id.padEnd(measureIds(plan))}`;
}

const widestIds = new WeakMap<Plan, number>();

/** The width of the column of ids. Measured once: a plan may have thousands, and each task has a line. */
function measureIds(plan: Plan): number {
  const known = widestIds.get(plan);
  if (known !== undefined) return known;
  const widest = Math.min(
    24,
    plan.tasks.reduce((most, { id }) => Math.max(most, columnsOf(id)), 0),
  );
  widestIds.set(plan, widest);
  return widest;
}

/** How many tasks or lines of one kind are shown at the start of a run. */
const mostShown = 20;

function showFew(lines: readonly string[]): string[] {
  const more = lines.length - mostShown;
  return more <= 0 ? [...lines] : [...lines.slice(0, mostShown), `… and ${more} more`];
}

export function nameFew(names: readonly string[]): string {
  const more = names.length - mostShown;
  return `${names.slice(0, mostShown).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** `  Build the app`: a task's name, unless it is the same as its id. */
export function showTitle({ id, name }: NamedTask): string {
  return name === id ? '' : `  ${name}`;
}

/** The lines at the start of a run: what it takes over from an earlier one, and what runs again. */
export function showStart(out: Output, plan: Plan, start: RunStart): string[] {
  const from = start.from === null ? '' : `, continuing from ${start.from}`;
  const head = `${start.name}: ${start.id} on ${start.epicId}, session ${start.sessionNumber}${from}`;
  const places = start.done.map(({ number, id }) => `${number}/${plan.length} – ${id}`);
  return [
    out.paint('dim', head),
    ...start.leftovers.map(({ task, pids }) =>
      pids.length === 1
        ? `${task}'s old process (pid ${pids[0]}) was still running; orch stopped it.`
        : `${task}'s old processes (pids ${pids.join(', ')}) were still running; orch stopped them.`,
    ),
    ...(places.length === 0 ? [] : [`${nameFew(places)}: already done`]),
    ...showFew(start.openEffects.map(({ id, task }) => `effect ${id} of ${task} is not done yet`)),
    ...showFew(start.rerun.map(({ task, why }) => describeRerun(task, why))),
    ...showFew(
      start.assumedDone.map(
        ({ task, why }) => `${task} ${describeDoubt(why)}, but counts as done because you said so`,
      ),
    ),
    ...(start.added.length === 0 ? [] : [`${nameFew(start.added)}: new in the plan, or not started yet`]),
    ...showFew(start.removed.map((id) => `${id} is no longer in the plan`)),
    ...start.changes,
    ...showFew(
      start.keptEffects.map(
        ({ id, task }) => `effect ${id} of ${task} is already done and will not be repeated`,
      ),
    ),
  ];
}

type Rerun = RunStart['rerun'][number]['why'];

function describeRerun(id: string, why: Rerun): string {
  switch (why.kind) {
    case 'changed':
      return `${id} changed in the plan, so it runs again`;
    case 'need':
      return `${id} needs ${why.need}, so it runs again`;
    case 'artifact':
      return `${why.path} is ${why.how}, so ${id} runs again`;
    case 'group':
      return `the group ${why.group} starts over, so ${id} runs again`;
  }
}

function describeDoubt(why: Rerun | null): string {
  switch (why?.kind) {
    case undefined:
      return 'did not succeed in that run';
    case 'artifact':
      return `made ${why.path}, which is ${why.how}`;
    case 'changed':
      return 'changed in the plan';
    case 'group':
      return `is in the group ${why.group}, which starts over`;
    case 'need':
      return `needs ${why.need}, which has not run yet`;
  }
}

function attemptsOf({ convoy }: Plan, { repeat, retry, convoy: own }: Task): number {
  if (own.prompt !== null) return own.worker.attempts ?? convoy.worker?.attempts ?? defaultWorkerAttempts;
  return (repeat ?? retry).attempts;
}

/** How many lines of a failed task's output are shown. */
const shownLines = 10;

/** The lines for an event of the run; none if there is nothing to show. */
export function showRunEvent(out: Output, plan: Plan, event: RunEvent, now: number): string[] {
  switch (event.kind) {
    case 'ended':
      return showEnded(out, plan, event);
    case 'retry': {
      const place = showPlace(plan, event.task, out.paint('yellow', '↻'));
      return [
        `${place}  ${event.reason}; next: attempt ${event.attempt + 1} of ${event.most ?? attemptsOf(plan, event.task)}`,
      ];
    }
    case 'round': {
      const place = showPlace(plan, event.task, out.paint('yellow', '↻'));
      return [`${place}  ${event.reason}; next: round ${event.round} of ${attemptsOf(plan, event.task)}`];
    }
    case 'items':
      return [`${showPlace(plan, event.task, '●')}  ${count(event.count, 'item')}`];
    case 'held':
      return [`${showPlace(plan, event.task, out.paint('yellow', '‖'))}  ${event.reason}`];
    case 'said':
      return [out.paint('dim', `      ${event.text}`)];
    case 'warning':
      return [
        `${timeOfDay(now)}  ${showBudgetWarning(out, { spentUsd: toUsd(event.warning.spent), limitUsd: toUsd(event.warning.limit) })}`,
      ];
    case 'notice':
      return [`${timeOfDay(now)}  ${event.message}`];
    case 'fault':
      return [`${timeOfDay(now)}  ${out.paint('red', '!')} ${event.message}`];
    case 'rollback':
      return [
        event.steps === 0
          ? 'Rolling back: nothing to undo.'
          : `Rolling back: ${count(event.steps, 'step')} to undo.`,
      ];
    case 'undone': {
      const what = event.effect === null ? '' : ` effect ${event.effect}`;
      return [`${showPlace(plan, event.task, out.paint('green', '↶'))}  undone${what}`];
    }
    case 'undo_failed':
      return [`${showPlace(plan, event.task, out.paint('red', '✗'))}  not undone: ${event.reason}`];
    case 'stopping':
      return [out.paint('dim', '… stopping the running tasks')];
    case 'workers':
      return showWorkers(plan, event);
    case 'begun':
    case 'look':
    case 'checkpoint':
      return [];
  }
}

/** What a convoy begins with, or what is left of its workers. */
function showWorkers(plan: Plan, event: Extract<RunEvent, { kind: 'workers' }>): string[] {
  const { isNew, base, budget, working, died } = event;
  const found = [
    ...(working > 0 ? [`${count(working, 'worker')} still running`] : []),
    ...(died > 0 ? [`${count(died, 'worker')} died and will continue`] : []),
  ];
  const tasks = `${count(plan.tasks.length, 'task')} from ${base.slice(0, 7)}`;
  const workers = `at most ${count(plan.convoy.workers ?? defaultWorkers, 'worker')} at once`;
  const limit = budget === null ? 'no budget' : `stops at ${formatUsd(budget)}`;
  if (found.length > 0) return [`${found.join(', ')}.`];
  return isNew ? [`${tasks}, ${workers}, ${limit}. Your checkout is not touched.`] : [];
}

function showEnded(out: Output, plan: Plan, event: Extract<RunEvent, { kind: 'ended' }>): string[] {
  const { task, status, attempts, most, elapsed, reason, output, log } = event;
  const title = out.paint('dim', showTitle(task));
  if (status === 'skipped') {
    const why = reason === null ? '' : `: ${reason}`;
    return [`${showPlace(plan, task, '–')}  skipped${why}${title}`];
  }
  const word = task.parts ? 'round' : 'attempt';
  const tries = attempts > 1 ? `  (${word} ${attempts} of ${most ?? attemptsOf(plan, task)})` : '';
  const time = task.parts ? '' : formatClock(elapsed).padStart(4);
  if (status === 'succeeded')
    return [`${showPlace(plan, task, out.paint('green', '✓'))}  ${time}${tries}${title}`];
  const lines = output.split('\n').slice(-shownLines);
  return [
    `${showPlace(plan, task, out.paint('red', '✗'))}  ${time}  ${reason}${tries}${title}`,
    ...(output === '' ? [] : lines.map((line) => out.paint('dim', `      ${line}`))),
    ...(log === '' ? [] : [out.paint('dim', `      full output: ${log}`)]),
  ];
}

/** The line that shows what runs now. */
function showRunning(
  plan: Plan,
  running: ReadonlyMap<Task, { since: number; attempt: number }>,
  now: number,
): string {
  const inOrder = [...running].sort(([a], [b]) => a.number - b.number);
  const parts = inOrder.map(([task, { since, attempt }]) => {
    const tries = attempt > 1 ? ` (attempt ${attempt} of ${attemptsOf(plan, task)})` : '';
    return `${showPlace(plan, task, '●').trimEnd()}  ${formatClock(now - since)}${tries}${showTitle(task)}`;
  });
  return parts.join('   ');
}

/** Names what a rollback left as it is. */
export function showKept(kept: NonNullable<RunInfo['rollback']>['kept']): string[] {
  const named = kept.map(
    ({ task, effect, why }) => `${effect === null ? task : `${effect} of ${task}`} (${why})`,
  );
  return named.length === 0 ? [] : [`  Not undone: ${nameFew(named)}`];
}

/** Shows a run on the terminal. */
type RunScreen = { onEvent(event: RunEvent): void; inform(text: string): void; close(): void };

/** Prints one line per ended task; on a terminal, a last line shows what runs now, updated every second. */
export function openRunScreen({ out, json }: Context, plan: Plan, clock: Orch['clock']): RunScreen {
  const isLive = !json && !out.isQuiet && process.stderr.isTTY === true;
  const columns = () => process.stderr.columns || 80;
  const line = isLive ? openTextLine((text) => writeTo(2, text), columns) : null;
  const running = new Map<Task, { since: number; attempt: number }>();
  const draw = () => {
    if (running.size === 0) line?.clear();
    else line?.show(cutColumns(showRunning(plan, running, clock.elapsed()), columns() - 1));
  };
  const timer = line && setInterval(draw, 1_000);
  const inform = (text: string) => {
    line?.clear();
    if (!json) out.inform(text);
  };
  return {
    inform,
    onEvent: (event) => {
      if (event.kind === 'begun')
        running.set(event.task, {
          since: running.get(event.task)?.since ?? clock.elapsed(),
          attempt: event.attempt,
        });
      if (event.kind === 'ended' || event.kind === 'held') running.delete(event.task);
      for (const text of showRunEvent(out, plan, event, clock.now())) inform(text);
      draw();
    },
    close: () => {
      if (timer) clearInterval(timer);
      line?.clear();
    },
  };
}
