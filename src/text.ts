/** The most a text may take in a document, in UTF-8 bytes. */
export const maxTextBytes = 4096;

const controls = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]/g;
// Characters that reorder or hide what stands beside them: a reader of `git log` would see another text.
const invisible = /[\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/g;

/** Makes outside text safe to store and to show: one kind of line end, no control characters, bounded. */
export function cleanText(text: string, maxBytes = maxTextBytes): string {
  const clean = text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(controls, '')
    .replace(invisible, '')
    .replace(/^\n+|[\s]+$/g, '');
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

/** Cuts to a number of characters as people count them on a terminal, near enough. */
export function cutColumns(text: string, columns: number): string {
  const characters = [...text];
  return characters.length <= columns ? text : `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}
