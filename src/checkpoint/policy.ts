import { isTierAbove, type Tier } from '../cost/context-window.ts';
import { spentIn } from '../cost/money.ts';
import { budgetOf, readCurrent } from '../state/current.ts';
import type { Event, Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { findDoneTask } from '../state/runs.ts';
import type { Micros, Millis, Trigger } from '../types.ts';
import { formatUsd } from '../units.ts';
import type { Saved } from './read-base.ts';

/** When checkpoints are made automatically. */
export type Policy = {
  /** Null: no timer. */
  readonly interval: Millis | null;
  readonly on: readonly Trigger[];
  /** Fractions of the budget, each once. */
  readonly cost: readonly number[];
  /** What to do when the agent's context window fills up; by default a checkpoint. */
  readonly context?: { readonly critical: ContextAction; readonly emergency: ContextAction };
};

type ContextAction = 'checkpoint' | 'log' | 'stop';

export const defaultPolicy: Policy = {
  interval: 15 * 60_000,
  on: ['session_start', 'error', 'task', 'batch', 'pre_compact', 'context_tier'],
  cost: [0.8],
};

/** Made whatever the policy says. */
const always: readonly Trigger[] = ['pause', 'complete', 'budget', 'recovery', 'manual', 'merge'];

export function isOn(policy: Policy, trigger: Trigger): boolean {
  return always.includes(trigger) || policy.on.includes(trigger);
}

/** An epic as decisions see it: the newest checkpoint, and what came after it. */
export type View = {
  readonly saved: Saved | null;
  /** What the journals hold that is in no checkpoint yet. */
  readonly pending: readonly Event[];
  /** Including everything pending. */
  readonly state: State;
  /** The state the caller saw last; defaults to the saved one. */
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
 * Decides what to do now. Compares the newest checkpoint with the current state, so that "once per crossing" needs no
 * memory of its own.
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

/** Does the newest checkpoint already record that the budget is used up? */
function isSavedPastBudget({ saved, state }: View): boolean {
  const limit = budgetOf(state);
  return (
    saved !== null &&
    limit !== null &&
    budgetOf(saved.document.state) === limit &&
    isCrossed(saved.document.state, 1)
  );
}

/** The trigger of a single fact. */
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

/** Is this much of the budget spent? Uses the state's own budget unless another is given. */
function isCrossed(state: State, fraction: number, limit = budgetOf(state)): boolean {
  return limit !== null && spentIn(state.ledger) >= limit * fraction;
}

/** Compares with the old budget and the current one: after the budget changed, a crossing is new. */
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
  return `${Math.floor((spent / limit) * 100)}% of the budget spent: ${formatUsd(spent)} of ${formatUsd(limit)}`;
}

/** The policy's action for a tier; nothing below the top two. */
function actionAt({ context }: Policy, tier: Tier): ContextAction {
  if (tier === 'EMERGENCY') return context?.emergency ?? 'checkpoint';
  return tier === 'CRITICAL' ? (context?.critical ?? 'checkpoint') : 'log';
}

/** Has the window reached a tier that the newest checkpoint does not have yet? */
function findTierCrossing(policy: Policy, { saved, state }: View): string | null {
  const now = readCurrent(state, 'contextWindow');
  const before = saved && readCurrent(saved.document.state, 'contextWindow');
  // A new conversation of the agent starts with an empty window.
  const known = before?.agentSession === now?.agentSession ? (before?.tier ?? null) : null;
  if (now === null || actionAt(policy, now.tier) === 'log' || !isTierAbove(now.tier, known)) return null;
  return `Context window ${now.tier}: ${Math.floor(now.fill * 100)}% full`;
}

/** The agent's context window if the policy wants the agent to stop because of it; else null. */
export function findFullContext(policy: Policy, state: State, agentSessions: readonly string[]) {
  const now = readCurrent(state, 'contextWindow');
  if (now === null || !agentSessions.includes(now.agentSession)) return null;
  return actionAt(policy, now.tier) === 'stop' ? now : null;
}

/** Is a checkpoint due by the clock, with something to put in it? */
function isDue({ interval }: Policy, { saved, pending }: View, now: Millis): boolean {
  const [first] = pending;
  if (interval === null || first === undefined || !pending.some(({ fact }) => isWork(fact))) return false;
  // A clock that was set back must not prevent checkpoints until it has caught up.
  return Math.abs(now - (saved?.commit.authoredAt ?? first.at)) >= interval;
}

function isWork({ kind }: Fact): boolean {
  return !kind.startsWith('session_');
}

/** The trigger that calls for a checkpoint now; null if there is none. */
export function shouldCheckpoint(policy: Policy, view: View, now: Millis): Trigger | null {
  return decide(policy, view, now).checkpoint?.trigger ?? null;
}
