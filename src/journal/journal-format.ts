import { time } from '../checks.ts';
import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { isEpicId, isSessionId, isWriterId, parseEpicId } from '../ids.ts';
import { isFact } from '../state/fact-check.ts';
import type { Event, Fact } from '../state/facts.ts';
import type { EpicId, Millis, SessionId, WriterId } from '../types.ts';

/*
 * A journal is a file of records, each `\n` and a line of JSON that starts with a checksum of the rest. Records are
 * appended with one write and never cut. The newline comes first, so that a record torn by a crash cannot spoil the next
 * one. The records of one write are a group: all of them count, or none. A full disk can take the first of them whole,
 * and a caller that is told to try again must not find that one counted.
 */

export type JournalHeader = {
  readonly epic: EpicId;
  /** The journal's name, under which it is counted. */
  readonly session: SessionId;
  readonly writer: WriterId;
  /** The session its events belong to, if that is another: the one that a day's calls share. */
  readonly into?: SessionId;
};
export type JournalRecord = { readonly at: Millis; readonly fact: Fact };

export type Journal = {
  readonly header: JournalHeader;
  /** The size of the file in bytes. */
  readonly size: number;
  readonly events: readonly Event[];
  /** The end of the last complete record. */
  readonly end: number;
  /** How many lines could not be read: torn by a crash, and never acknowledged. */
  readonly torn: number;
};

export const journalFormat = 1;

/** `\n{"sum":"0a1b2c3d",…}` */
export function formatRecord(content: object): string {
  const body = JSON.stringify(content).slice(1);
  return `\n{"sum":"${checksum(body)}",${body}`;
}

/** Formats records that count together or not at all: each names its group and how many follow. */
export function formatGroup(contents: readonly object[]): string {
  if (contents.length < 2) return contents.map(formatRecord).join('');
  const group = checksum(JSON.stringify(contents));
  const last = contents.length - 1;
  return contents.map((content, index) => formatRecord({ group, left: last - index, ...content })).join('');
}

function checksum(text: string): string {
  return hash('sha256', text).slice(0, 8);
}

/** Parses a line; null if it is torn. */
function parseRecord(line: string): Record<string, unknown> | null {
  const match = /^\{"sum":"([0-9a-f]{8})",/.exec(line);
  if (match === null || checksum(line.slice(match[0].length)) !== match[1]) return null;
  try {
    return JSON.parse(line);
  } catch {
    return null; // torn, with a checksum that matches by chance
  }
}

/** Reads whose journal it is from its first record; null if that is torn. */
export function parseHeader(bytes: Buffer): JournalHeader | null {
  const end = bytes.indexOf(0x0a, 1);
  const record = parseRecord(bytes.toString('utf8', 1, end < 0 ? undefined : end));
  if (record === null) return null;
  const { format, epic, session, writer } = record;
  if (typeof format === 'number' && format > journalFormat) {
    throw new OrchError('FORMAT_UNSUPPORTED', `a newer orch wrote a journal of format ${format}`, {
      hint: 'Update orch, then run the same command again.',
    });
  }
  if (format !== journalFormat || typeof epic !== 'string' || !isEpicId(epic)) return null;
  if (!isSessionId(session) || !isWriterId(writer)) return null;
  const { into } = record;
  if (into !== undefined && !isSessionId(into)) return null;
  return { epic: parseEpicId(epic), session, writer, ...(into !== undefined && { into }) };
}

/** A line with a matching checksum. */
type Line = { readonly record: Record<string, unknown>; readonly at: number; readonly stop: number };

/** Does a line continue the group of the line before it? */
function continues({ record: next }: Line, { record: before }: Line): boolean {
  return next.group === before.group && typeof before.left === 'number' && next.left === before.left - 1;
}

/** Parses the part of a journal that starts at `from`, where a record starts. */
export function parseEvents(
  header: JournalHeader,
  bytes: Buffer,
  from: number,
): Omit<Journal, 'header' | 'size'> {
  const events: Event[] = [];
  let end = from;
  let torn = 0;
  let unread = 0;
  let group: Line[] = [];
  for (let at = 0; at < bytes.length; ) {
    const next = bytes.indexOf(0x0a, at + 1);
    const stop = next < 0 ? bytes.length : next;
    const isLine = bytes[at] === 0x0a && stop - at <= maxRecordBytes;
    const record = isLine ? parseRecord(bytes.toString('utf8', at + 1, stop)) : null;
    const line = record && isSound(record) ? { record, at, stop } : null;
    const before = group.at(-1);
    // A group is one write: if anything else is where its next line belongs, the rest was never written.
    if (before && !(line && continues(line, before))) {
      unread += group.length;
      group = [];
    }
    if (line === null) unread++;
    else group.push(line);
    if (line && !line.record.left) {
      // A complete record follows, so the unreadable lines before it will never become complete.
      torn += unread;
      unread = 0;
      end = from + stop;
      events.push(...group.flatMap((each) => eventOf(header, each, from)));
      group = [];
    }
    at = stop;
  }
  return { events, end, torn };
}

/** A fact takes at most 64 KB; orch never writes a longer record than that plus its frame. */
const maxRecordBytes = 66 * 1024;

/**
 * Does a record hold an event as orch writes it, or none at all? A checksum excludes torn lines, but an agent can write
 * a line with a valid one; folded, a wrong fact would end up in a checkpoint that no clone can read.
 */
function isSound({ at, fact }: Record<string, unknown>): boolean {
  return at === undefined || fact === undefined || (time(at) && isFact(fact));
}

function eventOf({ writer, ...header }: JournalHeader, { record, at, stop }: Line, from: number): Event[] {
  const { at: when, fact } = record as { at?: Millis; fact?: Fact }; // checked in `isSound`
  if (when === undefined || fact === undefined) return [];
  const place = { offset: from + at, end: from + stop };
  return [{ at: when, by: writer, ...ownerOf(header), ...place, fact }];
}

/** The session and journal of a journal's events. */
export function ownerOf({
  session,
  into,
}: Omit<JournalHeader, 'writer'>): Pick<Event, 'session' | 'journal'> {
  return into === undefined ? { session } : { session: into, journal: session };
}
