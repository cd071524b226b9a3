import { spentIn } from '../../cost/money.ts';
import { isCheckpointId } from '../../ids.ts';
import { lookUp } from '../../keyed.ts';
import { budgetOf, readCurrent } from '../../state/current.ts';
import type { State } from '../../state/lists.ts';
import { hasEnded } from '../../state/transition.ts';
import type { Millis, Status } from '../../types.ts';
import { count, formatUsd } from '../../units.ts';
import { type BriefSubject, type DraftItem, type Gathered, makeSingle } from './brief-items.ts';
import { findBriefSource, sortSessions } from './brief-source.ts';
import { formatUtcTime, plainText } from './brief-text.ts';

const endings: { readonly [S in Status]: string } = {
  initializing: 'last heard of',
  running: 'last heard of',
  paused: 'paused',
  completed: 'completed',
  failed: 'failed',
  budget_exceeded: 'budget used up,',
};

/** How the last session ended, and the state of the epic. */
export function gatherState(subject: BriefSubject): Gathered {
  const { state, checkpoint } = subject;
  const source = findBriefSource(state) ?? sortSessions(state)[0] ?? null;
  const session = source?.value ?? null;
  const by = source && (lookUp(state.sessions, source.session)?.stamp[1] ?? null);
  const items: DraftItem[] = [];
  const add = (text: string | null, by: string | null = null) => {
    if (text) items.push({ key: null, text, by });
  };
  const ended = session && `${formatUtcTime(session.endedAt ?? session.seenAt, state.clock)} UTC`;
  add(session && `${endings[session.status]} ${ended}${hasEnded(session.status) ? '' : ', not ended'}`);
  // A reason like "claude ended" adds nothing.
  const isPlain = session?.reason?.startsWith(`${session.agent} ended`) ?? true;
  const reason = isPlain ? '' : plainText(session?.reason ?? '', 240);
  add(reason && `reason: ${reason}`, by);
  const agent = plainText(session?.agent ?? '', 60);
  add(agent && `agent: ${agent}`, by);
  add(describeMoney(state));
  add(describeGates(subject));
  add(describeCommitted(state));
  add(checkpoint === null ? 'nothing saved yet' : `checkpoint ${checkpoint.seq}`);
  return { items, leftOut: 0 };
}

function describeMoney(state: State): string | null {
  const spent = spentIn(state.ledger);
  const budget = budgetOf(state);
  if (budget === null) return spent > 0 ? `${formatUsd(spent)} spent` : null;
  const over = spent > budget ? ` (${formatUsd(spent - budget)} over)` : '';
  return `${formatUsd(spent)} of ${formatUsd(budget)}${over}`;
}

function describeGates({ epicId, state, checkpoint }: BriefSubject): string | null {
  if (checkpoint === null || checkpoint.gates === 'unknown') return null;
  const green = readCurrent(state, 'lastGreen');
  const isBack = checkpoint.gates === 'red' && green !== null && isCheckpointId(green.id);
  const back = isBack
    ? `, green at checkpoint ${Number(green.seq)} (\`orch restore green -e ${epicId}\`)`
    : '';
  return `gates ${checkpoint.gates}${back}`;
}

function describeCommitted(state: State): string | null {
  const changes = readCurrent(state, 'changes');
  if (changes === null || changes.files === 0) return null;
  if (changes.uncommitted === 0) return 'all committed';
  return changes.uncommitted === changes.files
    ? 'nothing committed'
    : `all committed but ${count(changes.uncommitted, 'file')}`;
}

/** Says that the code is not what the last session left: what is there now, and where the rest is. */
export function gatherRestored({ state }: BriefSubject): Gathered {
  const restored = readCurrent(state, 'restored');
  const since = findBriefSource(state)?.value.startedAt ?? 0;
  if (restored === null || restored.at < since) return makeSingle(null);
  const { checkpoint, leftBehind, paths, isUndo, at } = restored;
  const what = paths === null ? 'all files' : count(paths, 'file');
  const to = checkpoint === null ? 'what they were before' : `checkpoint ${checkpoint.seq}`;
  const how = isUndo ? 'a restore was undone' : `${what} went back to ${to}`;
  const by = lookUp(state.current, 'restored')?.stamp[1];
  const left = `checkpoint ${leftBehind.seq} has what was there before`;
  return makeSingle(`${how} at ${formatUtcTime(at, state.clock)} UTC; ${left}`, by);
}

export function gatherNow({ state }: BriefSubject): Gathered {
  const task = readCurrent(state, 'currentTask');
  const text = plainText(task?.text ?? '', 400);
  const by = lookUp(state.current, 'currentTask')?.stamp[1];
  return makeSingle(text === '' ? null : `${text}${task?.status === 'done' ? ' (done)' : ''}`, by);
}

/** Only for the session that is handed over: earlier summaries were given to that session already. */
export function gatherSummary({ state }: BriefSubject): Gathered {
  const [at = 0, by] = lookUp(state.current, 'compactSummary')?.stamp ?? [];
  const from = findBriefSource(state)?.value.startedAt ?? Number.POSITIVE_INFINITY;
  const text = at < from ? '' : plainText(readCurrent(state, 'compactSummary')?.text ?? '', 400);
  return makeSingle(text && `${text} (${formatUtcTime(at, state.clock)})`, by);
}

/** An older plan may no longer be the current work. */
const staleAfter: Millis = 86_400_000;

/** What the user's ORCHESTRATION.yaml says about the work, and how old that is. */
export function gatherPlan({ state }: BriefSubject): Gathered {
  const plan = readCurrent(state, 'resumptionState');
  if (plan === null) return makeSingle(null);
  const format = (label: string, text: unknown) =>
    typeof text === 'string' && text !== '' ? [`${label}${plainText(text, 200)}`] : [];
  const parts = [
    ...format('', plan.workflow),
    ...format('phase ', plan.phase),
    ...format('', plan.status),
    ...format('next: ', plan.nextStep),
  ];
  if (parts.length === 0) return makeSingle(null);
  const age = typeof plan.at === 'number' ? state.clock - plan.at : null;
  const when =
    age === null || plan.at === null
      ? 'of unknown age'
      : `of ${formatUtcTime(plan.at, state.clock)}${age > staleAfter ? ', stale' : ''}`;
  const by = lookUp(state.current, 'resumptionState')?.stamp[1];
  return makeSingle(`${parts.join('; ')} (ORCHESTRATION.yaml ${when})`, by);
}
