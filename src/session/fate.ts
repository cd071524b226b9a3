import { spentBy } from '../cost/money.ts';
import type { Session, State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import { statIfThere } from '../system/files.ts';
import type { CheckpointId, EpicId, Millis, SessionId, Status, WriterId } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import type { EpicView } from './context.ts';
import { journalFolder, journalPath } from './journal.ts';
import { checkLive, type Liveness, type LiveRecord, listLive } from './live.ts';
import { listOthers } from './writer.ts';

/** What became of a session: as recorded, or, where it is recorded as running, what can be seen of it from here. */
export type Fate = Status | 'interrupted' | 'elsewhere';

/**
 * A session that is recorded as running runs here if its process does, is interrupted if its process is gone, and runs
 * elsewhere if that cannot be told from here.
 */
export function fateOf(status: Status, isOwn: boolean, live: Liveness | null): Fate {
  if (hasEnded(status)) return status;
  if (live === 'elsewhere') return 'elsewhere';
  if (live === 'alive') return status;
  return live === 'dead' || isOwn ? 'interrupted' : 'elsewhere';
}

/** A session as it is shown. */
export type SessionInfo = {
  readonly id: SessionId;
  readonly epicId: EpicId;
  readonly number: number;
  readonly status: Status | 'interrupted';
  readonly agent: string | null;
  readonly writer: WriterId;
  /** The machine it ran on; null where it did not say. */
  readonly host: string | null;
  readonly parentSessionId: SessionId | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly costUsd: number;
  readonly checkpointCount: number;
  readonly latestCheckpointId: CheckpointId | null;
};

/** A session with what is known of it in this clone. */
export type KnownSession = {
  readonly id: SessionId;
  readonly value: Session;
  readonly fate: Fate;
  readonly live: LiveRecord | null;
};

/** The sessions of an epic that have a journal here which is this clone's to write. */
export function listOwnJournals({ journals }: EpicView, home: string): ReadonlySet<SessionId> {
  const others = journals.length > 0 ? listOthers(home) : new Set();
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
    return { id, value, live: record, fate: fateOf(value.status, own.has(id), liveness) };
  });
  return known.sort((a, b) => byNewest(a.value, b.value));
}

function byNewest(a: Session, b: Session): number {
  return b.number - a.number || b.startedAt - a.startedAt;
}

/** The session that says where an epic stands, as long as none runs. */
export function findNewest({ sessions }: State): Session | null {
  const known = Object.values(sessions).map(({ value }) => value);
  return known.sort(byNewest)[0] ?? null;
}

type Waiting = LiveRecord & { readonly waiting: NonNullable<LiveRecord['waiting']> };

/** The agents that were started on an epic and were not asked anything yet: their sessions have no journal. */
export function listWaiting(home: string): Waiting[] {
  const isWaiting = (live: LiveRecord): live is Waiting =>
    live.waiting !== undefined &&
    checkLive(live) === 'alive' &&
    statIfThere(journalPath(journalFolder(home), live.session)) === null;
  return listLive(home).filter(isWaiting);
}

/** The sessions to show, newest first: those in which nothing has happened yet, and all others. */
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
      return { id: live.session, value, fate: 'running', live };
    });
  return [...shown.reverse(), ...known];
}

function notBegun({ agent, writer }: Waiting['waiting'], since: Millis): Omit<Session, 'number'> {
  const begun = { agent, writer, parentSessionId: null, startedAt: since, seenAt: since };
  const rest = { endedAt: null, reason: null, worked: 0, checkpoints: 0, latestCheckpointId: null };
  return { ...begun, ...rest, status: 'running' };
}

/**
 * Did another go on from a session since that was last seen? Whoever did so gave it up, and need not do it again
 * unless there is news of it.
 */
export function isTakenOver({ id, value }: KnownSession, sessions: readonly KnownSession[]): boolean {
  const isLater = ({ startedAt }: Session) => startedAt >= value.seenAt;
  return sessions.some((other) => other.value.parentSessionId === id && isLater(other.value));
}

/**
 * The session of another clone that took this one over while it was still at work: each goes on without what the other
 * does. Null where there is none.
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

/** In words, for the session that was taken over. */
export function describeTakeover(epic: EpicId, number: number, { number: by }: Session): string {
  return `Session ${by} in another clone took over session ${number}: each now works without the other. See both: orch log ${epic}`;
}

/**
 * Did a session die, and has none continued from it since? Whatever else ended on its epic meanwhile, what it was
 * working on is left. Starting or resuming here always brings it in first, so one that was not has not been continued.
 */
export function isLeftInterrupted(session: KnownSession, sessions: readonly KnownSession[]): boolean {
  const { fate, value } = session;
  if (fate === 'interrupted') return !isTakenOver(session, sessions.filter(isOfAnother(value)));
  const continues = (other: Session) => other.parentSessionId !== null && other.startedAt >= value.seenAt;
  return (
    value.recovered === true && value.status === 'failed' && !sessions.some((other) => continues(other.value))
  );
}

const isOfAnother =
  ({ writer }: Session) =>
  ({ value }: KnownSession) =>
    value.writer !== writer;

/** What became of a session, in the word for people: one that died did not fail by itself. */
export function shownFate({ fate, value }: KnownSession): Fate {
  return fate === 'failed' && value.recovered ? 'interrupted' : fate;
}

/** What a session has cost. */
export function costOf(state: State, session: SessionId): number {
  return spentBy(state.ledger, session);
}

export function describeSession(
  { epic, state }: Pick<EpicView, 'epic' | 'state'>,
  { id, value, fate }: KnownSession,
): SessionInfo {
  return {
    id,
    epicId: epic,
    number: value.number,
    status: fate === 'elsewhere' ? value.status : fate,
    agent: value.agent,
    writer: value.writer,
    host: value.host ?? null,
    parentSessionId: value.parentSessionId,
    startedAt: formatInstant(value.startedAt),
    endedAt: value.endedAt === null ? null : formatInstant(value.endedAt),
    costUsd: toUsd(costOf(state, id)),
    checkpointCount: value.checkpoints,
    latestCheckpointId: value.latestCheckpointId,
  };
}
