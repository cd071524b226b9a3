import { withHeldBudget } from '../checkpoint/held-budgets.ts';
import { describeCommit } from '../checkpoint/list.ts';
import { decide, type Verdict } from '../checkpoint/policy.ts';
import { refuseSameButForCase, type Stored } from '../checkpoint/store.ts';
import type { Tip } from '../checkpoint/tip.ts';
import { epicRef } from '../checkpoint/tree.ts';
import { spentIn } from '../cost/money.ts';
import { onlyRecorded } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import { type Event, type Fact, journalOf } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { hasEnded, isLifecycle } from '../state/transition.ts';
import type { EpicId, SessionId } from '../types.ts';
import { chargeAbove } from './above.ts';
import { wakeAgents } from './calm-files.ts';
import { cleanFacts, refuseSecretName } from './clean.ts';
import { type EpicView, readView, viewFrom } from './context.ts';
import { journalFolder } from './journal.ts';
import type { JournalRecord } from './journal-record.ts';
import { appendToJournal } from './journal-write.ts';
import { keepTree, readAhead } from './keep-tree.ts';
import { beginOnce, type Opening, setsBudget } from './open.ts';
import { liftedTime, markOf, readPending } from './pending.ts';
import type { Ask, Outcome, SessionPorts, Target } from './pump-types.ts';
import { saveDraft } from './save-draft.ts';

export type { Ask, Outcome, SessionPorts, Target };

/**
 * THE PUMP: facts → redact → journal → view → decide → checkpoint. Everything that happens in a session comes through
 * here; the facts are on disk before anything is decided about them.
 */
export async function record(
  ports: SessionPorts,
  target: Target,
  facts: readonly Fact[],
  ask: Ask | null = null,
): Promise<Outcome> {
  const { epic, session, settings } = target;
  const clean = await cleanFacts(facts, ports.redact);
  const before = await readView(ports, epic);
  const recorded = clean.length > 0 ? await append(ports, session, before, clean) : [];
  let view = viewFrom(ports, epic, before.tip);
  await chargeAbove(ports, session, view.state, clean, append.bind(null, ports));
  wakeWhereClose(ports, epic, clean, view.state);
  const verdict = decide(settings.policy, { ...view, seen: before.state }, ports.clock.now());
  if (verdict.stop !== null && isRunning(view.state, session)) {
    const reason = verdict.checkpoint?.reason ?? null;
    recorded.push(...(await appendExceeded(ports, session, view, reason)));
    view = viewFrom(ports, epic, before.tip);
  }
  const stored = await saveWhereCalledFor(ports, target, view, verdict, ask).catch((error) => {
    throw clean.every(isLifecycle) ? error : onlyRecorded(error, epic);
  });
  const state = stored ? withHeldBudget(ports.home, epic, stored.document.state) : view.state;
  return { session, events: findEvents(view, session, recorded), state, verdict, stored };
}

/** The same for a session that begins with these facts, and may end with them. */
export async function recordInNew(
  ports: SessionPorts,
  opening: Opening,
  facts: readonly Fact[],
  ask: Ask | null,
): Promise<Outcome> {
  const { epic, session } = opening;
  await refuseSecretName(ports, epic);
  const clean = await cleanFacts(facts, ports.redact);
  const isOwn = isIn(opening.journal ?? session, clean.some(setsBudget));
  const writer = await ports.identifyWriter();
  const beginOn = beginOnce(ports, writer, opening, clean);
  if (ask === null) {
    const { tip } = await readView(ports, epic);
    const { durable, verdict } = await beginOn(tip);
    await durable;
    const { pending, state } = viewFrom(ports, epic, tip);
    wakeWhereClose(ports, epic, clean, state);
    await chargeAbove(ports, session, state, clean, append.bind(null, ports));
    return { session, events: pending.filter(isOwn), state, verdict, stored: null };
  }
  if ((await ports.git.readRef(epicRef(epic))) === null) await refuseSameButForCase(ports.git, epic);
  const [kept] = await Promise.all([keepTree(ports, opening), readAhead(ports, opening)]);
  let verdict: Outcome['verdict'] = { warn: [], stop: null };
  let recorded: Promise<void> | null = null;
  // From the journal: another call's checkpoint may have them.
  let events: Event[] = [];
  try {
    const stored = await saveDraft(ports, opening, kept, writer, async (tip) => {
      const begun = await beginOn(tip);
      if (recorded === null) events = begun.pending.events.filter(isOwn);
      ({ verdict, durable: recorded } = begun);
      const { checkpoint } = begun.verdict;
      const why = checkpoint?.trigger === 'budget' ? checkpoint : ask;
      return { ...begun, why, runFiles: ask.runFiles ?? [] };
    });
    if (stored === null) throw new Error('a draft was made, and no checkpoint of it');
    const state = withHeldBudget(ports.home, epic, stored.document.state);
    wakeWhereClose(ports, epic, clean, state);
    await chargeAbove(ports, session, state, clean, append.bind(null, ports));
    return { session, events, state, verdict, stored };
  } catch (error) {
    if (recorded === null) throw error;
    await recorded;
    if (!ask.orLater) throw clean.every(isLifecycle) ? error : onlyRecorded(error, epic);
    reportLater(ports, error);
    const { state } = await readView(ports, epic);
    return { session, events, state, verdict, stored: null };
  }
}

