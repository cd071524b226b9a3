import { withHeldBudget } from '../checkpoint/held-budgets.ts';
import { decide, type Verdict } from '../checkpoint/policy.ts';
import type { Tip } from '../checkpoint/tip.ts';
import { onlyRecorded, writeFailed } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { Event, Fact } from '../state/facts.ts';
import { foldAll } from '../state/fold.ts';
import type { State } from '../state/lists.ts';
import { cleanLine } from '../text.ts';
import type { EpicId, SessionId, WriterId } from '../types.ts';
import { maxSessionNumber } from '../units.ts';
import { firstBudget } from './budget.ts';
import { cleanFacts } from './clean.ts';
import { withHeldSave } from './context.ts';
import { findNewest } from './fate.ts';
import { journalFolder } from './journal.ts';
import { type JournalHeader, ownerOf } from './journal-record.ts';
import { beginJournal } from './journal-write.ts';
import { liftedTime, type Pending, readPending, withJournal } from './pending.ts';
import type { SessionPorts } from './record.ts';
import type { SessionSettings } from './settings.ts';

/** A session that is about to begin. */
export type Opening = {
  readonly epic: EpicId;
  readonly session: SessionId;
  /** The journal of a call that joins a session which other calls have begun. */
  readonly journal?: SessionId;
  readonly agent: string | null;
  readonly parentSessionId: SessionId | null;
  readonly settings: SessionSettings;
  /** How it ends with these facts, where it is there for one call only. */
  readonly endsWith: {
    readonly kind: 'session_paused' | 'session_completed';
    readonly reason: string | null;
  } | null;
};

type Begun = {
  readonly durable: Promise<void>;
  readonly verdict: Verdict;
};

/**
 * Begins the session on the first tip it is given. On a later one (somebody else was faster to move the ref) it has
 * begun already, and only what is pending is read again.
 */
export function beginOnce(
  ports: SessionPorts,
  writer: WriterId,
  opening: Opening,
  facts: readonly Fact[],
): (tip: Tip) => Promise<Begun & { readonly pending: Pending }> {
  const folder = journalFolder(ports.home);
  let begun: Begun | null = null;
  return async (tip) => {
    const pending = readPending(folder, opening.epic, tip.state);
    if (begun !== null) return { ...begun, pending };
    begun = await beginSession(ports, writer, opening, facts, tip, pending);
    try {
      return { ...begun, pending: withJournal(pending, folder, opening.journal ?? opening.session) };
    } catch (error) {
      // It is written whole, so it counts: a caller that records it again would count it twice.
      await begun.durable;
      throw onlyRecorded(writeFailed('what was recorded could not be read', error), opening.epic);
    }
  };
}

/** Begins a session's journal, in one write: it began, this happened, and, where it is for one call only, it ended. */
async function beginSession(
  ports: SessionPorts,
  writer: WriterId,
  opening: Opening,
  facts: readonly Fact[],
  tip: Tip,
  pending: Pending,
): Promise<Begun> {
  const { epic, settings } = opening;
  const before = withHeldBudget(ports.home, epic, foldAll(tip.state, pending.events));
  const at = liftedTime(ports.clock.now(), tip.state, pending.events);
  const host = await nameHost(ports);
  const said = [...sayBegun(before, opening, facts, host), ...facts];
  const header = headerOf(writer, opening);
  const events = said.map((fact, index): Event => {
    return { at, by: writer, ...ownerOf(header), offset: index, end: index + 1, fact };
  });
  const verdict = decide(
    settings.policy,
    {
      saved: withHeldSave(ports.home, epic, tip.saved),
      pending: [...pending.events, ...events],
      state: foldAll(before, events),
      seen: before,
    },
    ports.clock.now(),
  );
  if (verdict.stop) said.push({ kind: 'budget_exceeded', reason: verdict.checkpoint?.reason ?? null });
  said.push(...(await cleanFacts(sayEnded(before, opening, verdict), ports.redact)));
  const records = said.map((fact) => ({ at, fact }));
  const { durable } = await beginJournal(ports.disk, journalFolder(ports.home), header, records);
  return { durable, verdict };
}

function headerOf(writer: WriterId, { epic, session, journal }: Opening): JournalHeader {
  return journal === undefined
    ? { epic, session, writer }
    : { epic, session: journal, writer, into: session };
}

/** A machine's name, as others will read it. */
const maxHostBytes = 64;

async function nameHost({ host = '', redact }: SessionPorts): Promise<{ readonly host?: string }> {
  // What is cut in the middle of a secret is not found any more.
  const name = host === '' ? '' : cleanLine(await redact(host), maxHostBytes);
  return name === '' ? {} : { host: name };
}

function sayBegun(
  before: State,
  opening: Opening,
  facts: readonly Fact[],
  host: { readonly host?: string },
): Fact[] {
  const { agent, parentSessionId, settings, journal, endsWith } = opening;
  if (journal !== undefined) return [{ kind: 'session_joined' }];
  const number = nextNumber(before);
  const forCalls = endsWith === null ? {} : { forCalls: true as const };
  return [
    { kind: 'session_started', number, agent, parentSessionId, ...forCalls, ...host },
    { kind: 'session_running' },
    ...(facts.some(setsBudget) ? [] : firstBudget(before, settings)),
  ];
}

/** How it ends, where it is there for one call. A call is no work that goes on: what was completed stays so. */
function sayEnded(before: State, { session, endsWith }: Opening, { stop }: Verdict): Fact[] {
  if (endsWith === null) return [];
  const isCompleted = findNewest(before)?.status === 'completed' && !lookUp(before.sessions, session);
  if (isCompleted) return [{ ...endsWith, kind: 'session_completed' }];
  return stop && endsWith.kind === 'session_paused' ? [] : [endsWith];
}

/** Does it say what the epic may spend? Then nothing else does. */
export function setsBudget({ kind }: Fact): boolean {
  return kind === 'budget_set';
}

function nextNumber(state: State): number {
  const highest = Math.max(0, ...Object.values(state.sessions).map(({ value }) => value.number));
  return Math.min(highest + 1, maxSessionNumber);
}
