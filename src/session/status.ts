import { type Checkpoint, describeCommit } from '../checkpoint/list.ts';
import { type Budget, describeBudget } from '../cost/budget.ts';
import type { ContextWindow } from '../cost/context.ts';
import { totalUsage } from '../cost/ledger.ts';
import { estimateOf, spentIn } from '../cost/money.ts';
import { budgetOf, readCurrent } from '../state/current.ts';
import { compareStamps } from '../state/join.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Millis } from '../types.ts';
import { type AgentAtWork, describeAtWork } from './at-work.ts';
import type { EpicView } from './context.ts';
import {
  describeSession,
  isTakenOver,
  type KnownSession,
  listSessions,
  listShown,
  type SessionInfo,
} from './fate.ts';

/** Where an epic stands. */
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
  /** What agents asked the user and got no answer to yet, oldest first. */
  readonly questions: readonly OpenQuestion[];
  /** The sessions that run here, and those that died and that none continued from. */
  readonly agents: readonly AgentAtWork[];
};

type OpenQuestion = { readonly id: string; readonly text: string };

export function describeMoney(state: State): Budget {
  return describeBudget(spentIn(state.ledger), budgetOf(state), estimateOf(totalUsage(state.ledger)));
}

/** The session that is meant where none is named. */
export function mainSession(view: EpicView, home: string): KnownSession | null {
  const isRunning = ({ fate }: KnownSession) => fate === 'running' || fate === 'initializing';
  // One in which something has happened, before one whose agent was not asked anything yet.
  return listSessions(view, home).find(isRunning) ?? listShown(view, home)[0] ?? null;
}

/** The sessions that may run in other clones, besides the main one. */
export function listElsewhere(view: EpicView, home: string): KnownSession[] {
  const sessions = listSessions(view, home);
  const main = mainSession(view, home);
  return sessions.filter(
    (each) => each.fate === 'elsewhere' && each.id !== main?.id && !isTakenOver(each, sessions),
  );
}

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

function listOpenQuestions({ questions }: State): OpenQuestion[] {
  return Object.entries(questions)
    .filter(([, { value }]) => value.resolvedAt === null)
    .sort(([, a], [, b]) => compareStamps(a.stamp, b.stamp))
    .map(([id, { value }]) => ({ id, text: value.text }));
}
