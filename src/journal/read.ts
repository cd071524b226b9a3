import { join } from 'node:path';
import { nameFile, parseSessionId } from '../ids.ts';
import { type Disk, isGoneError, listFolder, readFrom, removeIfThere, statIfThere } from '../system/disk.ts';
import type { SessionId } from '../types.ts';
import { type Journal, type JournalHeader, parseEvents, parseHeader } from './journal-format.ts';

const releasedSuffix = '.released';

/** The path of a session's journal. */
export function journalPath(folder: string, session: SessionId): string {
  return join(folder, nameFile(session, '.jsonl'));
}

/** The sessions that have a journal. */
export function listJournals(folder: string): SessionId[] {
  return listAllJournals(folder).present;
}

/** The same, and separately the sessions whose journal is set aside to be removed and may yet be put back. */
export function listAllJournals(folder: string): { present: SessionId[]; aside: SessionId[] } {
  const present: SessionId[] = [];
  const aside: SessionId[] = [];
  for (const name of listFolder(folder).sort()) {
    const [, session, isAside] = /^(sess-[a-z0-9]{4,32})\.jsonl(\..*released)?$/.exec(name) ?? [];
    if (session) (isAside ? aside : present).push(parseSessionId(session));
  }
  return { present, aside };
}

/** Journals up to this size are read at once. */
const wholeBytes = 65_536;

/** Reads whose journal it is, however long it is; null if it never began. */
export function readJournalHeader(folder: string, session: SessionId): JournalHeader | null {
  return readHead(folder, session)?.header ?? null;
}

function readHead(folder: string, session: SessionId) {
  const head = readFrom(journalPath(folder, session), 0, wholeBytes);
  const header = head && parseHeader(head.bytes);
  return head && header && { ...head, header };
}

/**
 * Reads a journal's header and its events from an offset, which may depend on the header. Null if it never began, or if
 * the header says that its events are not wanted (null).
 */
export function readJournal(
  folder: string,
  session: SessionId,
  from: number | ((header: JournalHeader) => number | null) = 0,
): Journal | null {
  const head = readHead(folder, session);
  if (head === null) return null;
  const { header } = head;
  const offset = typeof from === 'number' ? from : from(header);
  if (offset === null) return null;
  const whole = head.size <= wholeBytes;
  const bytes = whole
    ? head.bytes.subarray(offset)
    : (readFrom(journalPath(folder, session), offset)?.bytes ?? Buffer.alloc(0));
  return { header, size: head.size, ...parseEvents(header, bytes, offset) };
}

/**
 * Removes a journal that is no longer needed, unless it has grown past `size`. The caller knows that its session has
 * ended and that all of it is in a checkpoint that another one follows. `random` is unique to the caller, so that it
 * removes only what it set aside itself.
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
    if (isGoneError(error)) return false; // another process removed it
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

/** Puts back journals that a crash left half-released; they will be released again. */
export function restoreHalfReleased(disk: Disk, folder: string): void {
  for (const name of listFolder(folder)) {
    if (!name.endsWith(releasedSuffix)) continue;
    const path = join(folder, name.replace(/\.jsonl\..*$/, '.jsonl'));
    try {
      if (statIfThere(path) === null) disk.rename(join(folder, name), path);
    } catch (error) {
      if (!isGoneError(error)) throw error; // its process was still releasing it, and finished
    }
  }
}

export const journalFolder = (home: string): string => join(home, 'journal');
