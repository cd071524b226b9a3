import type { Warning } from '../checkpoint/policy.ts';
import type { Started } from '../session/lifecycle.ts';
import { describeRecovered } from '../session/recover.ts';
import { describeMoney } from '../session/status.ts';
import type { End, SupervisorEvent } from '../session/supervisor.ts';
import { describeFailure } from '../session/watch.ts';
import type { StopResult } from '../system/guarded-command.ts';
import { listNames, type NamedProcess } from '../system/process-table.ts';
import type { EpicId, Millis } from '../types.ts';
import { formatUsd } from '../units.ts';
import type { Output } from './output.ts';

const usd = (amount: number) => `$${amount.toFixed(2)}`;

/** `14:02`, where the user is. */
export function timeOfDay(at: Millis): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The time of day, and the day too where it is another. */
export function describeTime(at: Millis, now: Millis): string {
  const day = new Date(at).toDateString();
  return day === new Date(now).toDateString() ? timeOfDay(at) : `${timeOfDay(at)} on ${day}`;
}

/** The lines at the beginning: which epic, which session, what money, what was recovered. */
export function showStart(
  out: Output,
  { target, state, recovered, handover }: Started,
  number: number,
): string[] {
  const { spentUsd, limitUsd } = describeMoney(state);
  const money =
    limitUsd === null
      ? `${usd(spentUsd)} spent, no budget`
      : `${usd(spentUsd)} spent, stops at ${usd(limitUsd)}`;
  const lines = [`orch: ${out.paint('bold', target.epic)}, session ${number}, ${money}.`];
  for (const dead of recovered) {
    const when = timeOfDay(dead.seenAt);
    lines.push(`      Session ${dead.number} was interrupted at ${when}: ${describeRecovered(dead)}.`);
    const { found, left } = dead.leftovers;
    if (found > 0 && left.length === 0)
      lines.push('      Its command was still running unsupervised; orch stopped it.');
    if (left.length > 0) lines.push(`      ${showLeft(out, left)}`);
  }
  const sessions = Object.keys(state.sessions).length;
  if (handover === null && sessions > 1)
    lines.push(
      out.paint(
        'dim',
        `      It has a history. To continue from it, with a brief: orch resume -e ${target.epic}`,
      ),
    );
  return lines;
}

export function showWarningLine(out: Output, { spent, limit }: Warning): string {
  const percent = Math.floor((spent / limit) * 100);
  return out.paint(
    'yellow',
    `▲ ${percent} % of the budget is spent: ${formatUsd(spent)} of ${formatUsd(limit)}`,
  );
}

/** A line for what a supervisor tells; null where there is nothing to say of it. */
export function showEvent(out: Output, event: SupervisorEvent, now: Millis): string | null {
  switch (event.kind) {
    case 'look':
      return null;
    case 'checkpoint': {
      const { seq, trigger, summary, costUsd } = event.checkpoint;
      const mark = out.paint('cyan', '◆');
      return `${timeOfDay(now)}  ${mark} ckpt ${seq} ${trigger}: ${summary}  ${out.paint('dim', usd(costUsd))}`;
    }
    case 'warning':
      return `${timeOfDay(now)}  ${showWarningLine(out, event.warning)}`;
    case 'notice':
      return `${timeOfDay(now)}  ${event.message}`;
    case 'fault':
      return `${timeOfDay(now)}  ${out.paint('red', '!')} ${event.message}`;
    case 'waiting':
      return `${timeOfDay(now)}  … usage limit: waiting until ${describeTime(event.until, now)}; Ctrl+C pauses`;
    case 'stopping':
      return event.why.kind === 'signal' ? null : `${timeOfDay(now)}  … stopping the command`;
  }
}

/** Names what could not be ended, so that a person can. */
export function showLeft(out: Output, left: readonly NamedProcess[], what = 'Still running'): string {
  const pids = left.map(({ pid }) => pid).join(',');
  return `${out.paint('red', '!')} ${what}: ${listNames(left)}. See what it is with: ps -fp ${pids}`;
}

/** What is known of the command's end: that nothing it started is left is said only where the kernel confirms it. */
function describeStop(name: string, { by, isCertain, left }: StopResult): string {
  if (by === null) return '';
  const all = isCertain && left.length === 0 ? ' with all it started' : '';
  return `; ${name} stopped (${by})${all}; the code is as it left it`;
}

type EndAround = {
  readonly epic: EpicId;
  readonly number: number;
  readonly name: string;
  readonly latest: number | null;
  /** That another clone took the session over, in words. */
  readonly takenOver: string | null;
};

/** The lines at the end: how it ended, what was saved, what still runs, and how to go on. */
export function showEnd(out: Output, end: End, around: EndAround): string[] {
  const left = end.stopped?.left ?? [];
  const strays = end.stopped?.strays ?? [];
  return [
    ...showWhy(out, end, around),
    ...(around.takenOver === null ? [] : [`  ${out.paint('yellow', around.takenOver)}`]),
    ...(left.length > 0 ? [`  ${showLeft(out, left)}`] : []),
    ...(strays.length > 0 ? [`  ${showLeft(out, strays, 'May come from it, and is still running')}`] : []),
  ];
}

function showWhy(out: Output, { why, stopped, outcome }: End, around: EndAround): string[] {
  const { epic, number, name } = around;
  const saved = around.latest === null ? 'all of it is in the journal' : `ckpt ${around.latest} saved`;
  const goOn = `orch resume -e ${epic}`;
  switch (why.kind) {
    case 'budget': {
      const { spentUsd, limitUsd } = describeMoney(outcome.state);
      const over = spentUsd - (limitUsd ?? spentUsd);
      const extra = over > 0 ? ` (${usd(over)} over: the turn in flight)` : '';
      const how = stopped ? describeStop(name, stopped) : '';
      return [
        out.paint('red', `■ Budget used up: ${usd(spentUsd)} of ${usd(limitUsd ?? 0)}${extra}`),
        `  ${why.saved === null ? 'All of it is in the journal' : `Checkpoint ${why.saved} was saved first`}${how}.`,
        `  Review  orch diff s${number} -e ${epic}      Continue  ${goOn} --budget +10`,
      ];
    }
    case 'signal':
      return [`‖ Paused: session ${number} of ${epic}, ${saved}.`, `  Continue  ${goOn}`];
    case 'request':
      return [`‖ Session ${number} of ${epic} was ended from another shell, ${saved}.`];
    case 'blind':
      return [
        out.paint('red', `■ orch could not look after session ${number} of ${epic}: ${why.problem}`),
        `  So it was ended, ${saved}${stopped ? describeStop(name, stopped) : ''}.`,
        `  Continue  ${goOn}`,
      ];
    case 'taken_over':
      return [
        out.paint('red', `○ Session ${number} of ${epic} was taken over; it ended without this one.`),
        `  See by whom  orch log ${epic}`,
      ];
    case 'exit': {
      if (why.exit.status === 0)
        return [`✓ ${name} ended ok: session ${number} of ${epic}, ${saved}.`, `  Continue  ${goOn}`];
      return [
        out.paint('red', `✗ ${name} ${describeFailure(why)}: session ${number} of ${epic} failed, ${saved}.`),
        `  Continue  ${goOn}`,
      ];
    }
  }
}
