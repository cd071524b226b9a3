import { describeStatus, type EpicStatus, type SessionDetails } from '../../../../index.ts';
import type { Millis } from '../../../../types.ts';
import { count, formatAge } from '../../../../units.ts';
import { epicOption } from '../../../choose.ts';
import { flatten, type Output, showFacts } from '../../../output.ts';
import { answer, defineCommand, inRepository } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { formatDollars, showMoney } from '../../../views/money-view.ts';
import { formatCondition, paintCondition, showContext, viewEpic } from '../../../views/session-view.ts';
import { formatAgo, formatWhen } from '../../../views/time-view.ts';

export const command = defineCommand({
  description: 'Show the state of an epic: its session, last checkpoint, budget, and what is pending.',
  options: [epicOption()],
  examples: ['orch session status', 'orch session status --epic feat-login --json'],
  run: inRepository(async (context, orch, call) => {
    const { status, main } = describeStatus(orch, await viewEpic(context, orch, readText(call, 'epic')));
    answer(context, status, () => showSession(context.out, status, main, orch.clock.now()));
  }),
});

/** Shows a session, one fact per line, below the name of its epic. */
export function showSession(
  out: Output,
  status: EpicStatus,
  details: SessionDetails | null,
  now: Millis,
): string {
  const facts = details ? listFacts(status, details, now) : [];
  const paintValue = (text: string) =>
    details && text.startsWith(formatCondition(details.condition))
      ? paintCondition(out, details.condition, text)
      : text;
  return `${out.paint('bold', status.epicId)}\n${showFacts(out, facts, paintValue)}`;
}

function listFacts(
  { checkpoint, context, budget, pendingEvents }: EpicStatus,
  { session, condition, takenOver, machine, pid, ...details }: SessionDetails,
  now: Millis,
): [name: string, value: string | null][] {
  const { startedAt, seenAt } = details;
  const isRunning = condition === 'running' || condition === 'initializing';
  const until = details.endedAt ?? (isRunning ? now : seenAt);
  const seen = condition === 'elsewhere' ? `, last seen ${formatAgo(now - seenAt, 'just now')}` : '';
  const gates = checkpoint?.gates ?? 'unknown';
  return [
    ['session', `${session.number} (${session.id})${session.agent ? `, ${session.agent}` : ''}`],
    ['state', `${formatCondition(condition)}${seen}${isRunning && pid !== null ? `, pid ${pid}` : ''}`],
    ['taken over', takenOver && `by session ${takenOver.number} on ${flatten(takenOver.machine)}`],
    ['machine', machine && flatten(machine)],
    ['reason', details.reason],
    [
      'time',
      `${formatAge(Math.max(1_000, until - startedAt))}, since ${new Date(startedAt).toISOString().slice(0, 16)}Z`,
    ],
    ['cost', formatDollars(session.costUsd)],
    ['context', context && isRunning ? showContext(context) : null],
    ['parent', session.parentSessionId],
    ['budget', showMoney(budget)],
    [
      'checkpoint',
      checkpoint &&
        `${checkpoint.seq} ${checkpoint.trigger}, ${formatWhen(checkpoint.timestamp, now)}: ${checkpoint.summary}`,
    ],
    ['gates', gates === 'unknown' ? null : gates],
    ['pending', pendingEvents > 0 ? `${count(pendingEvents, 'event')} not in a checkpoint yet` : null],
  ];
}
