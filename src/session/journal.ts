import { constants, fstatSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { OrchError, systemCode, writeFailed } from '../errors.ts';
import { parseEpicId, parseSessionId, parseWriterId } from '../ids.ts';
import type { Event, Fact } from '../state/facts.ts';
import { sleep } from '../system/clock.ts';
import {
  type Disk,
  listFolder,
  makeFolder,
  readFrom,
  removeIfThere,
  statIfThere,
  syncFolder,
  writeAll,
} from '../system/files.ts';
import type { EpicId, Millis, SessionId, WriterId } from '../types.ts';

/*
 * A journal is a file of records, each `\n` and a line of JSON that begins with a checksum of the rest.
 * It is appended to with one write and never cut. The newline comes first, so that a record that was torn by a
 * crash cannot spoil the one after it.
 */

export type JournalHeader = { readonly epic: EpicId; readonly session: SessionId; readonly writer: WriterId };
export type JournalRecord = { readonly at: Millis; readonly fact: Fact };

export type Journal = {
  readonly header: JournalHeader;
  readonly events: readonly Event[];
  /** The end of the last whole record. */
  readonly end: number;
  /** How many lines could not be read: torn by a crash, never acknowledged. */
  readonly torn: number;
};

const format = 1;
const releasedSuffix = '.released';
/** One record holds a few texts; more than this is a mistake of the caller. */
const maxRecordBytes = 1024 * 1024;

/** `\n{"sum":"0a1b2c3d",…}` */
export function formatRecord(content: object): string {
  const body = JSON.stringify(content).slice(1);
  return `\n{"sum":"${checksum(body)}",${body}`;
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** What a line holds, or null where it is torn. */
export function parseRecord(line: string): Record<string, unknown> | null {
  const match = /^\{"sum":"([0-9a-f]{8})",/.exec(line);
  if (match === null || checksum(line.slice(match[0].length)) !== match[1]) return null;
  try {
    return JSON.parse(line);
  } catch {
    return null; // torn, and its checksum fits by chance
  }
}

/** Where a session's journal is. */
export function journalPath(folder: string, session: SessionId): string {
  return join(folder, `${session}.jsonl`);
}

/** The sessions that have a journal. */
export function listJournals(folder: string): SessionId[] {
  const names = listFolder(folder).filter((name) => /^sess-[a-z0-9]{4,32}\.jsonl$/.test(name));
  return names.sort().map((name) => parseSessionId(name.slice(0, -'.jsonl'.length)));
}

/** Begins a session's journal with its first facts; both are on disk when this returns. */
export async function createJournal(
  disk: Disk,
  folder: string,
  header: JournalHeader,
  records: readonly JournalRecord[],
): Promise<void> {
  const path = journalPath(folder, header.session);
  try {
    await makeFolder(disk, folder);
    const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
    const fd = disk.open(path, O_APPEND | O_CREAT | O_EXCL | O_WRONLY, 0o644);
    await writeRecords(disk, fd, [{ format, ...header }, ...records]);
    await syncFolder(disk, folder);
  } catch (error) {
    throw writeFailed('the session could not be recorded', error);
  }
}

/** Appends facts with one write; they are on disk when this returns. */
export async function appendToJournal(
  disk: Disk,
  folder: string,
  session: SessionId,
  records: readonly JournalRecord[],
): Promise<void> {
  const path = journalPath(folder, session);
  try {
    const fd = disk.open(path, constants.O_APPEND | constants.O_WRONLY);
    const inode = fstatSync(fd).ino;
    await writeRecords(disk, fd, records);
    if (!(await isStillThere(path, inode))) throw journalGone(session);
  } catch (error) {
    throw systemCode(error) === 'ENOENT'
      ? journalGone(session)
      : writeFailed('the event could not be recorded', error);
  }
}

async function writeRecords(disk: Disk, fd: number, contents: readonly object[]): Promise<void> {
  try {
    const text = contents.map(formatRecord);
    const longest = Math.max(...text.map((record) => record.length));
    if (longest > maxRecordBytes)
      throw new OrchError('USAGE', `an event of ${longest} bytes is too long to record`);
    writeAll(disk, fd, Buffer.from(text.join('')));
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
}

/**
 * Was the journal released while it was appended to? `releaseJournal` puts one back that grew meanwhile,
 * so its name is given a moment to return.
 */
async function isStillThere(path: string, inode: number): Promise<boolean> {
  for (let attempt = 0; attempt < 20; attempt++) {
    if (statIfThere(path)?.ino === inode) return true;
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

/** Reads the events behind a byte offset; null where there is no journal, or none that ever began. */
export function readJournal(folder: string, session: SessionId, from = 0): Journal | null {
  const path = journalPath(folder, session);
  const head = readFrom(path, 0, from === 0 ? undefined : 4_096);
  const header = head && parseHeader(head.bytes);
  if (!head || !header) return null;
  const bytes = from === 0 ? head.bytes : (readFrom(path, from)?.bytes ?? Buffer.alloc(0));
  return { header, ...parseEvents(header, bytes, from) };
}

function parseHeader(bytes: Buffer): JournalHeader | null {
  const end = bytes.indexOf(0x0a, 1);
  const record = parseRecord(bytes.toString('utf8', 1, end < 0 ? undefined : end));
  if (record === null) return null;
  if (record.format !== format) {
    throw new OrchError(
      'FORMAT_UNSUPPORTED',
      `a journal of format ${record.format} was written by a newer orch`,
      {
        hint: 'Update orch, then run the same command again',
      },
    );
  }
  return {
    epic: parseEpicId(String(record.epic)),
    session: parseSessionId(String(record.session)),
    writer: parseWriterId(String(record.writer)),
  };
}

/** The events in a stretch of a journal that begins at `from`, where a record begins. */
export function parseEvents(header: JournalHeader, bytes: Buffer, from: number): Omit<Journal, 'header'> {
  const events: Event[] = [];
  let end = from;
  let torn = 0;
  let unread = 0;
  for (let at = 0; at < bytes.length; ) {
    const next = bytes.indexOf(0x0a, at + 1);
    const stop = next < 0 ? bytes.length : next;
    const record = bytes[at] === 0x0a ? parseRecord(bytes.toString('utf8', at + 1, stop)) : null;
    if (record === null) unread++;
    else {
      // Something whole stands behind it, so what could not be read will not become whole any more.
      torn += unread;
      unread = 0;
      end = from + stop;
      const { at: time, fact } = record as { at?: Millis; fact?: Fact };
      if (time !== undefined && fact !== undefined) {
        events.push({ at: time, by: header.writer, session: header.session, offset: from + at, end, fact });
      }
    }
    at = stop;
  }
  return { events, end, torn };
}

/**
 * Removes a journal that nothing needs any more, unless it grew past `size` meanwhile.
 * The caller knows that its session has ended and that all of it is in a checkpoint with another one behind it.
 */
export function releaseJournal(disk: Disk, folder: string, session: SessionId, size: number): boolean {
  const path = journalPath(folder, session);
  const aside = `${path}${releasedSuffix}`;
  try {
    disk.rename(path, aside);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false; // another process released it
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
    const path = join(folder, name.slice(0, -releasedSuffix.length));
    try {
      if (statIfThere(path) === null) disk.rename(join(folder, name), path);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error; // its releaser was still at it, and finished
    }
  }
}

/** The header alone; null where the journal never began. */
export function readJournalHeader(
  folder: string,
  session: SessionId,
): { header: JournalHeader; size: number } | null {
  const head = readFrom(journalPath(folder, session), 0, 4_096);
  const header = head && parseHeader(head.bytes);
  return head && header && { header, size: head.size };
}

export const journalFolder = (home: string): string => join(home, 'journal');
