import type { Checkpoint } from '../checkpoint/list.ts';
import type { Budget } from '../cost/budget.ts';
import { refuseCostElsewhere } from '../session/above.ts';
import { checkFacts } from '../session/clean.ts';
import { readView } from '../session/context.ts';
import * as facts from '../session/facts.ts';
import { record } from '../session/record.ts';
import { describeMoney } from '../session/status.ts';
import type { TestState } from '../state/current.ts';
import type { Event, Fact } from '../state/facts.ts';
import type { FileChange, IssueUpdate } from '../state/lists.ts';
import type { BudgetNotice } from './context.ts';
import { inDollars } from './deciding.ts';
import { findTarget, type SessionName } from './sessions.ts';
import { using, type Where } from './where.ts';

/** What came of recording something. */
export type Recorded = {
  readonly events: readonly Event[];
  readonly budget: Budget;
  /** Made because the policy called for it. */
  readonly checkpoint: Checkpoint | null;
  readonly warnings: readonly BudgetNotice[];
  /** The money is gone: stop working. */
  readonly stop: BudgetNotice | null;
};

/** Records facts in a session; they are on disk when this returns. */
export async function recordFacts(
  session: SessionName,
  given: readonly Fact[],
  where: Where = {},
): Promise<Recorded> {
  return using(where, async (orch) => {
    await checkFacts(given);
    const target = await findTarget(orch, session);
    await refuseCostElsewhere(orch, target, given);
    const { events, state, stored, verdict } = await record(orch, target, given);
    const checkpoint = stored?.checkpoint ?? null;
    const { warnings, stop } = inDollars(verdict);
    return { events, budget: describeMoney(state), checkpoint, warnings, stop };
  });
}

export const recordNote = async (session: SessionName, text: string, where: Where = {}): Promise<Recorded> =>
  using(where, (orch) => recordFacts(session, [facts.noteFact(orch.random, text)], orch));

export const recordDecision = async (
  session: SessionName,
  text: string,
  rationale: string | null = null,
  where: Where = {},
): Promise<Recorded> =>
  using(where, (orch) => recordFacts(session, [facts.decisionFact(orch.random, text, rationale)], orch));

export const recordBlocker = async (
  session: SessionName,
  text: string,
  where: Where = {},
): Promise<Recorded> =>
  using(where, (orch) => recordFacts(session, [facts.blockerFact(orch.random, text)], orch));

/** Resolves a blocker, named by its id, the beginning of it, or a piece of its text. */
export const resolveBlocker = async (
  session: SessionName,
  name: string,
  where: Where = {},
): Promise<Recorded> =>
  using(where, async (orch) => {
    const { state } = await readView(orch, (await findTarget(orch, session)).epic);
    return recordFacts(session, [facts.resolvedFact(state, name, orch.clock.now())], orch);
  });

export const recordTried = async (
  session: SessionName,
  text: string,
  why: string | null = null,
  where: Where = {},
): Promise<Recorded> =>
  using(where, (orch) => recordFacts(session, [facts.triedFact(orch.random, text, why)], orch));

/** Asks the user something; the session does not wait for the answer. */
export const recordQuestion = async (
  session: SessionName,
  text: string,
  where: Where = {},
): Promise<Recorded> =>
  using(where, (orch) => recordFacts(session, [facts.questionFact(orch.random, text)], orch));

/** Answers a question, named by its id, the beginning of it, or a piece of its text. */
export const answerQuestion = async (
  session: SessionName,
  name: string,
  answer: string,
  where: Where = {},
): Promise<Recorded> =>
  using(where, async (orch) => {
    const { state } = await readView(orch, (await findTarget(orch, session)).epic);
    const about = { at: orch.clock.now(), byAgent: false };
    const answered = facts.answerFacts(orch.random, state, name, answer, about);
    return recordFacts(session, answered, orch);
  });

export const recordFile = async (
  session: SessionName,
  path: string,
  details: Partial<Omit<FileChange, 'session'>> = {},
  where: Where = {},
): Promise<Recorded> => recordFacts(session, [facts.fileFact(path, details)], where);

export const recordIssue = async (
  session: SessionName,
  id: string,
  update: Partial<Omit<IssueUpdate, 'session'>> = {},
  where: Where = {},
): Promise<Recorded> =>
  using(where, async (orch) => {
    const { state } = await readView(orch, (await findTarget(orch, session)).epic);
    return recordFacts(session, [facts.issueFact(state, id, update)], orch);
  });

/** What is being worked on, or that it is done. */
export const recordTask = async (
  session: SessionName,
  text: string,
  options: { readonly done?: boolean } = {},
  where: Where = {},
): Promise<Recorded> => recordFacts(session, [facts.taskFact(text, options.done ?? false)], where);

export const recordTests = async (
  session: SessionName,
  tests: TestState,
  where: Where = {},
): Promise<Recorded> => recordFacts(session, [facts.testFact(tests)], where);

/** Adds to what the session has cost, in dollars. */
export const recordCost = async (
  session: SessionName,
  usd: number | string,
  details: facts.CostDetails = {},
  where: Where = {},
): Promise<Recorded> => recordFacts(session, [facts.costFact(usd, details)], where);
