import type { OrchError } from '../../errors.ts';
import {
  type CodeOffer,
  describeFailure,
  formatProcesses,
  type NamedProcess,
  type StopResult,
  type SupervisedSession,
  type SuperviseEvent,
} from '../../index.ts';
import type { Millis } from '../../types.ts';
import { count, toUsd } from '../../units.ts';
import type { Output } from '../output.ts';
import { showNotSaved } from '../views/checkpoint-view.ts';
import { formatDollars, showBudgetWarning } from '../views/money-view.ts';
import { showHead } from '../views/restore-view.ts';
import { describeTime, timeOfDay } from '../views/time-view.ts';

/* Everything orch prints about a session it supervises: its start, its code, its events, its end. */

type EventOf<K extends SuperviseEvent['kind']> = Extract<SuperviseEvent, { kind: K }>;

/** The lines at the start: epic, session, money, and what was recovered. */
export function showStart(
  out: Output,
  { epicId, number, budget, recovered, brief }: EventOf<'started'>,
): string[] {
  const { spentUsd, limitUsd } = budget;
  const money = limitUsd === null ? 'no budget' : `stops at ${formatDollars(limitUsd)}`;
  const lines = [
    `orch: ${out.paint('bold', epicId)}, session ${number}, ${formatDollars(spentUsd)} spent, ${money}.`,
  ];
  for (const { seenAt, number: dead, events, leftovers } of recovered) {
    const result = events === 0 ? 'nothing was lost' : `${count(events, 'event')} recovered`;
    lines.push(`      Session ${dead} was interrupted at ${timeOfDay(seenAt)}: ${result}.`);
    const { found, left } = leftovers;
    if (found > 0 && left.length === 0)
      lines.push('      Its command was still running unsupervised; orch stopped it.');
    if (left.length > 0) lines.push(`      ${showLeft(out, left)}`);
  }
  if (brief === null && number > 1) {
    const hint = `This epic has earlier sessions. To continue with their brief: orch resume -e ${epicId}`;
    lines.push(out.paint('dim', `      ${hint}`));
  }
  return lines;
}

const fetchFirst = 'Run orch sync in the clone that saved it, then here.';

/** The code a session can continue from: what to print first, what to ask, and what to print if it is not restored. */
export function showOffer(offer: CodeOffer) {
  const { checkpoint, isOwn, change, problem, others } = offer;
  const { seq, sessionNumber, epicId } = checkpoint;
  const names = others.map((other) => `session ${other.checkpoint.sessionNumber}`).join(', ');
  const several = [
    `Session ${sessionNumber} and ${names} ran at the same time, each on its own code.`,
    `The newest checkpoint is ${seq}, from session ${sessionNumber}${isOwn ? ' (yours)' : ''}.`,
  ];
  const files = change && count(change.files, 'file');
  const state = change?.isClean ? 'your tree is clean' : 'your changes are saved first';
  const isDifferent = change !== null && change.files > 0;
  return {
    lines: [
      ...(others.length > 0 ? several : []),
      ...(problem ? showProblem(offer, problem) : []),
      ...(change?.files === 0 ? [`Your files match checkpoint ${seq}.`] : []),
      ...(isDifferent ? showElsewhere(change) : []),
    ],
    question: isDifferent
      ? `Its code is not here. Restore the snapshot of checkpoint ${seq} (${files}; ${state})?`
      : null,
    unrestored: isDifferent
      ? [
          `Your files stay as they are and differ from checkpoint ${seq} (${files}). To get its code: ${formatRestore(offer)}`,
        ]
      : [],
    others: others.map((other) => {
      const compare = `compare it with your files: orch diff ${other.name} -e ${epicId}`;
      const how = other.isHere ? compare : `it is not in this clone. ${fetchFirst}`;
      return `Session ${other.checkpoint.sessionNumber} left checkpoint ${other.checkpoint.seq}: ${how}`;
    }),
    enterIs: others.length > 0 ? ('no' as const) : ('yes' as const),
  };
}

/** Restoring files does not move the branch, so the user should know if the work was done on another commit. */
function showElsewhere({ target, setting }: NonNullable<CodeOffer['change']>): string[] {
  const isElsewhere = setting.head.commit !== setting.earlier?.commit;
  return isElsewhere ? showHead(target.label, setting).map((line) => line.trim()) : [];
}

/** Why the code could not be restored, and how to get it. */
export function showProblem(offer: CodeOffer, problem: OrchError): string[] {
  const first = `Your files stay as they are: ${problem.message}`;
  const isMissing = problem.code === 'INTEGRITY' && problem.data.snapshot !== undefined;
  if (isMissing) return [first, `${fetchFirst} To get its code: ${formatRestore(offer)}`];
  return problem.hint ? [first, problem.hint] : [first];
}

const formatRestore = ({ name, checkpoint }: CodeOffer) => `orch restore ${name} -e ${checkpoint.epicId}`;

/** The line for an event while the command runs; null if there is nothing to show. */
export function showEvent(
  out: Output,
  event: EventOf<'checkpoint' | 'warning' | 'notice' | 'fault' | 'waiting' | 'stopping'>,
  now: Millis,
): string | null {
  const text = describeEvent(out, event, now);
  return text === null ? null : `${timeOfDay(now)}  ${text}`;
}

