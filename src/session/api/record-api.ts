import type { Orch } from '../../orch.ts';
import { refuseCostElsewhere } from '../../record/charge-above.ts';
import { checkFacts } from '../../record/clean-facts.ts';
import * as facts from '../../record/fact-builders.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import type { TestState } from '../../state/current.ts';
import type { Event, Fact } from '../../state/facts.ts';
import type { FileChange, IssueUpdate, State } from '../../state/lists.ts';
import { using, type Where } from '../../where.ts';
import { describeMoney } from '../epic-status.ts';
import { loadNamedSession, type SessionName } from '../find-session.ts';
import { inDollars, type RecordedEntry } from '../recorded-entry.ts';

/** The result of recording facts. */
export type Recorded = Omit<RecordedEntry, 'epicId' | 'events'> & { readonly events: readonly Event[] };

/** Records facts in a session; they are on disk when this returns. */
export async function recordFacts(
  session: SessionName,
  given: readonly Fact[],
  where: Where = {},
): Promise<Recorded> {
  return using(where, async (orch) => {
    await checkFacts(given);
    const target = await loadNamedSession(orch, session);
    await refuseCostElsewhere(orch, target, given);
    const { events, state, stored, verdict } = await record(orch, target, given);
    const checkpoint = stored?.checkpoint ?? null;
    return { events, budget: describeMoney(state), checkpoint, ...inDollars(verdict) };
  });
}

/** Records one fact, which may need a random id. */
const recordOne = async (session: SessionName, where: Where, make: (orch: Orch) => Fact): Promise<Recorded> =>
  using(where, (orch) => recordFacts(session, [make(orch)], orch));

/** Records facts that depend on what the epic already knows. */
const recordAbout = async (
  session: SessionName,
  where: Where,
  make: (orch: Orch, state: State) => readonly Fact[],
): Promise<Recorded> =>
  using(where, async (orch) => {
    const { epic } = await loadNamedSession(orch, session);
    return recordFacts(session, make(orch, (await readView(orch, epic)).state), orch);
  });

/** Records a note. */
export const recordNote = async (session: SessionName, text: string, where: Where = {}): Promise<Recorded> =>
  recordOne(session, where, ({ random }) => facts.noteFact(random, text));

/** Records a decision, and why it was made. */
export const recordDecision = async (
  session: SessionName,
  text: string,
  rationale: string | null = null,
  where: Where = {},
): Promise<Recorded> =>
  recordOne(session, where, ({ random }) => facts.decisionFact(random, text, rationale));

/** Records what keeps the work from continuing. */
export const recordBlocker = async (
  session: SessionName,
  text: string,
  where: Where = {},
): Promise<Recorded> => recordOne(session, where, ({ random }) => facts.blockerFact(random, text));

/** Resolves a blocker, named by its id, the start of its id, or a part of its text. */
export const resolveBlocker = async (
  session: SessionName,
  name: string,
  where: Where = {},
): Promise<Recorded> =>
  recordAbout(session, where, ({ clock }, state) => [facts.resolvedFact(state, name, clock.now())]);

/** Records an approach that failed, and why. */
export const recordTried = async (
  session: SessionName,
  text: string,
  why: string | null = null,
  where: Where = {},
): Promise<Recorded> => recordOne(session, where, ({ random }) => facts.triedFact(random, text, why));

/** Asks the user a question; the session does not wait for the answer. */
export const recordQuestion = async (
  session: SessionName,
  text: string,
  where: Where = {},
): Promise<Recorded> => recordOne(session, where, ({ random }) => facts.questionFact(random, text));

/** Answers a question, named by its id, the start of its id, or a part of its text. */
export const answerQuestion = async (
  session: SessionName,
  name: string,
  answer: string,
  where: Where = {},
): Promise<Recorded> =>
  recordAbout(session, where, ({ random, clock }, state) =>
    facts.answerFacts(random, state, name, answer, { at: clock.now(), byAgent: false }),
  );

/** Records that a file changed. */
export const recordFile = async (
  session: SessionName,
  path: string,
  details: Partial<Omit<FileChange, 'session'>> = {},
  where: Where = {},
): Promise<Recorded> => recordFacts(session, [facts.fileFact(path, details)], where);

/** Records an issue, or what changed about it. */
export const recordIssue = async (
  session: SessionName,
  id: string,
  update: Partial<Omit<IssueUpdate, 'session'>> = {},
  where: Where = {},
): Promise<Recorded> => recordAbout(session, where, (_, state) => [facts.issueFact(state, id, update)]);

/** Records the task in progress, or that it is done. */
export const recordTask = async (
  session: SessionName,
  text: string,
  options: { readonly done?: boolean } = {},
  where: Where = {},
): Promise<Recorded> => recordFacts(session, [facts.taskFact(text, options.done ?? false)], where);

/** Records the result of a test run. */
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
