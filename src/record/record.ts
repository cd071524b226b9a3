import { withLocalBudget } from '../checkpoint/local-budget.ts';
import { decide, type Verdict } from '../checkpoint/policy.ts';
import type { Stored } from '../checkpoint/store.ts';
import { spentIn } from '../cost/money.ts';
import { recordedWithoutCheckpoint, systemCode, writeFailed } from '../errors.ts';
import type { JournalRecord } from '../journal/journal-format.ts';
import { lookUp } from '../keyed.ts';
import { budgetOf } from '../state/current.ts';
import { type Event, type Fact, journalOf } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { hasEnded, isLifecycle } from '../state/transition.ts';
import { yieldToEventLoop } from '../system/clock.ts';
import type { EpicId, SessionId } from '../types.ts';
import { appendFacts, beginSession, refuseBadName, setsBudget, type Written } from './begin.ts';
import { checkNextCalls } from './call-checks.ts';
import { chargeAbove, isSpending } from './charge-above.ts';
import { cleanFacts } from './clean-facts.ts';
import { type KeptTree, keepTree } from './keep-code.ts';
import type { SessionPorts, Target } from './ports.ts';
import { type CheckpointRequest, chooseCause, save } from './save.ts';
import { type EpicView, readView, viewFrom } from './view.ts';

export type Outcome = {
  readonly session: SessionId;
  /** The recorded events. */
  readonly events: readonly Event[];
  readonly state: State;
  readonly verdict: Pick<Verdict, 'warn' | 'stop'>;
  readonly stored: Stored | null;
};

/**
 * THE PUMP: facts → redact → journal → view → decide → checkpoint. Everything that happens in a session goes through
 * here, and facts are in the journal before anything is decided about them.
 */
export async function record(
  ports: SessionPorts,
  target: Target,
  facts: readonly Fact[],
  request: CheckpointRequest | null = null,
): Promise<Outcome> {
  const clean = await cleanFacts(facts, ports.redact);
  if (target.kind === 'new') await refuseBadName(ports, target.epic);
  const tree = await startTree(ports, target, request);
  try {
    const written = await writeJournal(ports, target, clean);
    try {
      const decided = await decideNow(ports, target, written);
      checkCallsIfMoneyIsShort(ports, target.epic, clean, decided.view.state);
      await chargeAbove(ports, target.session, decided.view.state, clean, written.durable);
      const stored = await saveIfCalledFor(ports, target, { ...decided, request, tree, ...written });
      await written.durable;
      return describeOutcome(ports, target, decided, stored);
    } catch (error) {
      // The facts count once they are written: a caller that repeats them would count them twice.
      await written.durable;
      const problem = systemCode(error) ? writeFailed('the checkpoint could not be written', error) : error;
      throw clean.every(isLifecycle) ? problem : recordedWithoutCheckpoint(problem, target.epic);
    }
  } finally {
    await tree?.kept;
  }
}

/**
 * Starts saving the working tree while the journal is written, if a new session's checkpoint is certain because it was
 * requested. A running session records its facts first.
 */
async function startTree(ports: SessionPorts, target: Target, request: CheckpointRequest | null) {
  if (target.kind === 'running' || request === null) return null;
  const kept = keepTree(ports, target);
  kept.catch(() => {}); // awaited once the journal is written
  await yieldToEventLoop(); // lets git start before this process gets busy
  return { kept };
}

/** Writes the facts to the session's journal; a new session starts with them. */
async function writeJournal(ports: SessionPorts, target: Target, facts: readonly Fact[]): Promise<Written> {
  if (target.kind === 'new') return beginSession(ports, target, facts);
  const before = await readView(ports, target.epic);
  const records = await appendFacts(ports, target.session, before, facts);
  return { before, records, durable: Promise.resolve() };
}

type Decided = {
  readonly view: EpicView;
  readonly verdict: Verdict;
  readonly records: readonly JournalRecord[];
};

