import { isAbove, type Tier } from '../cost/context.ts';
import { spentIn } from '../cost/money.ts';
import { budgetOf, readCurrent } from '../state/current.ts';
import type { Event, Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { findDoneTask } from '../state/run.ts';
import type { Micros, Millis, Trigger } from '../types.ts';
import { formatUsd } from '../units.ts';
import type { Saved } from './read.ts';

/** When checkpoints are made without being asked for. */
export type Policy = {
  /** Null: no timer. */
  readonly interval: Millis | null;
  readonly on: readonly Trigger[];
  /** Fractions of the budget, each once. */
  readonly cost: readonly number[];
  /** What is done when the agent's context window fills up; a checkpoint, where it is not said. */
  readonly context?: { readonly critical: ContextAction; readonly emergency: ContextAction };
};

type ContextAction = 'checkpoint' | 'log' | 'stop';

export const defaultPolicy: Policy = {
  interval: 15 * 60_000,
  on: ['session_start', 'error', 'task', 'batch', 'pre_compact', 'context_tier'],
  cost: [0.8],
};

/** These are made whatever the policy says. */
const always: readonly Trigger[] = ['pause', 'complete', 'budget', 'recovery', 'manual', 'merge'];

export function isOn(policy: Policy, trigger: Trigger): boolean {
  return always.includes(trigger) || policy.on.includes(trigger);
}

/** What an epic looks like to somebody who has to decide: the newest checkpoint, and what came since. */
export type View = {
  readonly saved: Saved | null;
  /** What stands in the journals and in no checkpoint yet. */
  readonly pending: readonly Event[];
  /** With all that is pending. */
  readonly state: State;
  /** What whoever asks knew when they last looked; what is saved, where they never did. */
  readonly seen?: State;
};

export type Warning = { readonly kind: 'budget'; readonly spent: Micros; readonly limit: Micros };
export type Stop = { readonly kind: 'budget'; readonly spent: Micros; readonly limit: Micros };
export type Verdict = {
  readonly checkpoint: { readonly trigger: Trigger; readonly reason: string | null } | null;
  readonly warn: readonly Warning[];
  readonly stop: Stop | null;
};

const warnAt = 0.8;

/**
 * What is to be done now. It compares the newest checkpoint with the present state, so that "once per crossing" needs
 * no memory of its own.
 */
export function decide(policy: Policy, view: View, now: Millis): Verdict {
  const spent = spentIn(view.state.ledger);
  const limit = budgetOf(view.state);
  const isOver = limit !== null && spent >= limit;
  const stop: Stop | null = isOver ? { kind: 'budget', spent, limit } : null;
  const before = view.seen ?? view.saved?.document.state ?? null;
  const isWarned = before !== null && isKnownToCross(before, warnAt, limit);
  const warn: Warning[] =
    !isOver && limit !== null && !isWarned && isCrossed(view.state, warnAt)
      ? [{ kind: 'budget', spent, limit }]
      : [];
  return { checkpoint: findTrigger(policy, view, stop, now), warn, stop };
}

function findTrigger(policy: Policy, view: View, stop: Stop | null, now: Millis): Verdict['checkpoint'] {
  if (stop !== null && !isSavedPastBudget(view)) {
    return {
      trigger: 'budget',
      reason: `Budget used up: ${formatUsd(stop.spent)} of ${formatUsd(stop.limit)}`,
    };
  }
  for (const { fact } of view.pending) {
    const trigger = triggerOf(fact, view.state);
    if (trigger !== null && isOn(policy, trigger)) return { trigger, reason: null };
  }
  const full = isOn(policy, 'context_tier') ? findTierCrossing(policy, view) : null;
  if (full !== null) return { trigger: 'context_tier', reason: full };
  const crossed = findCrossing(policy, view);
  if (crossed !== null) return { trigger: 'cost', reason: crossed };
  return isDue(policy, view, now) ? { trigger: 'interval', reason: null } : null;
}

/** Does the newest checkpoint know already that the money is gone? */
function isSavedPastBudget({ saved, state }: View): boolean {
  const limit = budgetOf(state);
  return (
    saved !== null &&
    limit !== null &&
    budgetOf(saved.document.state) === limit &&
    isCrossed(saved.document.state, 1)
  );
}

/** The trigger a fact pulls by itself. */
function triggerOf(fact: Fact, state: State): Trigger | null {
  switch (fact.kind) {
    case 'session_failed':
      return 'error';
    case 'issue':
      return fact.status === 'done' ? 'issue_complete' : null;
    case 'task':
    case 'effect':
      return findDoneTask(state.runs, fact) === null ? null : 'task';
    case 'current_set':
      return fact.key === 'currentTask' && isDoneTask(fact.value) ? 'task' : null;
    default:
      return null;
  }
}

function isDoneTask(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'status' in value && value.status === 'done';
}

/** Is this much of the budget spent? By the state's own budget, where no other is given. */
function isCrossed(state: State, fraction: number, limit = budgetOf(state)): boolean {
  return limit !== null && spentIn(state.ledger) >= limit * fraction;
}

/** By its own budget and by the present one: whether that was raised or lowered since, a crossing is a new one. */
function isKnownToCross(before: State, fraction: number, limit: Micros | null): boolean {
  return isCrossed(before, fraction) && isCrossed(before, fraction, limit);
}

function findCrossing(policy: Policy, { saved, state }: View): string | null {
  const limit = budgetOf(state);
  const isKnown = (fraction: number) =>
    saved !== null && isKnownToCross(saved.document.state, fraction, limit);
  const crossed = policy.cost.filter((fraction) => isCrossed(state, fraction) && !isKnown(fraction));
  if (crossed.length === 0 || limit === null) return null;
  const spent = spentIn(state.ledger);
  return `${Math.floor((spent / limit) * 100)} % of the budget spent: ${formatUsd(spent)} of ${formatUsd(limit)}`;
}

/** What the policy wants at a tier; nothing below the two that are close to the end. */
function actionAt({ context }: Policy, tier: Tier): ContextAction {
  if (tier === 'EMERGENCY') return context?.emergency ?? 'checkpoint';
  return tier === 'CRITICAL' ? (context?.critical ?? 'checkpoint') : 'log';
}

/** Has the window filled up to a tier that the newest checkpoint does not know of yet? */
function findTierCrossing(policy: Policy, { saved, state }: View): string | null {
  const now = readCurrent(state, 'contextWindow');
  const before = saved && readCurrent(saved.document.state, 'contextWindow');
  // Another session of the agent's begins with a window of its own.
  const known = before?.agentSession === now?.agentSession ? (before?.tier ?? null) : null;
  if (now === null || actionAt(policy, now.tier) === 'log' || !isAbove(now.tier, known)) return null;
  return `Context window ${now.tier}: ${Math.floor(now.fill * 100)} % full`;
}

/** Is an agent to stop because its own context window is nearly full? */
export function findFullContext(policy: Policy, state: State, agentSessions: readonly string[]) {
  const now = readCurrent(state, 'contextWindow');
  if (now === null || !agentSessions.includes(now.agentSession)) return null;
  return actionAt(policy, now.tier) === 'stop' ? now : null;
}

/** Is a checkpoint due by the clock, and is there something to put in it? */
function isDue({ interval }: Policy, { saved, pending }: View, now: Millis): boolean {
  const [first] = pending;
  if (interval === null || first === undefined || !pending.some(({ fact }) => isWork(fact))) return false;
  // A clock that was set back must not keep checkpoints from being made until it has caught up.
  return Math.abs(now - (saved?.commit.authoredAt ?? first.at)) >= interval;
}

function isWork({ kind }: Fact): boolean {
  return !kind.startsWith('session_');
}

/** The trigger that calls for a checkpoint now, or null where none does. */
export function shouldCheckpoint(policy: Policy, view: View, now: Millis): Trigger | null {
  return decide(policy, view, now).checkpoint?.trigger ?? null;
}
