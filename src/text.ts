/** The most a text may take in a document, in UTF-8 bytes. */
export const maxTextBytes = 4096;

const controls = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;
// Characters that reorder or hide what stands beside them: a reader of `git log` would see another text.
const invisible = /[\u061C\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/g;

/** Makes outside text safe to store and to show: one kind of line end, no control characters, bounded. */
export function cleanText(text: string, maxBytes = maxTextBytes): string {
  const clean = text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(controls, '')
    .replace(invisible, '')
    .replace(/^\n+/, '')
    .trimEnd(); // a pattern for it looks at every space of a long text once for each that follows
  return cutBytes(clean, maxBytes);
}

/** One line of it. */
export function cleanLine(text: string, maxBytes = maxTextBytes): string {
  return cutBytes(cleanText(text, Number.POSITIVE_INFINITY).replace(/\s+/g, ' ').trim(), maxBytes);
}

/** Cuts at a character, marking the cut with `…`. */
export function cutBytes(text: string, maxBytes: number): string {
  if (text.length <= maxBytes / 3 || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = Math.max(0, maxBytes - 3);
  // A byte of the form 10xxxxxx goes on with the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.toString('utf8', 0, end)}…`;
}

/** Keeps the end, beginning at a character, marking the cut with `…`. */
export function cutToEnd(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - Math.max(0, maxBytes - 3);
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return `…${bytes.toString('utf8', start)}`;
}

const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}/u;
const zero = /\p{Mark}|\p{Format}/u;

/** How many columns a text takes on a terminal. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const character of text) columns += widthOf(character);
  return columns;
}

/** Dashes and dots, arrows and mathematics, lines and blocks, check marks: what orch itself prints, one column each. */
const narrow: readonly (readonly [from: string, to: string])[] = [
  ['\u2010', '\u2027'],
  ['\u2190', '\u22ff'],
  ['\u2500', '\u25fc'],
  ['\u2713', '\u2718'],
];

function widthOf(character: string): number {
  if (character < '\u0300') return 1;
  // The patterns know all of Unicode, and take longer to load than all that is usually shown.
  if (narrow.some(([from, to]) => character >= from && character <= to)) return 1;
  return zero.test(character) ? 0 : wide.test(character) ? 2 : 1;
}

/** Cuts to a number of columns on a terminal, marking the cut with `…`. */
export function cutColumns(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let cut = '';
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > columns) break;
    cut += character;
  }
  return `${cut}…`;
}

/** Keeps both ends, each cut at a word where one is near, marking what is missing with ` … `. */
export function cutMiddle(text: string, maxBytes: number): string {
  if (text.length <= maxBytes / 3 || Buffer.byteLength(text) <= maxBytes) return text;
  const room = Math.max(0, maxBytes - 5);
  const head = cutBytes(text, Math.ceil(room * 0.45) + 3).slice(0, -1);
  const tail = cutToEnd(text, Math.floor(room * 0.55) + 3).slice(1);
  const from = tail.slice(0, 24).indexOf(' ') + 1;
  const to = head.length > 24 ? head.slice(-24).lastIndexOf(' ') : -1;
  return `${to > 0 ? head.slice(0, head.length - 24 + to) : head} … ${tail.slice(from)}`;
}
