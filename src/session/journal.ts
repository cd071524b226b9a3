import { join } from 'node:path';
import { nameFile, parseSessionId } from '../ids.ts';
import { type Disk, listFolder, readFrom, removeIfThere, saysGone, statIfThere } from '../system/files.ts';
import type { SessionId } from '../types.ts';
import { type Journal, type JournalHeader, parseEvents, parseHeader } from './journal-record.ts';

const releasedSuffix = '.released';

/** Where a session's journal is. */
export function journalPath(folder: string, session: SessionId): string {
  return join(folder, nameFile(session, '.jsonl'));
}

/** The sessions that have a journal. */
export function listJournals(folder: string): SessionId[] {
  return listAllJournals(folder).present;
}

/** The same, and those whose journal was set aside to be removed, and may yet be put back. Both by one look. */
export function listAllJournals(folder: string): { present: SessionId[]; aside: SessionId[] } {
  const present: SessionId[] = [];
  const aside: SessionId[] = [];
  for (const name of listFolder(folder).sort()) {
    const [, session, isAside] = /^(sess-[a-z0-9]{4,32})\.jsonl(\..*released)?$/.exec(name) ?? [];
    if (session) (isAside ? aside : present).push(parseSessionId(session));
  }
  return { present, aside };
}

/** Journals up to this size are read whole, at once. */
const wholeBytes = 65_536;

/**
 * Reads a journal's header and the events behind an offset, which may depend on the header.
 * Null where there is no journal, or none that ever began.
 */
export function readJournal(
  folder: string,
  session: SessionId,
  from: number | ((header: JournalHeader) => number) = 0,
): Journal | null {
  const path = journalPath(folder, session);
  const head = readFrom(path, 0, wholeBytes);
  const header = head && parseHeader(head.bytes);
  if (!head || !header) return null;
  const offset = typeof from === 'number' ? from : from(header);
  const whole = head.size <= wholeBytes;
  const bytes = whole ? head.bytes.subarray(offset) : (readFrom(path, offset)?.bytes ?? Buffer.alloc(0));
  return { header, size: head.size, ...parseEvents(header, bytes, offset) };
}

/**
 * Removes a journal that nothing needs any more, unless it grew past `size` meanwhile.
 * The caller knows that its session has ended and that all of it is in a checkpoint with another one behind it.
 * `random` is a word of the caller's own: what it removes must be what it set aside itself, not what another did.
 */
export function releaseJournal(
  disk: Disk,
  folder: string,
  session: SessionId,
  size: number,
  random: string,
  keepIn: string | null = null,
): boolean {
  const path = journalPath(folder, session);
  const aside = `${path}.${random}${releasedSuffix}`;
  try {
    disk.rename(path, aside);
  } catch (error) {
    if (saysGone(error)) return false; // another process released it
    throw error;
  }
  const found = statIfThere(aside)?.size;
  if (found === size && keepIn !== null) {
    disk.rename(aside, journalPath(keepIn, session));
    return true;
  }
  if (found === size) return removeIfThere(disk, aside);
  if (found !== undefined) disk.rename(aside, path);
  return false;
}

/** Puts back what a crash left half-released: it will be released again. */
export function restoreHalfReleased(disk: Disk, folder: string): void {
  for (const name of listFolder(folder)) {
    if (!name.endsWith(releasedSuffix)) continue;
    const path = join(folder, name.replace(/\.jsonl\..*$/, '.jsonl'));
    try {
      if (statIfThere(path) === null) disk.rename(join(folder, name), path);
    } catch (error) {
      if (!saysGone(error)) throw error; // its releaser was still at it, and finished
    }
  }
}

export const journalFolder = (home: string): string => join(home, 'journal');
