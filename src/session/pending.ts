import { dirname } from 'node:path';
import { lookUp } from '../keyed.ts';
import type { Event } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { hasEnded, transition } from '../state/transition.ts';
import type { Random } from '../system/clock.ts';
import type { Disk } from '../system/files.ts';
import type { EpicId, Millis, SessionId, Status } from '../types.ts';
import { latestTime } from '../units.ts';
import { listAllJournals, readJournal, releaseJournal, restoreHalfReleased } from './journal.ts';
import type { JournalHeader } from './journal-record.ts';
import { checkLive, readLive } from './live.ts';

/** A journal as it was when it was read. */
export type JournalFile = {
  readonly session: SessionId;
  readonly header: JournalHeader;
  readonly size: number;
};

/** What stands in this clone's journals and in no checkpoint yet. */
export type Pending = {
  /** Of all journals, each in its order, the journals in the order of their first event. */
  readonly events: readonly Event[];
  readonly journals: readonly JournalFile[];
  /** Every session with a journal in this clone; one that is just being released may come back. */
  readonly sessions: readonly SessionId[];
  /** Lines that a crash tore; what stood there was never acknowledged. */
  readonly torn: number;
};

/** Up to which byte of its journal a session is folded. */
export function markOf(state: State, { writer, session }: JournalHeader): number {
  return lookUp(lookUp(state.ledger, writer)?.value.folded ?? {}, session) ?? 0;
}

/** Reads an epic's journals from where the state says that they are folded. */
export function readPending(folder: string, epic: EpicId, state: State): Pending {
  const journals: JournalFile[] = [];
  const groups: (readonly Event[])[] = [];
  let torn = 0;
  const { present, aside } = listAllJournals(folder);
  for (const session of present) {
    const journal = readJournal(folder, session, (header) => markOf(state, header));
    if (journal === null || journal.header.epic !== epic) continue;
    journals.push({ session, header: journal.header, size: journal.size });
    torn += journal.torn;
    if (journal.events.length > 0) groups.push(journal.events);
  }
  groups.sort(([a], [b]) => (a?.at ?? 0) - (b?.at ?? 0));
  return { events: groups.flat(), journals, sessions: [...present, ...aside], torn };
}

/**
 * Removes the journals that nothing needs: the session has ended, all of it was folded into `before`, and another
 * checkpoint stands on that one. So even if the newest is lost, it can be made again from the one before it.
 */
export function releaseFolded(
  { disk, random }: { readonly disk: Disk; readonly random: Random },
  folder: string,
  before: State,
  journals: readonly JournalFile[],
): void {
  restoreHalfReleased(disk, folder);
  for (const { session, size } of listFolded(folder, before, journals))
    releaseJournal(disk, folder, session, size, random.id(6));
}

/**
 * Those of the journals whose session has ended, and of which all was folded into `before`. An agent that was halted at
 * its budget may still tell what it used, as long as it lives.
 */
export function listFolded(folder: string, before: State, journals: readonly JournalFile[]): JournalFile[] {
  return journals.filter(
    ({ session, header, size }) =>
      markOf(before, header) >= size && isOver(folder, session, before) && !hasLivingAgent(folder, session),
  );
}

function hasLivingAgent(folder: string, session: SessionId): boolean {
  const live = readLive(dirname(folder), session);
  return live?.kind === 'hooked' && checkLive(live) !== 'dead';
}

/** The same with one more journal, which was just begun. */
export function withJournal(pending: Pending, folder: string, session: SessionId): Pending {
  const begun = readJournal(folder, session);
  if (begun === null) return pending;
  const { header, size, events } = begun;
  return {
    events: [...pending.events, ...events],
    journals: [...pending.journals, { session, header, size }],
    sessions: [...pending.sessions, session],
    torn: pending.torn,
  };
}

/** A time above everything this writer has seen: its last word wins, even when its clock was set back. */
export function liftedTime(now: Millis, { clock }: State, events: readonly Event[]): Millis {
  const lifted = events.reduce((latest, { at }) => Math.max(latest, at + 1), Math.max(now, clock + 1));
  return Math.min(lifted, latestTime);
}

/** Has the session ended, by the state, or, where that forgot it, by its own journal? */
function isOver(folder: string, session: SessionId, state: State): boolean {
  const known = lookUp(state.sessions, session)?.value;
  if (known) return hasEnded(known.status);
  let status: Status = 'initializing';
  for (const { fact } of readJournal(folder, session)?.events ?? [])
    status = transition(status, fact) ?? status;
  return hasEnded(status);
}
