import { epicRef } from '../checkpoint/document/names-in-git.ts';
import { decide, type Stop } from '../checkpoint/policy.ts';
import { refuseCaseVariant, withEpicLock } from '../checkpoint/store.ts';
import { systemCode, writeFailed } from '../errors.ts';
import { parseSessionId } from '../ids.ts';
import { appendToJournal, beginJournal } from '../journal/append.ts';
import { type JournalHeader, type JournalRecord, ownerOf } from '../journal/journal-format.ts';
import { markOf, nextStampTime } from '../journal/pending.ts';
import { journalFolder, journalPath } from '../journal/read.ts';
import { lookUp } from '../keyed.ts';
import type { Event, Fact } from '../state/facts.ts';
import { foldAll } from '../state/fold.ts';
import type { State } from '../state/lists.ts';
import { statIfThere } from '../system/disk.ts';
import { cleanLine } from '../text.ts';
import type { EpicId, Millis, SessionId, WriterId } from '../types.ts';
import { maxSessionNumber } from '../units.ts';
import { firstBudget } from './budget-rules.ts';
import { cleanFacts, refuseSecretName } from './clean-facts.ts';
import type { NewSession, SessionPorts } from './ports.ts';
import { findNewest } from './sessions.ts';
import { type EpicView, readView } from './view.ts';

export function makeSessionId({ random }: Pick<SessionPorts, 'random'>): SessionId {
  return parseSessionId(`sess-${random.id(6)}`);
}

/** Does the session have a journal? An agent's session gets one with its first prompt. */
export function hasBegun({ home }: Pick<SessionPorts, 'home'>, session: SessionId): boolean {
  return statIfThere(journalPath(journalFolder(home), session)) !== null;
}

/** Refuses a new epic with an invalid name before anything is written under it. */
export async function refuseBadName(ports: SessionPorts, epic: EpicId): Promise<void> {
  if ((await ports.git.readRef(epicRef(epic))) !== null) return;
  await refuseSecretName(ports, epic);
  await refuseCaseVariant(ports.git, epic);
}

/** The view before facts were recorded, and their records; these are on disk once `durable` resolves. */
export type Written = {
  readonly before: EpicView;
  readonly records: readonly JournalRecord[];
  readonly durable: Promise<void>;
};

/** Creates a session's journal in one write: the start, the facts and, if the session lasts for one call, the end. */
export async function beginSession(
  ports: SessionPorts,
  target: NewSession,
  facts: readonly Fact[],
): Promise<Written> {
  const { epic } = target;
  const header = headerOf(await ports.identifyWriter(), target);
  const host = await nameHost(ports);
  const [endsWith = null] = await cleanFacts(target.endsWith ? [target.endsWith] : [], ports.redact);
  const begin = async (): Promise<Written> => {
    const before = await readView(ports, epic);
    const records = planFirstRecords(before, { target, header, host, endsWith }, facts, ports.clock.now());
    const { durable } = await beginJournal(ports.disk, journalFolder(ports.home), header, records);
    return { before, records: records.filter(({ fact }) => facts.includes(fact)), durable };
  };
  if (target.journal !== undefined) return begin();
  try {
    // Sessions that start at the same time get different numbers.
    return await withEpicLock(ports, epic, begin);
  } catch (error) {
    throw systemCode(error) ? writeFailed('the session could not be recorded', error) : error;
  }
}

type Beginning = {
  readonly target: NewSession;
  readonly header: JournalHeader;
  /** The name of this machine; empty if unknown. */
  readonly host: string;
  /** The redacted end of a session that lasts for one call. */
  readonly endsWith: Fact | null;
};

/** The first records of a session's journal. Pure. */
function planFirstRecords(
  before: EpicView,
  beginning: Beginning,
  facts: readonly Fact[],
  now: Millis,
): JournalRecord[] {
  const { target, header, endsWith } = beginning;
  const at = nextStampTime(now, before.tip.state, before.pending);
  const begun = [...beginFacts(before.state, beginning, facts), ...facts];
  const events = begun.map((fact, index): Event => {
    return { at, by: header.writer, ...ownerOf(header), offset: index, end: index + 1, fact };
  });
  const after = { pending: [...before.pending, ...events], state: foldAll(before.state, events) };
  const { stop, checkpoint } = decide(
    target.settings.policy,
    { saved: before.saved, ...after, seen: before.state },
    now,
  );
  const exceeded: Fact[] = stop ? [{ kind: 'budget_exceeded', reason: checkpoint?.reason ?? null }] : [];
  const ended = endsWith ? endFacts(before.state, target.session, endsWith, stop) : [];
  return [...begun, ...exceeded, ...ended].map((fact) => ({ at, fact }));
}

function headerOf(writer: WriterId, { epic, session, journal }: NewSession): JournalHeader {
  return journal === undefined
    ? { epic, session, writer }
    : { epic, session: journal, writer, into: session };
}

const maxHostBytes = 64;

async function nameHost({ host = '', redact }: SessionPorts): Promise<string> {
  // Redacted before it is cut: half a secret is no longer recognized.
  return host === '' ? '' : cleanLine(await redact(host), maxHostBytes);
}

function beginFacts(before: State, { target, host }: Beginning, facts: readonly Fact[]): Fact[] {
  const { agent, parentSessionId, settings, journal, endsWith } = target;
  if (journal !== undefined) return [{ kind: 'session_joined' }];
  const started = { number: nextNumber(before), agent, parentSessionId };
  const forCalls = endsWith === null ? {} : { forCalls: true as const };
  return [
    { kind: 'session_started', ...started, ...forCalls, ...(host !== '' && { host }) },
    { kind: 'session_running' },
    ...(facts.some(setsBudget) ? [] : firstBudget(before, settings)),
  ];
}

/** The end of a session that lasts for one call. Such a call does not reopen a completed epic. */
function endFacts(before: State, session: SessionId, endsWith: Fact, stop: Stop | null): Fact[] {
  const isCompleted = findNewest(before)?.status === 'completed' && !lookUp(before.sessions, session);
  if (isCompleted && endsWith.kind === 'session_paused') return [{ ...endsWith, kind: 'session_completed' }];
  return stop && endsWith.kind === 'session_paused' ? [] : [endsWith];
}

/** Does the fact set the epic's budget? Then the config's budget does not apply. */
export function setsBudget({ kind }: Fact): boolean {
  return kind === 'budget_set';
}

function nextNumber(state: State): number {
  const highest = Math.max(0, ...Object.values(state.sessions).map(({ value }) => value.number));
  return Math.min(highest + 1, maxSessionNumber);
}

/** Appends facts to the journal of a session that has begun; they are on disk when this returns. */
export async function appendFacts(
  { disk, home, clock }: SessionPorts,
  session: SessionId,
  { state, pending, tip, journals }: EpicView,
  facts: readonly Fact[],
): Promise<JournalRecord[]> {
  if (facts.length === 0) return [];
  const at = nextStampTime(clock.now(), state, pending);
  const records = facts.map((fact) => ({ at, fact }));
  const journal = journals.find((other) => other.session === session);
  const missing = journal ? Math.max(0, markOf(tip.state, journal.header) - journal.size) : 0;
  await appendToJournal(disk, journalFolder(home), session, records, missing);
  return records;
}
