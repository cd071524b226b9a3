import { time } from '../checks.ts';
import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { isEpicId, isSessionId, isWriterId, parseEpicId } from '../ids.ts';
import { isFact } from '../state/fact-check.ts';
import type { Event, Fact } from '../state/facts.ts';
import type { EpicId, Millis, SessionId, WriterId } from '../types.ts';

/*
 * A journal is a file of records, each `\n` and a line of JSON that begins with a checksum of the rest.
 * It is appended to with one write and never cut. The newline comes first, so that a record that was torn by a
 * crash cannot spoil the one after it. Records of one write are a group: all of them count, or none. A full disk can
 * take the first of them whole, and a caller that is told to try again must not find that one counted.
 */

export type JournalHeader = { readonly epic: EpicId; readonly session: SessionId; readonly writer: WriterId };
export type JournalRecord = { readonly at: Millis; readonly fact: Fact };

export type Journal = {
  readonly header: JournalHeader;
  /** Of the file, in bytes. */
  readonly size: number;
  readonly events: readonly Event[];
  /** The end of the last whole record. */
  readonly end: number;
  /** How many lines could not be read: torn by a crash, never acknowledged. */
  readonly torn: number;
};

export const journalFormat = 1;

/** `\n{"sum":"0a1b2c3d",…}` */
export function formatRecord(content: object): string {
  const body = JSON.stringify(content).slice(1);
  return `\n{"sum":"${checksum(body)}",${body}`;
}

/** Records that count together or not at all: each names its group, and how many follow it. */
export function formatGroup(contents: readonly object[]): string {
  if (contents.length < 2) return contents.map(formatRecord).join('');
  const group = checksum(JSON.stringify(contents));
  const last = contents.length - 1;
  return contents.map((content, index) => formatRecord({ group, left: last - index, ...content })).join('');
}

function checksum(text: string): string {
  return hash('sha256', text).slice(0, 8);
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

/** Whose journal it is, from its first record; null where that is torn. */
export function parseHeader(bytes: Buffer): JournalHeader | null {
  const end = bytes.indexOf(0x0a, 1);
  const record = parseRecord(bytes.toString('utf8', 1, end < 0 ? undefined : end));
  if (record === null) return null;
  const { format, epic, session, writer } = record;
  if (typeof format === 'number' && format > journalFormat) {
    throw new OrchError('FORMAT_UNSUPPORTED', `a journal of format ${format} was written by a newer orch`, {
      hint: 'Update orch, then run the same command again',
    });
  }
  if (format !== journalFormat || typeof epic !== 'string' || !isEpicId(epic)) return null;
  if (!isSessionId(session) || !isWriterId(writer)) return null;
  return { epic: parseEpicId(epic), session, writer };
}

/** A line of a journal that its checksum vouches for. */
type Line = { readonly record: Record<string, unknown>; readonly at: number; readonly stop: number };

/** Does a line follow another in the same group? */
function continues({ record: next }: Line, { record: before }: Line): boolean {
  return next.group === before.group && typeof before.left === 'number' && next.left === before.left - 1;
}

/** The events in a stretch of a journal that begins at `from`, where a record begins. */
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
    // A group is one write: if anything else stands where its next line belongs, the rest never came.
    if (before && !(line && continues(line, before))) {
      unread += group.length;
      group = [];
    }
    if (line === null) unread++;
    else group.push(line);
    if (line && !line.record.left) {
      // Something whole stands behind it, so what could not be read will not become whole any more.
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

/** A fact takes at most 64 KB; what is longer than one with all that stands around it, orch did not write. */
const maxRecordBytes = 66 * 1024;

/**
 * Does a record hold an event as orch writes it, or none at all? A checksum keeps torn lines out, but whoever works in a
 * session can write a line with a right one; folded, a wrong fact would end up in a checkpoint that no clone can read.
 */
function isSound({ at, fact }: Record<string, unknown>): boolean {
  return at === undefined || fact === undefined || (time(at) && isFact(fact));
}

function eventOf({ writer, session }: JournalHeader, { record, at, stop }: Line, from: number): Event[] {
  const { at: when, fact } = record as { at?: Millis; fact?: Fact }; // looked at in `isSound`
  if (when === undefined || fact === undefined) return [];
  return [{ at: when, by: writer, session, offset: from + at, end: from + stop, fact }];
}
