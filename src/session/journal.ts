import { constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { OrchError, systemCode, writeFailed } from '../errors.ts';
import { parseSessionId } from '../ids.ts';
import { sleep } from '../system/clock.ts';
import {
  type Disk,
  listFolder,
  makeFolder,
  readFrom,
  removeIfThere,
  saysGone,
  statIfThere,
  syncFolder,
  writeAll,
} from '../system/files.ts';
import type { SessionId } from '../types.ts';
import {
  formatRecord,
  type Journal,
  type JournalHeader,
  type JournalRecord,
  journalFormat,
  parseEvents,
  parseHeader,
} from './journal-record.ts';

const releasedSuffix = '.released';
/** One record holds a few texts; more than this is a mistake of the caller. */
const maxRecordBytes = 1024 * 1024;

/** Where a session's journal is. */
export function journalPath(folder: string, session: SessionId): string {
  return join(folder, `${session}.jsonl`);
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

/** Begins a session's journal with its first facts; both are on disk when this returns. */
export async function createJournal(
  disk: Disk,
  folder: string,
  header: JournalHeader,
  records: readonly JournalRecord[],
): Promise<void> {
  await (await beginJournal(disk, folder, header, records)).durable;
}

/** The same for a caller with something to do meanwhile: the facts can be read now, and are on disk once `durable` is. */
export async function beginJournal(
  disk: Disk,
  folder: string,
  header: JournalHeader,
  records: readonly JournalRecord[],
): Promise<{ durable: Promise<void> }> {
  const failed = (error: unknown) => writeFailed('the session could not be recorded', error);
  const path = journalPath(folder, header.session);
  try {
    await makeFolder(disk, folder);
    const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
    const fd = disk.open(path, O_APPEND | O_CREAT | O_EXCL | O_WRONLY, 0o644);
    const written = writeRecords(disk, fd, [{ format: journalFormat, ...header }, ...records]);
    const durable = Promise.all([written, syncFolder(disk, folder)]).then(
      () => {},
      (error) => {
        forgetUnbegun(disk, path);
        throw failed(error);
      },
    );
    durable.catch(() => {}); // whoever moves the ref awaits it; nobody does if the draft itself fails
    return { durable };
  } catch (error) {
    throw failed(error);
  }
}

/** Whoever is told that it failed will try again; what is left of it would then be counted beside that. */
function forgetUnbegun(disk: Disk, path: string): void {
  try {
    removeIfThere(disk, path);
  } catch {
    // The disk takes nothing any more; the failure itself is told.
  }
}

/**
 * Appends facts with one write; they are on disk when this returns. `missing` bytes are filled up before them: where a
 * power loss took the end of a journal that a checkpoint had read already, what follows must stand behind its mark.
 */
export async function appendToJournal(
  disk: Disk,
  folder: string,
  session: SessionId,
  records: readonly JournalRecord[],
  missing = 0,
): Promise<void> {
  const path = journalPath(folder, session);
  try {
    const fd = disk.open(path, constants.O_APPEND | constants.O_WRONLY);
    await writeRecords(disk, fd, records, '\n'.repeat(missing));
    if (!(await isStillThere(path))) throw journalGone(session);
  } catch (error) {
    throw systemCode(error) === 'ENOENT'
      ? journalGone(session)
      : writeFailed('the event could not be recorded', error);
  }
}

async function writeRecords(
  disk: Disk,
  fd: number,
  contents: readonly object[],
  filling = '',
): Promise<void> {
  try {
    const text = contents.map(formatRecord);
    const longest = Math.max(...text.map((record) => record.length));
    if (longest > maxRecordBytes)
      throw new OrchError('USAGE', `an event of ${longest} bytes is too long to record`);
    writeAll(disk, fd, Buffer.from(filling + text.join('')));
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}

/**
 * Was the journal released while it was appended to? `releaseJournal` puts one back that grew meanwhile,
 * so its name is given a moment to return. No other journal ever gets that name.
 */
async function isStillThere(path: string): Promise<boolean> {
  for (let attempt = 0; attempt < 20; attempt++) {
    if (existsSync(path)) return true;
    await sleep(5);
  }
  return false;
}

function journalGone(session: SessionId): OrchError {
  return new OrchError('SESSION_NOT_FOUND', `session ${session} has no journal here: it has ended`, {
    hint: 'Start or resume a session, then record it again',
    data: { sessionId: session },
  });
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
