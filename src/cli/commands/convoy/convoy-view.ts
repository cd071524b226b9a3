import {
  type ConvoyInfo,
  type ConvoySummary,
  type ConvoyTask,
  type Explanation,
  type TaskState,
  taskStates,
} from '../../../index.ts';
import { columnsOf } from '../../../text.ts';
import type { Output } from '../../output.ts';
import { formatDollars } from '../../views/money-view.ts';
import { formatClock, formatWhen } from '../../views/time-view.ts';

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
  needs_input: 'asks you',
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
    const text = state === 'needs_input' ? `${amount} ask you` : `${amount} ${words[state]}`;
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

/** The lines of a convoy: a summary, then a line for each task. */
export function formatConvoy(out: Output, convoy: ConvoyInfo, now: number): string[] {
  const width = widestId(convoy.tasks);
  const more = convoy.unlisted;
  return [
    formatSummary(out, convoy),
    ...sortTasks(convoy.tasks).map((task) => ` ${formatTask(out, task, width, now)}`),
    ...(more > 0 ? [out.paint('dim', ` … and ${more} more: orch convoy show ${convoy.epicId} --all`)] : []),
  ];
}

function widestId(tasks: readonly ConvoyTask[]): number {
  return Math.min(
    24,
    tasks.reduce((most, { id }) => Math.max(most, columnsOf(id)), 0),
  );
}

function formatTask(out: Output, task: ConvoyTask, width: number, now: number): string {
  const { id, status, agent, model, attempts, costUsd, reason, startedAt, endedAt, doing } = task;
  const isAtWork = status === 'working' || status === 'checking' || status === 'merging';
  const elapsed = startedAt === null || !isAtWork ? '' : formatClock(now - Date.parse(startedAt));
  const took =
    startedAt === null || endedAt === null ? '' : formatClock(Date.parse(endedAt) - Date.parse(startedAt));
  const parts = [
    `${paintMark(out, status)}  ${id.padEnd(width)}  ${words[status]}`,
    agent === null ? '' : `${agent}${model === null ? '' : ` ${model}`}`,
    attempts > 1 ? `attempt ${attempts}` : '',
    elapsed || took,
    costUsd > 0 ? formatDollars(costUsd) : '',
    status === 'working' ? describeHealth(out, task, now) : '',
    isAtWork && doing !== null ? out.paint('dim', doing) : '',
    reason === null || status === 'done' ? '' : out.paint('dim', reason),
  ];
  return parts.filter((part) => part !== '').join('  ');
}

/** The line of one task among others. */
export function formatTaskLine(
  out: Output,
  task: ConvoyTask,
  among: readonly ConvoyTask[],
  now: number,
): string {
  return formatTask(out, task, widestId(among), now);
}

function describeHealth(out: Output, { health, activeAt }: ConvoyTask, now: number): string {
  switch (health) {
    case 'waiting':
      return out.paint('yellow', 'waits for you');
    case 'limited':
      return out.paint('yellow', "at its provider's limit");
    case 'dead':
      return out.paint('red', 'its process is gone');
    case 'working':
    case null:
      return activeAt === null || health === null ? '' : out.paint('dim', describeQuiet(activeAt, now));
  }
}

/** How long a worker must show nothing before that is worth a word. */
const quietTime = 120_000;

function describeQuiet(activeAt: string, now: number): string {
  return now - Date.parse(activeAt) > quietTime ? `last seen ${formatWhen(activeAt, now)}` : '';
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
  const quiet: readonly TaskState[] = ['done', 'waiting', 'ready', 'skipped', 'cancelled'];
  const shown = sortTasks(convoy.tasks).filter(({ status }) => !quiet.includes(status));
  const width = widestId(shown);
  const room = Math.max(1, rows);
  const left = shown.length - room;
  const lines = shown.slice(0, room).map((task) => ` ${formatTask(out, task, width, now)}`);
  const more = left > 0 ? [out.paint('dim', ` … and ${left} more`)] : [];
  return [...lines, ...more, formatSummary(out, convoy)];
}

/** A line for each convoy. */
export function formatList(out: Output, convoys: readonly ConvoySummary[], now: number): string[] {
  if (convoys.length === 0) return ['no convoys yet; start one: orch convoy start PLAN'];
  return convoys.map(
    (convoy) =>
      `${formatSummary(out, convoy)}  ${out.paint('dim', `started ${formatWhen(convoy.startedAt, now)}`)}`,
  );
}
