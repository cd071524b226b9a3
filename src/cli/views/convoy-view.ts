import {
  type ConvoyInfo,
  type ConvoySummary,
  type ConvoyTask,
  type Explanation,
  type TaskState,
  taskStates,
} from '../../index.ts';
import { columnsOf } from '../../text.ts';
import { count, formatAge } from '../../units.ts';
import type { Output } from '../output.ts';
import { formatDollars } from './money-view.ts';
import { formatClock, formatWhen } from './time-view.ts';

/* A convoy in lines: what needs a person first, then what works, then the rest. */

const marks: { readonly [S in TaskState]: string } = {
  needs_input: '?',
  held: '‖',
  failed: '✗',
  working: '●',
  checking: '●',
  merging: '●',
  ready: '○',
  waiting: '○',
  done: '✓',
  cancelled: '–',
  skipped: '–',
};

const words: { readonly [S in TaskState]: string } = {
  needs_input: 'asks',
  held: 'held',
  failed: 'failed',
  working: 'working',
  checking: 'checking',
  merging: 'merging',
  ready: 'ready',
  waiting: 'waiting',
  done: 'done',
  cancelled: 'cancelled',
  skipped: 'skipped',
};

const colours: { readonly [S in TaskState]?: 'red' | 'yellow' | 'green' | 'cyan' | 'dim' } = {
  needs_input: 'yellow',
  held: 'yellow',
  failed: 'red',
  working: 'cyan',
  checking: 'cyan',
  merging: 'cyan',
  done: 'green',
};

/** `auth  running   ● 2 working   ✓ 3 done   $0.40 of $30.00` */
export function formatSummary(out: Output, { name, status, counts, budget }: ConvoySummary): string {
  const parts = taskStates.flatMap((state) => {
    const amount = counts[state] ?? 0;
    if (amount === 0) return [];
    const text = state === 'needs_input' ? count(amount, 'question') : `${amount} ${words[state]}`;
    return [`${paintMark(out, state)} ${text}`];
  });
  return `${out.paint('bold', name)}  ${status}   ${parts.join('   ')}   ${formatMoney(budget)}`;
}

function formatMoney({ spentUsd, limitUsd }: ConvoySummary['budget']): string {
  const limit = limitUsd === null ? '' : ` of ${formatDollars(limitUsd)}`;
  return `${formatDollars(spentUsd)}${limit}`;
}

function paintMark(out: Output, state: TaskState): string {
  const colour = colours[state];
  return colour === undefined ? marks[state] : out.paint(colour, marks[state]);
}

/** What needs a person first. */
export function sortTasks(tasks: readonly ConvoyTask[]): ConvoyTask[] {
  const rank = ({ status }: ConvoyTask) => taskStates.indexOf(status);
  return [...tasks].sort((a, b) => rank(a) - rank(b) || a.number - b.number);
}

/** How many tasks that need nothing are listed, unless all are asked for. */
const mostQuiet = 10;
const quiet: readonly TaskState[] = ['ready', 'waiting', 'done', 'cancelled', 'skipped'];

/** The lines of a convoy: a summary, then a line for each task. */
export function formatConvoy(out: Output, convoy: ConvoyInfo, now: number, wantsAll = false): string[] {
  const sorted = sortTasks(convoy.tasks);
  const still = sorted.filter(({ status }) => quiet.includes(status));
  const left = wantsAll ? [] : still.slice(mostQuiet);
  const shown = sorted.filter((task) => !left.includes(task));
  const more = convoy.unlisted + left.length;
  return [
    `${formatSummary(out, convoy)}${describeLeft(convoy, now)}`,
    ...formatTasks(out, shown, convoy.epicId, now),
    ...(more > 0 ? [out.paint('dim', ` … and ${more} more: orch convoy show ${convoy.epicId} --all`)] : []),
  ];
}

/** `   about 12m left`: as far as the tasks so far tell. */
function describeLeft({ expectedEnd }: ConvoyInfo, now: number): string {
  if (expectedEnd === null) return '';
  const left = Date.parse(expectedEnd) - now;
  return left < 1_000 ? '' : `   about ${formatAge(left)} left`;
}

/** A line for each task, in columns: who works on it, for how long, what it cost, and what it does or waits for. */
export function formatTasks(
  out: Output,
  tasks: readonly ConvoyTask[],
  convoy: string,
  now: number,
): string[] {
  const rows = tasks.map((task) => [
    task.id,
    task.agent === null ? '' : `${task.agent}${task.model === null ? '' : ` ${task.model}`}`,
    describeTime(task, now),
    task.costUsd > 0 ? formatDollars(task.costUsd) : '',
  ]);
  const widths = [0, 1, 2, 3].map((at) =>
    Math.min(32, Math.max(0, ...rows.map((cells) => columnsOf(cells[at] ?? '')))),
  );
  return tasks.map((task, row) => {
    const cells = (rows[row] ?? []).map((cell, at) => {
      const room = ' '.repeat(Math.max(0, (widths[at] ?? 0) - columnsOf(cell)));
      return at < 2 ? `${cell}${room}` : `${room}${cell}`;
    });
    const known = cells.filter((_, at) => (widths[at] ?? 0) > 0);
    return ` ${paintMark(out, task.status)}  ${known.join('  ')}  ${describeTask(out, task, convoy, now)}`;
  });
}