/** Decides by what the journals hold now. A running session that is out of money ends. */
async function decideNow(
  ports: SessionPorts,
  { epic, session, settings }: Target,
  { before, records }: Written,
): Promise<Decided> {
  const view = viewFrom(ports, epic, before.tip);
  const verdict = decide(settings.policy, { ...view, seen: before.state }, ports.clock.now());
  if (verdict.stop === null || !isRunning(view.state, session)) return { view, verdict, records };
  const ended = await appendExceeded(ports, session, view, verdict.checkpoint?.reason ?? null);
  return { view: viewFrom(ports, epic, before.tip), verdict, records: [...records, ...ended] };
}

function isRunning(state: State, session: SessionId): boolean {
  const status = lookUp(state.sessions, session)?.value.status;
  return status !== undefined && !hasEnded(status);
}

/** Ends a session at its budget. If this fails, the next call does it: the facts before it are recorded. */
async function appendExceeded(
  ports: SessionPorts,
  session: SessionId,
  view: EpicView,
  reason: string | null,
): Promise<JournalRecord[]> {
  try {
    return await appendFacts(ports, session, view, [{ kind: 'budget_exceeded', reason }]);
  } catch (error) {
    const problem = error instanceof Error ? error.message : error;
    ports.report(`the end of the session at its budget is not recorded yet: ${problem}`);
    return [];
  }
}

/** Agents on this epic skip checks while it has no budget, is far from it, or has one session: that may have changed. */
function checkCallsIfMoneyIsShort(
  ports: SessionPorts,
  epic: EpicId,
  facts: readonly Fact[],
  state: State,
): void {
  const limit = budgetOf(state);
  const isClose = limit !== null && spentIn(state.ledger) >= limit * 0.75;
  const changesRules = (fact: Fact) => setsBudget(fact) || isLifecycle(fact);
  if (facts.some(changesRules) || (isClose && facts.some(isSpending))) checkNextCalls(ports, epic);
}

/** Makes the checkpoint that was requested or that the policy calls for. */
async function saveIfCalledFor(
  ports: SessionPorts,
  target: Target,
  {
    view,
    verdict,
    request,
    tree,
    durable,
  }: Decided & {
    readonly request: CheckpointRequest | null;
    readonly tree: { readonly kept: Promise<KeptTree> } | null;
    readonly durable: Promise<void>;
  },
): Promise<Stored | null> {
  if (chooseCause(verdict.checkpoint, request) === null) return null;
  const kept = await (tree?.kept ?? keepTree(ports, target));
  const isUnchanged = !kept.snapshot?.isNew && view.pending.every(({ fact }) => isLifecycle(fact));
  if (request?.onlyIfChanged && isUnchanged) return null;
  try {
    return await save(ports, target, { view, request, kept, durable });
  } catch (error) {
    if (request !== null && !request.orLater) throw error;
    await durable;
    // The next call makes it. A caller that sees an error retries, and the facts would be counted twice.
    const problem = error instanceof Error ? error.message : error;
    ports.report(`recorded, but the checkpoint could not be made yet: ${problem}`);
    return null;
  }
}

function describeOutcome(
  ports: SessionPorts,
  target: Target,
  { view, verdict, records }: Decided,
  stored: Stored | null,
): Outcome {
  const { epic, session } = target;
  const state = stored ? withLocalBudget(ports.home, epic, stored.document.state) : view.state;
  const journal = (target.kind === 'new' && target.journal) || session;
  return { session, events: findEvents(view, journal, records), state, verdict, stored };
}

/** The events of these records. Other processes may have written to the journal at the same time. */
function findEvents({ pending }: EpicView, journal: SessionId, records: readonly JournalRecord[]): Event[] {
  const sought = new Map<string, number>();
  for (const record of records) {
    const key = JSON.stringify(record);
    sought.set(key, (sought.get(key) ?? 0) + 1);
  }
  return pending.filter((event) => {
    const { at, fact } = event;
    if (sought.size === 0 || journalOf(event) !== journal) return false;
    const key = JSON.stringify({ at, fact });
    const left = sought.get(key) ?? 0;
    if (left > 0) sought.set(key, left - 1);
    return left > 0;
  });
}
