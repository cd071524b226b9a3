import { cleanLine, cutMiddle } from '../../text.ts';
import type { Millis } from '../../types.ts';

// What starts markup inside a line: code, emphasis, a tag, the middle of a link; and a backslash that would undo ours.
// An underscore between letters (`snake_case`) starts nothing.
const markup = /`|\\(?=[!-/:-@[-`{-~]|$)|\*|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|\](?=[([:])/g;
// What starts a heading, a quote, a list or a table at the start of a line.
const opening = /^(?:[#>+=~|[-]|\d{1,9}(?=[.)](?: |$)))/;

/**
 * Escapes outside text as one line of Markdown. It can start no heading, label, list, link or code, so it cannot pass
 * for the brief's own words. A backtick becomes an apostrophe, which reads better than `\``.
 */
export function plainText(text: string, maxBytes: number): string {
  return foldText(text, maxBytes)
    .replace(markup, (found) => (found === '`' ? "'" : `\\${found}`))
    .replace(opening, (found) => (/\d/.test(found) ? `${found}\\` : `\\${found}`));
}

/**
 * A long text as one line: its start and its end, because the last constraint, and what is not done, are often at the
 * end. Lists become ` · `, headings end with a colon.
 */
export function excerptText(text: string, maxBytes: number): string {
  return plainText(cutMiddle(cleanLine(flatten(text), Number.POSITIVE_INFINITY), maxBytes), 2 * maxBytes);
}

function flatten(text: string): string {
  let flat = '';
  for (const line of text.split(/[\r\n\u2028\u2029]+/)) {
    const said = line.trim();
    if (said === '' || said.startsWith('```') || /^[-=*_]{3,}$/.test(said)) continue;
    const item = /^(?:[-*•+]|\d{1,3}[.)])\s+(.*)/.exec(said)?.[1];
    const heading = /^#{1,6}\s+(.*?)[\s#:]*$/.exec(said)?.[1];
    const joint = flat === '' ? '' : item !== undefined && !flat.endsWith(':') ? ' · ' : ' ';
    flat += `${joint}${item ?? (heading === undefined ? said : `${heading}:`)}`;
  }
  return flat.replaceAll('**', '');
}

const isPlain = /^[!-~]+(?: [!-~]+)*$/;

/** One clean, short line. Skips the work for plain text: a brief is made with every checkpoint. */
function foldText(text: string, maxBytes: number): string {
  const start = text.length > 2 * maxBytes ? `${text.slice(0, 2 * maxBytes)}…` : text;
  return start.length <= maxBytes && isPlain.test(start) ? start : cleanLine(start, maxBytes);
}

/** A path, a name or a command as code to copy, with a fence longer than any backticks in it. */
export function codeText(text: string, maxBytes: number): string {
  const line = foldText(text, maxBytes);
  if (line === '') return '(unnamed)';
  if (!line.includes('`')) return `\`${line}\``;
  const longest = Math.max(...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`;
}

const millisPerDay = 86_400_000;
const lastMoment = 8.64e15;

/** `17:38` in UTC, with the date unless it is `today`. */
export function formatUtcTime(at: Millis, today: Millis): string {
  if (!(Math.abs(at) <= lastMoment)) return 'at an unknown time';
  const instant = new Date(at).toISOString();
  const time = /T(\d\d:\d\d)/.exec(instant)?.[1] ?? '';
  const isToday = Math.floor(at / millisPerDay) === Math.floor(today / millisPerDay);
  return isToday ? time : `${instant.slice(0, instant.indexOf('T'))} ${time}`;
}

/**
 * The approximate size of a text in quarter tokens, rather too many than too few, since models count differently: one
 * for a letter or a space, two for a digit or a sign, four for each UTF-16 unit beyond ASCII. Sizes of parts add up, and
 * a text of n tokens never takes more than 4n bytes.
 */
export function sizeOf(text: string): number {
  let size = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index) | 32; // lower case
    const isLetter = (code >= 97 && code <= 122) || text.charCodeAt(index) === 32;
    size += isLetter ? 1 : code > 127 ? 4 : 2;
  }
  return size;
}