function describeEvent(out: Output, event: Parameters<typeof showEvent>[1], now: Millis): string | null {
  switch (event.kind) {
    case 'checkpoint': {
      const { seq, trigger, summary, costUsd } = event.checkpoint;
      const cost = out.paint('dim', formatDollars(costUsd));
      return `${out.paint('cyan', '◆')} ckpt ${seq} ${trigger}: ${summary}  ${cost}`;
    }
    case 'warning': {
      const { spent, limit } = event.warning;
      return showBudgetWarning(out, { spentUsd: toUsd(spent), limitUsd: toUsd(limit) });
    }
    case 'notice':
      return event.message;
    case 'fault':
      return `${out.paint('red', '!')} ${event.message}`;
    case 'waiting':
      return `… usage limit: waiting until ${describeTime(event.until, now)} (Ctrl+C pauses)`;
    case 'stopping':
      return event.why.kind === 'signal' ? null : '… stopping the command';
  }
}

/** Names the processes that could not be stopped, so that a person can stop them. */
export function showLeft(out: Output, left: readonly NamedProcess[], what = 'Still running'): string {
  const pids = left.map(({ pid }) => pid).join(',');
  return `${out.paint('red', '!')} ${what}: ${formatProcesses(left)}. Look at it with: ps -fp ${pids}`;
}

/** Only the kernel can confirm that nothing the command started is left, so only then the line says so. */
function describeStop(name: string, stopped: StopResult | null, saved: number | null): string {
  if (stopped === null || stopped.by === null)
    return saved === null ? 'Everything is in the journal.' : `Saved checkpoint ${saved}.`;
  const all = stopped.isCertain && stopped.left.length === 0 ? ' and everything it started' : '';
  const how = `stopped ${name}${all} (${stopped.by}). The code is as ${name} left it.`;
  return saved === null ? `Everything is in the journal; ${how}` : `Saved checkpoint ${saved}, then ${how}`;
}

/** What is shown of a session that has ended. */
export type EndShown = Pick<
  SupervisedSession,
  'why' | 'stopped' | 'epicId' | 'number' | 'checkpoint' | 'document' | 'budget' | 'takenOver'
>;

/** The lines at the end: how it ended, what was saved, what still runs, and how to continue. */
export function showEnd(out: Output, ended: EndShown, name: string): string[] {
  const { stopped, takenOver, checkpoint, document } = ended;
  const left = stopped?.left ?? [];
  const strays = stopped?.strays ?? [];
  return [
    ...showWhy(out, ended, name),
    ...(takenOver === null ? [] : [`  ${out.paint('yellow', takenOver)}`]),
    ...(left.length > 0 ? [`  ${showLeft(out, left)}`] : []),
    ...(strays.length > 0 ? [`  ${showLeft(out, strays, 'Still running, and possibly started by it')}`] : []),
    ...(document && checkpoint ? showNotSaved(out, checkpoint).map((line) => `  ${line}`) : []),
  ];
}

function showWhy(out: Output, ended: EndShown, name: string): string[] {
  const { why, stopped, number, checkpoint, epicId: epic } = ended;
  const session = `session ${number} of ${epic}`;
  const saved = checkpoint === null ? 'everything is in the journal' : `ckpt ${checkpoint.seq} saved`;
  const resume = `orch resume -e ${epic}`;
  switch (why.kind) {
    case 'budget': {
      const { spentUsd, limitUsd } = ended.budget;
      const over = spentUsd - (limitUsd ?? spentUsd);
      const extra = over > 0 ? ` (${formatDollars(over)} over: the turn in flight)` : '';
      const amounts = `${formatDollars(spentUsd)} of ${formatDollars(limitUsd ?? 0)}`;
      return [
        out.paint('red', `■ Budget used up: ${amounts}${extra}`),
        `  ${describeStop(name, stopped, why.saved)}`,
        `  Review  orch diff s${number} -e ${epic}      Continue  ${resume} --budget +10`,
      ];
    }
    case 'signal':
      return [`‖ Paused: ${session}, ${saved}.`, `  Continue  ${resume}`];
    case 'request':
      return [`‖ Session ${number} of ${epic} was ended from another shell, ${saved}.`];
    case 'witness':
      return [
        out.paint('yellow', `■ The witness ended ${session}, because ${why.why}; ${saved}.`),
        `  ${describeStop(name, stopped, checkpoint?.seq ?? null)}`,
        `  Continue  ${resume}`,
      ];
    case 'supervision_failed':
      return [
        out.paint('red', `■ orch could not supervise ${session}, and ended it: ${why.problem}`),
        `  ${describeStop(name, stopped, checkpoint?.seq ?? null)}`,
        `  Continue  ${resume}`,
      ];
    case 'taken_over':
      return [
        out.paint('red', `○ Session ${number} of ${epic} was taken over, so this one has ended.`),
        `  See by whom  orch log ${epic}`,
      ];
    case 'exit':
      return [
        why.exit.status === 0
          ? `✓ ${name} ended ok: ${session}, ${saved}.`
          : out.paint('red', `✗ ${name} ${describeFailure(why)}: ${session} failed, ${saved}.`),
        `  Continue  ${resume}`,
      ];
  }
}
