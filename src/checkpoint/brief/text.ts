import { cleanLine, cutMiddle } from '../../text.ts';
import type { Millis } from '../../types.ts';

// What begins markup inside a line: code, emphasis, a tag, the middle of a link; and a backslash that would undo ours.
// An underscore between letters (`snake_case`) begins nothing.
const markup = /`|\\(?=[!-/:-@[-`{-~]|$)|\*|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|<(?=[A-Za-z/!?])|\](?=[([:])/g;
// What begins a heading, a quote, a list or a table, where it stands first.
const opening = /^(?:[#>+=~|[-]|\d{1,9}(?=[.)](?: |$)))/;

/**
 * Outside text as one line of Markdown that shows it as it is: it can begin no heading, label, list, link or code,
 * so nobody can put words into the brief's own mouth. A backtick becomes an apostrophe, which reads better than `\``.
 */
export function plainText(text: string, maxBytes: number): string {
  return foldText(text, maxBytes)
    .replace(markup, (found) => (found === '`' ? "'" : `\\${found}`))
    .replace(opening, (found) => (/\d/.test(found) ? `${found}\\` : `\\${found}`));
}

/**
 * What somebody said, as one line: of a long text its beginning and its end, because what is asked for last, and what
 * is not done, stand there. Lists become ` · `, headings end with a colon.
 */
export function sayEnds(text: string, maxBytes: number): string {
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

/** One clean, short line of it, without the work where there is none to do: a brief is made with every checkpoint. */
function foldText(text: string, maxBytes: number): string {
  const start = text.length > 2 * maxBytes ? `${text.slice(0, 2 * maxBytes)}…` : text;
  return start.length <= maxBytes && isPlain.test(start) ? start : cleanLine(start, maxBytes);
}

/** A path, a name or a command, to be copied: as code, with a fence longer than any backticks in it. */
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

/** `17:38`, in UTC; with its date where that is another day than `today`. */
export function formatMoment(at: Millis, today: Millis): string {
  if (!(Math.abs(at) <= lastMoment)) return 'at an unknown time';
  const instant = new Date(at).toISOString();
  const time = /T(\d\d:\d\d)/.exec(instant)?.[1] ?? '';
  const isToday = Math.floor(at / millisPerDay) === Math.floor(today / millisPerDay);
  return isToday ? time : `${instant.slice(0, instant.indexOf('T'))} ${time}`;
}

/** Quarter tokens, which add up over the parts of a text. */
export function sizeOf(text: string): number {
  let size = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index) | 32; // capital letters become small ones
    const isLetter = (code >= 97 && code <= 122) || text.charCodeAt(index) === 32;
    size += isLetter ? 1 : code > 127 ? 4 : 2;
  }
  return size;
}

/**
 * About how many tokens a text takes, rather too many than too few, since no two models count alike: one for four
 * letters or spaces, one for two digits or signs, one for each UTF-16 unit beyond ASCII.
 * So a text of n tokens never takes more than 4n bytes.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(sizeOf(text) / 4);
}