/** Agents on the epic may not have been looked at since it had no budget, was far from it, or had another session. */
function wakeWhereClose(ports: SessionPorts, epic: EpicId, facts: readonly Fact[], state: State): void {
  const limit = budgetOf(state);
  const isClose = limit !== null && spentIn(state.ledger) >= limit * 0.75;
  const isNews = (fact: Fact) => setsBudget(fact) || isLifecycle(fact);
  if (facts.some(isNews) || (isClose && facts.some(({ kind }) => kind === 'cost' || kind === 'meter')))
    wakeAgents(ports, epic);
}

/** A caller that is told to try again would have it counted twice. */
function reportLater(ports: SessionPorts, error: unknown): void {
  const problem = error instanceof Error ? error.message : error;
  ports.report(`recorded, but the checkpoint could not be made now: ${problem}`);
}

/** What was said in a journal; the budget that the config gives a new epic was not. */
function isIn(journal: SessionId, saysBudget: boolean): (event: Event) => boolean {
  return (event) => journalOf(event) === journal && (saysBudget || !setsBudget(event.fact));
}

async function append(
  { disk, home, clock }: SessionPorts,
  session: SessionId,
  { state, pending, tip, journals }: EpicView,
  facts: readonly Fact[],
): Promise<JournalRecord[]> {
  const at = liftedTime(clock.now(), state, pending);
  const records = facts.map((fact) => ({ at, fact }));
  const journal = journals.find((other) => other.session === session);
  const missing = journal ? Math.max(0, markOf(tip.state, journal.header) - journal.size) : 0;
  await appendToJournal(disk, journalFolder(home), session, records, missing);
  return records;
}

/** The end at the budget. It follows facts that are recorded by now, so if it fails, the next call says it. */
async function appendExceeded(
  ports: SessionPorts,
  session: SessionId,
  view: EpicView,
  reason: string | null,
): Promise<JournalRecord[]> {
  try {
    return await append(ports, session, view, [{ kind: 'budget_exceeded', reason }]);
  } catch (error) {
    ports.report(
      `the end at the budget is not recorded yet: ${error instanceof Error ? error.message : error}`,
    );
    return [];
  }
}

function isRunning(state: State, session: SessionId): boolean {
  const status = lookUp(state.sessions, session)?.value.status;
  return status !== undefined && !hasEnded(status);
}

/** Where records stand in the journal. Others may have recorded at the same moment: theirs are not among them. */
function findEvents({ pending }: EpicView, of: SessionId, records: readonly JournalRecord[]): Event[] {
  const sought = records.map((record) => JSON.stringify(record));
  return pending.filter(({ session, at, fact }) => {
    const index = session === of ? sought.indexOf(JSON.stringify({ at, fact })) : -1;
    return index >= 0 && sought.splice(index, 1).length > 0;
  });
}

/** The checkpoint that was asked for, or that the policy calls for. */
async function saveWhereCalledFor(
  ports: SessionPorts,
  target: Target,
  view: EpicView,
  verdict: Verdict,
  ask: Ask | null,
): Promise<Stored | null> {
  const { epic, session, settings } = target;
  const why = verdict.checkpoint?.trigger === 'budget' ? verdict.checkpoint : (ask ?? verdict.checkpoint);
  if (why === null) return null;
  const writer =
    view.journals.find((journal) => journal.session === session)?.header.writer ??
    (await ports.identifyWriter());
  const kept = await keepTree(ports, target);
  const isUnchanged = !kept.snapshot?.isNew && view.pending.every(({ fact }) => isLifecycle(fact));
  if (ask?.onlyIfChanged && isUnchanged) return null;
  let others: Stored | null = null;
  try {
    const stored = await saveDraft(ports, target, kept, writer, async (tip) => {
      const now = ask === null ? viewFrom(ports, epic, tip) : null;
      if (now && decide(settings.policy, now, ports.clock.now()).checkpoint === null) {
        others = describeSaved(tip);
        return null;
      }
      const pending = readPending(journalFolder(ports.home), epic, tip.state);
      return { pending, why, runFiles: ask?.runFiles ?? [], durable: Promise.resolve() };
    });
    return stored ?? others;
  } catch (error) {
    if (ask !== null && !ask.orLater) throw error;
    reportLater(ports, error); // the next call tries again
    return null;
  }
}

/** The very checkpoint the policy called for, made by somebody who was faster: it has what was recorded here too. */
function describeSaved(tip: Tip): Stored | null {
  const checkpoint = tip.saved && describeCommit(tip.saved.commit);
  return tip.saved && checkpoint ? { checkpoint, document: tip.saved.document, base: tip } : null;
}
