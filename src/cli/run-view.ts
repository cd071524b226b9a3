import type { Begun } from '../plan/begin.ts';
import type { BegunRun } from '../plan/beginning.ts';
import type { Again } from '../plan/carry.ts';
import { type EffectFact, missingEffects } from '../plan/effects.ts';
import type { RunEvent } from '../plan/progress.ts';
import type { Plan, Task } from '../plan/types.ts';
import { columnsOf } from '../text.ts';
import { formatClock } from './live-line.ts';
import type { Output } from './output.ts';
import { showWarningLine, timeOfDay } from './start-view.ts';

/** `3/5 ✓ build`: a task's place among all, what became of it, and its id. */
export function showPlace({ tasks }: Plan, { number, id }: Task, mark: string): string {
  const widest = Math.min(24, Math.max(...tasks.map((task) => columnsOf(task.id))));
  const place = `${String(number).padStart(String(tasks.length).length)}/${tasks.length}`;
  return `${place} ${mark} ${id.padEnd(widest)}`;
}

/** `  Build the app`: what a task is called, where that is not its id. */
export function showTitle({ id, name }: Task): string {
  return name === id ? '' : `  ${name}`;
}

/** The lines at the beginning of a run: what of an earlier one counts, and what does not. */
export function showBegun(out: Output, { run, carry, changes, leftovers, started }: Begun): string[] {
  const { plan } = run;
  const number = started.state.sessions[started.target.session]?.value.number ?? 0;
  const from = run.from === null ? '' : `, continuing from ${run.from}`;
  const head = `${plan.name}: ${run.id} on ${started.target.epic}, session ${number}${from}`;
  const old = leftovers.map(({ task, pids }) => {
    return pids.length === 1
      ? `${task}'s old process (pid ${pids[0]}) was still running; orch stopped it.`
      : `${task}'s old processes (pids ${pids.join(', ')}) were still running; orch stopped them.`;
  });
  const left = missingEffects(run.effects).filter(({ record }) => run.done.has(record.task));
  const isOpen = new Set(left.map(({ record }) => record.task));
  const done = plan.tasks.filter(({ id }) => run.done.has(id) && !isOpen.has(id));
  const places = done.map(({ number: place, id }) => `${place}/${plan.tasks.length} – ${id}`);
  return [
    out.paint('dim', head),
    ...old,
    ...(places.length === 0 ? [] : [`${places.join(', ')}: done before`]),
    ...left.map(({ record }) => `${record.id} of ${record.task} is still to be done`),
    ...(carry?.again ?? []).map(({ task, why }) => sayAgain(task, why)),
    ...(carry?.byWord ?? []).map(({ task, why }) => sayTaken(task, why)),
    ...sayAdded(carry?.added ?? []),
    ...(carry?.removed ?? []).map((id) => `${id} is not in the plan any more`),
    ...changes,
    ...run.effects
      .filter(({ effect, record }) => isKept(record, run) && record.digest === effect.digest)
      .map(({ record }) => `effect ${record.id} of ${record.task} was done before: it is not done again`),
  ];
}

/** A run does not know what else stood in its plan: one that was not begun may have stood there too. */
function sayAdded(tasks: readonly Task[]): string[] {
  return tasks.length === 0
    ? []
    : [`${tasks.map(({ id }) => id).join(', ')}: new in the plan, or not begun yet`];
}

/** Was an effect done, of a task that runs again? */
function isKept({ status, task }: EffectFact, { done }: BegunRun): boolean {
  return status === 'acknowledged' && !done.has(task);
}

function sayAgain({ id }: Task, why: Again): string {
  switch (why.kind) {
    case 'changed':
      return `${id} was changed in the plan: it runs again`;
    case 'need':
      return `${id} needs ${why.need}: it runs again`;
    case 'artifact':
      return `${why.path} is ${why.how}: ${id} runs again`;
  }
}

function sayTaken({ id }: Task, why: Again | null): string {
  return `${id} ${sayDoubt(why)}; it counts as done because you say so`;
}

function sayDoubt(why: Again | null): string {
  switch (why?.kind) {
    case undefined:
      return 'did not succeed in that run';
    case 'artifact':
      return `made ${why.path}, which is ${why.how}`;
    case 'changed':
      return 'was changed in the plan';
    case 'need':
      return `needs ${why.need}, which is still to run`;
  }
}

/** How much of what a task printed is shown when it fails, in lines. */
const shownLines = 10;

/** The lines for what a runner tells; none where there is nothing to say of it. */
export function showRunEvent(out: Output, plan: Plan, event: RunEvent, now: number): string[] {
  switch (event.kind) {
    case 'ended':
      return showEnded(out, plan, event);
    case 'retry': {
      const place = showPlace(plan, event.task, out.paint('yellow', '↻'));
      return [
        `${place}  ${event.reason}; attempt ${event.attempt + 1} of ${event.task.retry.attempts} follows`,
      ];
    }
    case 'held':
      return [`${showPlace(plan, event.task, out.paint('yellow', '‖'))}  ${event.reason}`];
    case 'said':
      return [out.paint('dim', `      ${event.text}`)];
    case 'warning':
      return [`${timeOfDay(now)}  ${showWarningLine(out, event.warning)}`];
    case 'notice':
      return [`${timeOfDay(now)}  ${event.message}`];
    case 'fault':
      return [`${timeOfDay(now)}  ${out.paint('red', '!')} ${event.message}`];
    case 'stopping':
      return [out.paint('dim', '… ending the tasks that run')];
    case 'begun':
    case 'look':
    case 'checkpoint':
      return [];
  }
}

function showEnded(out: Output, plan: Plan, event: Extract<RunEvent, { kind: 'ended' }>): string[] {
  const { task, status, attempts, elapsed, reason, output, log } = event;
  const title = out.paint('dim', showTitle(task));
  if (status === 'skipped') return [`${showPlace(plan, task, '–')}  skipped${title}`];
  const tries = attempts > 1 ? `  (attempt ${attempts} of ${task.retry.attempts})` : '';
  const time = formatClock(elapsed).padStart(4);
  if (status === 'succeeded')
    return [`${showPlace(plan, task, out.paint('green', '✓'))}  ${time}${tries}${title}`];
  const lines = output.split('\n').slice(-shownLines);
  return [
    `${showPlace(plan, task, out.paint('red', '✗'))}  ${time}  ${reason}${tries}${title}`,
    ...(output === '' ? [] : lines.map((line) => out.paint('dim', `      ${line}`))),
    out.paint('dim', `      all it printed: ${log}`),
  ];
}

/** The line of what runs now, on a terminal. */
export function showRunning(
  plan: Plan,
  running: ReadonlyMap<Task, { since: number; attempt: number }>,
  now: number,
): string {
  const inOrder = [...running].sort(([a], [b]) => a.number - b.number);
  const parts = inOrder.map(([task, { since, attempt }]) => {
    const tries = attempt > 1 ? ` (attempt ${attempt} of ${task.retry.attempts})` : '';
    return `${showPlace(plan, task, '●').trimEnd()}  ${formatClock(now - since)}${tries}${showTitle(task)}`;
  });
  return parts.join('   ');
}