function describeTime({ startedAt, endedAt }: ConvoyTask, now: number): string {
  if (startedAt === null) return '';
  return formatClock((endedAt === null ? now : Date.parse(endedAt)) - Date.parse(startedAt));
}

/** What a task does or waits for, and what a person can do about it. */
function describeTask(out: Output, task: ConvoyTask, convoy: string, now: number): string {
  const { id, status, attempts, reason, doing } = task;
  const tries = attempts > 1 ? `attempt ${attempts}  ` : '';
  const dim = (text: string | null) => out.paint('dim', text ?? '');
  switch (status) {
    case 'working': {
      const seen = doing ?? (task.health === null ? reason : null) ?? 'working';
      const parts = [
        describeHealth(out, task, now),
        describeCollisions(out, task),
        task.health === 'dead' ? '' : dim(seen),
      ];
      return `${tries}${parts.filter((part) => part !== '').join('  ')}`;
    }
    case 'needs_input':
      return `asks: “${reason}”  ${dim(`orch convoy say ${convoy}/${id} "…"`)}`;
    case 'held':
    case 'failed':
      return `${tries}${words[status]}: ${dim(reason)}`;
    case 'checking':
    case 'ready':
    case 'cancelled':
    case 'skipped':
      return reason === null || reason === status ? words[status] : `${words[status]}: ${dim(reason)}`;
    default:
      return `${tries}${words[status]}`;
  }
}

/** `⚠ collides with login in src/login/handler.ts` */
function describeCollisions(out: Output, { collisions }: ConvoyTask): string {
  const [first, ...others] = collisions;
  if (first === undefined) return '';
  const more = others.length === 0 ? '' : ` and ${others.map(({ task }) => task).join(', ')}`;
  const whom = first.task === 'merged' ? 'what is merged' : first.task;
  return out.paint('yellow', `⚠ collides with ${whom}${more} in ${first.files[0] ?? 'its files'}`);
}

function describeHealth(out: Output, { health, witness, activeAt }: ConvoyTask, now: number): string {
  switch (health) {
    case 'waiting':
      return out.paint('yellow', 'waits for you');
    case 'limited':
      return out.paint('yellow', "at its provider's limit");
    case 'dead':
      return out.paint('red', 'its worker died');
    case 'looping':
    case 'stuck':
      return out.paint('yellow', `${health}: ${witness?.why ?? ''}`);
    case 'quiet':
    case 'working':
    case null:
      return activeAt === null || health === null ? '' : dimQuiet(out, activeAt, now);
  }
}

/** How long a worker must show nothing before that is worth a word. */
const quietTime = 120_000;

function dimQuiet(out: Output, activeAt: string, now: number): string {
  const isQuiet = now - Date.parse(activeAt) > quietTime;
  return isQuiet ? out.paint('dim', `last seen ${formatWhen(activeAt, now)}`) : '';
}

/** Why a task is as it is. */
export function formatWhy(out: Output, name: string, why: Explanation): string[] {
  const { status, evidence, decided, next } = why;
  return [
    `${paintMark(out, status)} ${out.paint('bold', name)}  ${words[status]}`,
    ...evidence.map((line) => `  ${line}`),
    ...(decided === null ? [] : [`  Decided ${decided.at}: ${decided.what}`]),
    `  Next: ${next}`,
  ];
}

/** The lines that follow a convoy on a terminal: what matters, as far as there is room. */
export function formatLive(out: Output, convoy: ConvoyInfo, now: number, rows: number): string[] {
  const busy = sortTasks(convoy.tasks).filter(({ status }) => !quiet.includes(status));
  const room = Math.max(1, rows);
  const more = busy.length > room ? [out.paint('dim', ` … and ${busy.length - room} more`)] : [];
  return [...formatTasks(out, busy.slice(0, room), convoy.epicId, now), ...more, formatSummary(out, convoy)];
}

/** A line for each convoy. */
export function formatList(out: Output, convoys: readonly ConvoySummary[], now: number): string[] {
  if (convoys.length === 0) return ['no convoys yet; start one: orch convoy start PLAN'];
  return convoys.map(
    (convoy) =>
      `${formatSummary(out, convoy)}  ${out.paint('dim', `started ${formatWhen(convoy.startedAt, now)}`)}`,
  );
}
