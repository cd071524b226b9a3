import type { Budget } from '../cost/budget.ts';
import type { ContextWindow } from '../cost/context.ts';
import type { EpicView } from '../session/context.ts';
import { costOf, type Fate, findTakeover, type KnownSession, shownFate } from '../session/fate.ts';
import type { EpicStatus } from '../session/status.ts';
import type { Session } from '../state/lists.ts';
import type { Millis } from '../types.ts';
import { formatAge, formatUsd } from '../units.ts';
import { type Colour, flatten, type Output } from './output.ts';

/** How each fate looks: a mark, a word, a colour. */
const looks: { readonly [F in Fate]: readonly [mark: string, word: string, colour: Colour] } = {
  initializing: ['●', 'starting', 'green'],
  running: ['●', 'running', 'green'],
  paused: ['‖', 'paused', 'dim'],
  completed: ['✓', 'completed', 'green'],
  failed: ['✗', 'failed', 'red'],
  budget_exceeded: ['■', 'over budget', 'red'],
  interrupted: ['✗', 'interrupted', 'red'],
  elsewhere: ['○', 'running elsewhere', 'yellow'],
};

export function markOf(fate: Fate): string {
  return `${looks[fate][0]} ${looks[fate][1]}`;
}

export function paintFate({ paint }: Output, fate: Fate, text: string): string {
  return paint(looks[fate][2], text);
}

/** `● claude s7 41m`, `■ over budget`: what the newest session is at. */
export function showState({ fate, value }: KnownSession, now: Millis): string {
  if (fate !== 'running' && fate !== 'initializing') return markOf(fate);
  const age = formatAge(Math.max(0, now - value.startedAt));
  return `● ${value.agent ?? 'session'} s${value.number} ${age}`;
}

/** `██░░░░░`: how much is spent, rounded down so that it is full only when all is. */
export function showBar(percent: number | null, width = 7): string {
  if (percent === null) return '';
  const full = Math.min(width, Math.floor((percent / 100) * width));
  return '█'.repeat(full) + '░'.repeat(width - full);
}

const usd = (amount: number) => `$${amount.toFixed(2)}`;

/** `$4.10`, and `~$4.10` where a part of it is only an agent's own figure. */
function showSpent({ spentUsd, estimatedUsd }: Budget): string {
  return `${estimatedUsd === undefined ? '' : '~'}${usd(spentUsd)}`;
}

/** `$4.10/$20.00`, `$0.80`: where there is little room. */
export function showAmounts(budget: Budget): string {
  const { limitUsd } = budget;
  return limitUsd === null ? showSpent(budget) : `${showSpent(budget)}/${usd(limitUsd)}`;
}

/** `$4.10/$20.00 ██░░░░░  21%`, `$0.80 no limit` */
export function showMoney(budget: Budget): string {
  const { percent } = budget;
  if (percent === null) return `${showAmounts(budget)}  no limit`;
  return `${showAmounts(budget)}  ${showBar(percent)} ${`${Math.floor(percent)}%`.padStart(4)}`;
}

const learned: { readonly [S in ContextWindow['source']]: string } = {
  config: 'from the config',
  agent: 'told by the agent',
  model: "from the model's name",
  default: 'assumed',
};

/** `CRITICAL 82%`: where there is little room. */
export function showTier({ tier, fill }: ContextWindow): string {
  return `${tier} ${Math.floor(fill * 100)}%`;
}

/** `CRITICAL 82% of 200000 tokens (assumed), after a compaction` */
export function showContext(context: ContextWindow): string {
  const room = context.madeRoom === null ? '' : `, after a ${context.madeRoom}`;
  return `${showTier(context)} of ${context.window} tokens (${learned[context.source]})${room}`;
}

export function budgetColour({ level }: Budget): Colour {
  return level === 'exceeded' ? 'red' : level === 'warning' ? 'yellow' : 'green';
}

/** `2m ago`, or the time of day and day where that is longer ago. */
export function showWhen(timestamp: string, now: Millis): string {
  const age = Math.max(0, now - Date.parse(timestamp));
  const short = formatAge(age);
  return short === 'now' ? 'now' : `${short} ago`;
}

/** `just now`, `5m ago`. */
function showSeen(age: Millis): string {
  const short = formatAge(Math.max(0, age));
  return short === 'now' ? 'just now' : `${short} ago`;
}

/** Did several clones work on it? Only then it matters which. */
export function hasSeveralWriters({ state }: EpicView): boolean {
  return new Set(Object.values(state.sessions).map(({ value }) => value.writer)).size > 1;
}

/** The machine a session ran on, by its own name; with the clone's id where that name does not tell clones apart. */
export function nameMachine({ state }: EpicView, { writer, host }: Session): string {
  if (host === undefined) return writer;
  const isShared = Object.values(state.sessions).some(
    ({ value }) => value.writer !== writer && value.host === host,
  );
  return isShared ? `${flatten(host)} (${writer})` : flatten(host);
}

/** One session in lines: for `session status` and `session show`. */
export function showSessionFacts(
  view: EpicView,
  session: KnownSession,
  status: EpicStatus,
  now: Millis,
): [name: string, value: string | null][] {
  const { value, live, id } = session;
  const fate = shownFate(session);
  const isRunning = fate === 'running' || fate === 'initializing';
  const until = value.endedAt ?? (isRunning ? now : value.seenAt);
  const { checkpoint } = status;
  const taker = findTakeover(session, view.state);
  return [
    ['session', `${value.number} (${id})${value.agent ? `, ${value.agent}` : ''}`],
    [
      'state',
      `${markOf(fate)}${fate === 'elsewhere' ? `, last seen ${showSeen(now - value.seenAt)}` : ''}${live && isRunning ? `, pid ${live.holder.pid}` : ''}`,
    ],
    ['taken over', taker && `by session ${taker.number} on ${nameMachine(view, taker)}`],
    ['machine', hasSeveralWriters(view) ? nameMachine(view, value) : null],
    ['reason', value.reason],
    [
      'time',
      `${formatAge(Math.max(1_000, until - value.startedAt))}, since ${new Date(value.startedAt).toISOString().slice(0, 16)}Z`,
    ],
    ['cost', formatUsd(costOf(view.state, id))],
    ['context', status.context && isRunning ? showContext(status.context) : null],
    ['parent', value.parentSessionId],
    ['budget', showMoney(status.budget)],
    [
      'checkpoint',
      checkpoint &&
        `${checkpoint.seq} ${checkpoint.trigger}, ${showWhen(checkpoint.timestamp, now)}: ${checkpoint.summary}`,
    ],
    ['gates', checkpoint && checkpoint.gates !== 'unknown' ? checkpoint.gates : null],
    ['pending', status.pendingEvents > 0 ? `${status.pendingEvents} recorded, in no checkpoint yet` : null],
  ];
}

export function costCell({ state }: EpicView, session: KnownSession['id']): string {
  return formatUsd(costOf(state, session));
}
