import { dirname } from 'node:path';
import { lookUp } from '../keyed.ts';
import type { Event } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { hasEnded, transition } from '../state/transition.ts';
import type { Random } from '../system/clock.ts';
import { type Disk, statIfThere } from '../system/disk.ts';
import type { EpicId, Millis, SessionId, Status } from '../types.ts';
import { latestTime } from '../units.ts';
import type { JournalHeader } from './journal-format.ts';
import { checkLive, readLive } from './live.ts';
import { journalPath, listAllJournals, readJournal, releaseJournal, restoreHalfReleased } from './read.ts';

/** A journal at the time it was read. */
export type JournalFile = {
  readonly session: SessionId;
  readonly header: JournalHeader;
  readonly size: number;
};

/** What this clone's journals hold that is in no checkpoint yet. */
export type Pending = {
  /** Of all journals: each in its own order, the journals ordered by their first event. */
  readonly events: readonly Event[];
  readonly journals: readonly JournalFile[];
  /** Every session with a journal in this clone, including journals that are being released and may come back. */
  readonly sessions: readonly SessionId[];
  /** Lines torn by a crash; what they held was never acknowledged. */
  readonly torn: number;
};

/** Up to which byte a journal is folded. */
export function markOf(state: State, { writer, session }: JournalHeader): number {
  return lookUp(lookUp(state.ledger, writer)?.value.folded ?? {}, session) ?? 0;
}

/**
 * The epic of each journal file this process has seen: a header never changes, so the journals of other epics, of which a
 * clone with many convoys has thousands, are opened once and not for every epic that is read. A session whose epic was
 * renamed begins another file of the same name.
 */
const epicsOfJournals = new Map<string, EpicId>();

/** Which file a path leads to now. */
function nameFileAt(path: string): string {
  const found = statIfThere(path);
  return `${path} ${found?.ino} ${found?.birthtimeMs}`;
}

/** Reads an epic's journals from where they are folded. */
export function readPending(folder: string, epic: EpicId, state: State): Pending {
  const journals: JournalFile[] = [];
  const groups: (readonly Event[])[] = [];
  let torn = 0;
  const { present, aside } = listAllJournals(folder);
  for (const session of present) {
    const file = nameFileAt(journalPath(folder, session));
    if ((epicsOfJournals.get(file) ?? epic) !== epic) continue;
    const mark = (header: JournalHeader) => {
      epicsOfJournals.set(file, header.epic);
      // Another epic's journal may be long, and this state says nothing of how far it is folded.
      return header.epic === epic ? markOf(state, header) : null;
    };
    const journal = readJournal(folder, session, mark);
    if (journal === null) continue;
    journals.push({ session, header: journal.header, size: journal.size });
    torn += journal.torn;
    if (journal.events.length > 0) groups.push(journal.events);
  }
  groups.sort(([a], [b]) => (a?.at ?? 0) - (b?.at ?? 0));
  return { events: groups.flat(), journals, sessions: [...present, ...aside], torn };
}

/**
 * Removes the journals that are no longer needed: the session has ended, `before` holds all of it, and another
 * checkpoint follows that one. So even if the newest checkpoint is lost, it can be made again from the one before.
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
 * The journals that `before` holds completely and whose session has ended. An agent that was halted at its budget may
 * still report usage as long as it runs.
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

/** A time above everything this writer has seen, so that its newest record wins even if the clock was set back. */
export function nextStampTime(now: Millis, { clock }: State, events: readonly Event[]): Millis {
  const lifted = events.reduce((latest, { at }) => Math.max(latest, at + 1), Math.max(now, clock + 1));
  return Math.min(lifted, latestTime);
}

/** Has the session ended, by the state or, if the state no longer lists it, by its own journal? */
function isOver(folder: string, session: SessionId, state: State): boolean {
  const known = lookUp(state.sessions, session)?.value;
  if (known) return hasEnded(known.status);
  let status: Status = 'initializing';
  for (const { fact } of readJournal(folder, session)?.events ?? [])
    status = transition(status, fact) ?? status;
  return hasEnded(status);
}
