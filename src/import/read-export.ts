import { isUtf8 } from 'node:buffer';
import { isRecord } from '../checks.ts';
import { messageOf, OrchError } from '../errors.ts';
import { cleanLine } from '../text.ts';

/** An entry of an export, and where it is. */
export type ExportRecord = {
  readonly value: { readonly [key: string]: unknown };
  readonly place: string;
};

/** Part of an export that could not be read. */
export type BadRecord = { readonly place: string; readonly why: string };

export type ExportRecords = {
  readonly records: readonly ExportRecord[];
  readonly bad: readonly BadRecord[];
};

export function importInvalid(message: string, hint: string, data: Record<string, unknown> = {}): OrchError {
  return new OrchError('IMPORT_INVALID', message, { hint, data });
}

const howToExport = 'Export the issues first: bd export --all > issues.jsonl';

/** Decodes an export; `shown` is its name in messages. Windows shells write UTF-16. */
export function decodeExport(bytes: Buffer, shown: string): string {
  const text = decode(bytes, shown);
  if (text.trim() === '')
    throw importInvalid(
      `${shown} is empty`,
      'Check the command that wrote it, then run the same command again',
      {
        file: shown,
      },
    );
  return text;
}

function decode(bytes: Buffer, shown: string): string {
  if (bytes.subarray(0, 15).toString('latin1') === 'SQLite format 3')
    throw importInvalid(`${shown} is a database, not an export`, howToExport, { file: shown });
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.subarray(2).toString('utf16le');
  if (bytes.includes(0))
    throw importInvalid(`${shown} is a binary file, not an export`, howToExport, { file: shown });
  if (!isUtf8(bytes))
    throw importInvalid(
      `${shown} is not encoded in UTF-8`,
      'Save it as UTF-8, then run the same command again',
      { file: shown },
    );
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** A file with one line looks like an answer; a record has one of these. */
const recordKeys = ['id', 'number', 'issue_id', '_type', '_schema'];

/** Keys under which tools put the list when they answer with an object. */
const listKeys = ['data', 'items', 'issues', 'beads'];

/** Reads JSON in any form that trackers write: lines of objects, a list, or an object with a list in it. */
export function readRecords(text: string, shown: string): ExportRecords {
  const whole = tryJson(text);
  if (whole !== undefined) return readWhole(whole, shown);
  const records: ExportRecord[] = [];
  const bad: BadRecord[] = [];
  const lines = text.split('\n');
  const last = lines.findLastIndex((line) => line.trim() !== '');
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const place = `line ${index + 1} of ${shown}`;
    const value = tryJson(line);
    // A page of an answer may be a line of its own.
    const page = Array.isArray(value) && value.every(isRecord) ? value : null;
    if (page !== null) for (const each of page) records.push({ value: each, place });
    else if (isRecord(value)) records.push({ value, place });
    else bad.push({ place, why: describeBadLine(line, value, index === last && !text.endsWith('\n')) });
  }
  const [first] = bad;
  if (records.length === 0 && first !== undefined)
    throw importInvalid(
      `${shown} is not an export: ${first.place.split(' of ')[0]} ${first.why}`,
      'It takes JSON: the output of bd export --all, or of gh issue list --json …',
      { file: shown },
    );
  return { records, bad };
}

function tryJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the caller says what is wrong and where
  }
}

function describeBadLine(line: string, value: unknown, isCut: boolean): string {
  if (value !== undefined) return `is ${Array.isArray(value) ? 'a list' : 'a single value'}, not an object`;
  if (/^(<{7}|={7}|>{7}|\|{7})/.test(line)) return 'is left from a merge conflict';
  if (isCut && line.trimStart().startsWith('{')) return 'is cut off: the file ends in the middle of it';
  try {
    JSON.parse(line);
  } catch (error) {
    return `is not JSON (${cleanLine(messageOf(error), 100)})`;
  }
  return 'is not JSON';
}

function readWhole(whole: unknown, shown: string): ExportRecords {
  const list = findList(whole);
  if (list === null)
    throw importInvalid(
      `${shown} has no list of issues`,
      'It takes JSON: the output of bd export --all, or of gh issue list --json …',
      { file: shown },
    );
  const records: ExportRecord[] = [];
  const bad: BadRecord[] = [];
  for (const [index, value] of list.entries()) {
    const place = `entry ${index + 1} of ${shown}`;
    if (isRecord(value)) records.push({ value, place });
    else bad.push({ place, why: 'is not an object' });
  }
  return { records, bad };
}

function findList(whole: unknown): readonly unknown[] | null {
  if (Array.isArray(whole)) return whole;
  if (!isRecord(whole)) return null;
  if (recordKeys.some((key) => whole[key] !== undefined)) return [whole];
  for (const key of listKeys) {
    const inside = whole[key];
    if (Array.isArray(inside)) return inside;
    // `{schema_version, data: {issues: […]}}`
    if (isRecord(inside)) return findList(inside);
  }
  return null;
}

/** Reads a text field; empty if it has none. */
export function readTextField(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads a list of texts. */
export function readTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
