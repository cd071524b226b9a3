/** The most bytes (UTF-8) a text may take in a document. */
export const maxTextBytes = 4096;

const controls = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;
// Characters that reorder or hide their neighbours: a reader of `git log` would see a different text.
const invisible = /[\u061C\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/g;

/** Makes outside text safe to store and show: uniform line ends, no control characters, bounded. */
export function cleanText(text: string, maxBytes = maxTextBytes): string {
  const clean = text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(controls, '')
    .replace(invisible, '')
    .replace(/^\n+/, '')
    .trimEnd(); // a pattern would be quadratic in runs of spaces
  return cutBytes(clean, maxBytes);
}

/** The same, on one line. */
export function cleanLine(text: string, maxBytes = maxTextBytes): string {
  return cutBytes(cleanText(text, Number.POSITIVE_INFINITY).replace(/\s+/g, ' ').trim(), maxBytes);
}

/** Cuts at a character boundary and marks the cut with `…`. */
export function cutBytes(text: string, maxBytes: number): string {
  if (text.length <= maxBytes / 3 || Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text);
  let end = Math.max(0, maxBytes - 3);
  // A byte of the form 10xxxxxx continues the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return `${bytes.toString('utf8', 0, end)}…`;
}

/** Keeps the end, from a character boundary, and marks the cut with `…`. */
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

/** One column each: dashes, dots, arrows, mathematics, lines, blocks and check marks, as orch prints them. */
const narrow: readonly (readonly [from: string, to: string])[] = [
  ['\u2010', '\u2027'],
  ['\u2190', '\u22ff'],
  ['\u2500', '\u25fc'],
  ['\u2713', '\u2718'],
];

function widthOf(character: string): number {
  if (character < '\u0300') return 1;
  // The patterns cover all of Unicode and take longer to load than the usual text takes to print.
  if (narrow.some(([from, to]) => character >= from && character <= to)) return 1;
  return zero.test(character) ? 0 : wide.test(character) ? 2 : 1;
}

/** Cuts to a number of terminal columns and marks the cut with `…`. */
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

/** Keeps both ends, cut at a nearby word boundary, and marks the gap with ` … `. */
export function cutMiddle(text: string, maxBytes: number): string {
  if (text.length <= maxBytes / 3 || Buffer.byteLength(text) <= maxBytes) return text;
  const room = Math.max(0, maxBytes - 5);
  const head = cutBytes(text, Math.ceil(room * 0.45) + 3).slice(0, -1);
  const tail = cutToEnd(text, Math.floor(room * 0.55) + 3).slice(1);
  const from = tail.slice(0, 24).indexOf(' ') + 1;
  const to = head.length > 24 ? head.slice(-24).lastIndexOf(' ') : -1;
  return `${to > 0 ? head.slice(0, head.length - 24 + to) : head} … ${tail.slice(from)}`;
}

// Unquoted, `~`, `\` or `=` can be special to a shell; after an option's name it is not.
const plainWord = /^[\w@%+:,./-]+$|^--[\w-]+=[\w-]*$/;

/** Quotes words for a POSIX shell. */
export function quoteForShell(words: readonly string[]): string {
  return words.map((word) => (plainWord.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

/** How many letters to change, add, drop or swap with a neighbour to turn one word into the other. */
function distanceBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

/** The known word that was probably meant; null if none is close. */
export function findNearest(word: string, known: readonly string[]): string | null {
  if (word.length > 40) return null;
  const plain = (text: string) => text.toLowerCase().replace(/[_-]/g, '');
  const ranked = known
    .map((candidate) => ({ candidate, distance: distanceBetween(plain(word), plain(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  // A third of the word may be wrong; in a short word, one letter.
  if (best === undefined || best.distance > Math.max(1, Math.floor(best.candidate.length / 3))) return null;
  return best.candidate;
}
