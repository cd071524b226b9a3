import { sortNewest } from '../checkpoint/brief/brief-items.ts';
import { spentBy } from '../cost/money.ts';
import { checkLive, type Liveness, type LiveRecord, listLive } from '../journal/live.ts';
import { journalFolder, journalPath } from '../journal/read.ts';
import { listOtherWriters } from '../journal/writer.ts';
import { lookUp } from '../keyed.ts';
import type { Session, State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import { statIfThere } from '../system/disk.ts';
import type { CheckpointId, EpicId, Millis, SessionId, Status, WriterId } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import type { EpicView } from './view.ts';

/** The condition of a session: its recorded status, or, if it is recorded as running, what can be seen from here. */
export type SessionCondition = Status | 'interrupted' | 'elsewhere';

/**
 * A session that is recorded as running is running if its process is, interrupted if its process is gone, and elsewhere
 * if that cannot be determined here.
 */
function conditionOf(status: Status, isOwn: boolean, live: Liveness | null): SessionCondition {
  if (hasEnded(status)) return status;
  if (live === 'elsewhere') return 'elsewhere';
  if (live === 'alive') return status;
  return live === 'dead' || isOwn ? 'interrupted' : 'elsewhere';
}

/** A session, as shown to users. */
export type SessionInfo = {
  readonly id: SessionId;
  readonly epicId: EpicId;
  readonly number: number;
  readonly status: Status | 'interrupted';
  readonly agent: string | null;
  readonly writer: WriterId;
  /** The machine it ran on; null if unknown. */
  readonly host: string | null;
  readonly parentSessionId: SessionId | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly costUsd: number;
  readonly checkpointCount: number;
  readonly latestCheckpointId: CheckpointId | null;
};

/** A session with what this clone knows about it. */
export type KnownSession = {
  readonly id: SessionId;
  readonly value: Session;
  readonly condition: SessionCondition;
  readonly live: LiveRecord | null;
};

/** The sessions of an epic whose journal here is this clone's own. */
export function listOwnJournals({ journals }: EpicView, home: string): ReadonlySet<SessionId> {
  const others = journals.length > 0 ? listOtherWriters(home) : new Set();
  return new Set(journals.filter(({ header }) => !others.has(header.writer)).map(({ session }) => session));
}

/** An epic's sessions, newest first. */
export function listSessions(view: EpicView, home: string): KnownSession[] {
  const live = new Map(listLive(home).map((record) => [record.session, record]));
  const own = listOwnJournals(view, home);
  const known = Object.entries(view.state.sessions).map(([key, { value }]): KnownSession => {
    const id = key as SessionId; // the keys of this list are session ids
    const record = live.get(id) ?? null;
    const liveness = record && !hasEnded(value.status) ? checkLive(record) : null;
    return { id, value, live: record, condition: conditionOf(value.status, own.has(id), liveness) };
  });
  return known.sort((a, b) => byNewest(a.value, b.value));
}

function byNewest(a: Session, b: Session): number {
  return b.number - a.number || b.startedAt - a.startedAt;
}

/** The newest session: it determines an epic's status while none is running. */
export function findNewest({ sessions }: State): Session | null {
  const known = Object.values(sessions).map(({ value }) => value);
  return known.sort(byNewest)[0] ?? null;
}

type Waiting = LiveRecord & { readonly waiting: NonNullable<LiveRecord['waiting']> };

/** Agents that were started on an epic and have no prompt yet: their sessions have no journal. */
export function listWaiting(home: string): Waiting[] {
  const isWaiting = (live: LiveRecord): live is Waiting =>
    live.waiting !== undefined &&
    checkLive(live) === 'alive' &&
    statIfThere(journalPath(journalFolder(home), live.session)) === null;
  return listLive(home).filter(isWaiting);
}

/** The sessions to show, newest first, including those that wait for their first prompt. */
export function listShown(view: EpicView, home: string): KnownSession[] {
  const known = listSessions(view, home);
  const waiting = listWaiting(home).filter(
    ({ epic, session }) => epic === view.epic && !known.some(({ id }) => id === session),
  );
  const highest = Math.max(0, ...known.map(({ value }) => value.number));
  const shown = waiting
    .sort((a, b) => a.since - b.since)
    .map((live, index): KnownSession => {
      const value = { ...notBegun(live.waiting, live.since), number: highest + 1 + index };
      return { id: live.session, value, condition: 'running', live };
    });
  return [...shown.reverse(), ...known];
}

function notBegun({ agent, writer }: Waiting['waiting'], since: Millis): Omit<Session, 'number'> {
  const begun = { agent, writer, parentSessionId: null, startedAt: since, seenAt: since };
  const rest = { endedAt: null, reason: null, worked: 0, checkpoints: 0, latestCheckpointId: null };
  return { ...begun, ...rest, status: 'running' };
}

/** Has another session continued this one since it was last active? Then it was given up, unless it becomes active again. */
export function isTakenOver({ id, value }: KnownSession, sessions: readonly KnownSession[]): boolean {
  const isLater = ({ startedAt }: Session) => startedAt >= value.seenAt;
  return sessions.some((other) => other.value.parentSessionId === id && isLater(other.value));
}

/**
 * The session of another clone that took this one over while it was still working: each works without the other's
 * changes. Null if there is none.
 */
export function findTakeover(
  { id, value }: Pick<KnownSession, 'id' | 'value'>,
  { sessions }: State,
): Session | null {
  const { writer, endedAt } = value;
  const others = Object.values(sessions).map((entry) => entry.value);
  const took = others.filter(
    (other) =>
      other.parentSessionId === id &&
      other.writer !== writer &&
      (endedAt === null || endedAt > other.startedAt),
  );
  return took.sort(byNewest)[0] ?? null;
}

/** Explains to a session that another clone took it over while it was working; null if none did. */
export function explainTakeover(epic: EpicId, id: SessionId, state: State): string | null {
  const value = lookUp(state.sessions, id)?.value;
  const taker = value ? findTakeover({ id, value }, state) : null;
  return value && taker
    ? `Session ${taker.number} in another clone took over session ${value.number}: each now works without the other. See both: orch log ${epic}`
    : null;
}

/**
 * Did a session die without being continued since? Whatever else ended on its epic meanwhile, its work is unfinished.
 * Starting or resuming here always recovers it first, so a session that was not recovered was not continued.
 */
export function isLeftInterrupted(session: KnownSession, sessions: readonly KnownSession[]): boolean {
  const { condition, value } = session;
  if (condition === 'interrupted') return !isTakenOver(session, sessions.filter(isOfAnother(value)));
  const continues = (other: Session) => other.parentSessionId !== null && other.startedAt >= value.seenAt;
  return (
    value.recovered === true && value.status === 'failed' && !sessions.some((other) => continues(other.value))
  );
}

const isOfAnother =
  ({ writer }: Session) =>
  ({ value }: KnownSession) =>
    value.writer !== writer;

/** The condition for people: a session whose process died did not fail by itself. */
export function shownCondition({ condition, value }: KnownSession): SessionCondition {
  return condition === 'failed' && value.recovered ? 'interrupted' : condition;
}

export function describeSession(
  { epic, state }: Pick<EpicView, 'epic' | 'state'>,
  { id, value, condition }: KnownSession,
): SessionInfo {
  return {
    id,
    epicId: epic,
    number: value.number,
    status: condition === 'elsewhere' ? value.status : condition,
    agent: value.agent,
    writer: value.writer,
    host: value.host ?? null,
    parentSessionId: value.parentSessionId,
    startedAt: formatInstant(value.startedAt),
    endedAt: value.endedAt === null ? null : formatInstant(value.endedAt),
    costUsd: toUsd(spentBy(state.ledger, id)),
    checkpointCount: value.checkpoints,
    latestCheckpointId: value.latestCheckpointId,
  };
}

/** What the user asked for in a session and what came of it, as far as the epic still records it. */
export type SessionSummary = {
  /** The user's requests, oldest first, without replies such as "yes". */
  readonly asked: readonly string[];
  /** The agent's message at the end of its last turn. */
  readonly result: string | null;
  /** The subjects of its commits, oldest first. */
  readonly commits: readonly string[];
};

export function summarizeSession(
  { requests, goals, messages, commits }: State,
  session: SessionId,
): SessionSummary {
  const said = sortNewest({ ...goals, ...requests }).reverse();
  return {
    asked: said.flatMap(({ value }) =>
      value.session === session && value.kind !== 'reply' ? [value.text] : [],
    ),
    result: lookUp(messages, session)?.value.text ?? null,
    commits: sortNewest(commits)
      .reverse()
      .flatMap(({ value }) => (value.session === session ? [value.subject] : [])),
  };
}
