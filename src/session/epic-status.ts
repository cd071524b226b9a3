import { type Checkpoint, describeCommit } from '../checkpoint/list.ts';
import { type Budget, describeBudget } from '../cost/budget.ts';
import type { ContextWindow } from '../cost/context-window.ts';
import { totalUsage } from '../cost/ledger.ts';
import { estimateOf, spentIn } from '../cost/money.ts';
import { listUnpriced, type Prices } from '../cost/pricing.ts';
import {
  describeSession,
  isTakenOver,
  type KnownSession,
  listSessions,
  listShown,
  type SessionInfo,
} from '../record/sessions.ts';
import type { EpicView } from '../record/view.ts';
import { budgetOf, readCurrent } from '../state/current.ts';
import { compareStamps } from '../state/join.ts';
import type { Session, State } from '../state/lists.ts';
import { cleanLine } from '../text.ts';
import type { EpicId, Micros, Millis } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { type AgentAtWork, describeAtWork, isRunning } from './at-work.ts';

/** The status of an epic. */
export type EpicStatus = {
  readonly epicId: EpicId;
  /** The running session, else the newest. */
  readonly session: SessionInfo | null;
  readonly checkpoint: Checkpoint | null;
  readonly budget: Budget;
  /** Recorded, and in no checkpoint yet. */
  readonly pendingEvents: number;
  /** The agent's context window, where it is known. */
  readonly context: ContextWindow | null;
  /** The unanswered questions of agents to the user, oldest first. */
  readonly questions: readonly OpenQuestion[];
  /** The sessions that run here, and those that died and were not continued. */
  readonly agents: readonly AgentAtWork[];
};

export type OpenQuestion = {
  readonly id: string;
  readonly text: string;
  readonly askedAt: string;
  /** Does the agent wait for the answer? */
  readonly waits?: true;
};

/** Describes what an epic has spent and may spend; `uncounted` is what an agent reports beyond the records. */
export function describeMoney(state: State, uncounted: Micros = 0): Budget {
  const estimate = estimateOf(totalUsage(state.ledger));
  return describeBudget(spentIn(state.ledger) + uncounted, budgetOf(state), estimate);
}

/** Tokens of a model without a price, and what is counted for them. */
export type Unpriced = { readonly model: string; readonly tokens: number; readonly guessUsd: number };

/** Describes which models of an epic have no price. */
export function describeUnpriced({ ledger }: State, prices: Prices): Unpriced[] {
  return listUnpriced(ledger, prices).map(({ model, tokens, guess }) => {
    return { model, tokens, guessUsd: toUsd(guess) };
  });
}

/** Is it the epic of a convoy? Those of its tasks are shown with it. */
export function isConvoyEpic({ state }: Pick<EpicView, 'state'>): boolean {
  return readCurrent(state, 'convoy') !== null;
}

/** Finds the session a call means if it names none: a running one, else the newest. */
export function mainSession(view: EpicView, home: string): KnownSession | null {
  // A session in which something has happened comes before one that still waits for its first prompt.
  return listSessions(view, home).find(isRunning) ?? listShown(view, home)[0] ?? null;
}

/** Lists the sessions that may be running in other clones, without the main one. */
export function listElsewhere(view: EpicView, home: string): KnownSession[] {
  const sessions = listSessions(view, home);
  const main = mainSession(view, home);
  return sessions.filter(
    (each) => each.condition === 'elsewhere' && each.id !== main?.id && !isTakenOver(each, sessions),
  );
}

/** Describes the status of an epic. */
export function describeEpic(view: EpicView, home: string, now: Millis): EpicStatus {
  const session = mainSession(view, home);
  return {
    epicId: view.epic,
    session: session && describeSession(view, session),
    checkpoint: view.saved && describeCommit(view.saved.commit),
    budget: describeMoney(view.state),
    pendingEvents: view.pending.length,
    context: readCurrent(view.state, 'contextWindow'),
    questions: listOpenQuestions(view.state),
    agents: describeAtWork(view, home, now),
  };
}

export function listOpenQuestions({ questions }: State): OpenQuestion[] {
  return Object.entries(questions)
    .filter(([, { value }]) => value.resolvedAt === null)
    .sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp))
    .map(
      ([
        id,
        {
          value,
          stamp: [at],
        },
      ]) => ({
        ...{ id, text: value.text, askedAt: formatInstant(at) },
        ...(value.waits && { waits: true as const }),
      }),
    );
}

/** Tells whether several clones worked on an epic: only then does it matter which. */
export function hasSeveralWriters({ state }: { readonly state: State }): boolean {
  return new Set(Object.values(state.sessions).map(({ value }) => value.writer)).size > 1;
}

/** Names the machine a session ran on, with the clone's id if several clones share that name. */
export function nameMachine({ state }: { readonly state: State }, { writer, host }: Session): string {
  if (host === undefined) return writer;
  const isShared = Object.values(state.sessions).some(
    ({ value }) => value.writer !== writer && value.host === host,
  );
  return isShared ? `${cleanLine(host)} (${writer})` : cleanLine(host);
}
