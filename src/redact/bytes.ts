import { isUtf8 } from 'node:buffer';
import { findKnownForms } from './rules.ts';

/*
 * Files are bytes: text, text in another encoding, or neither. Databases and archives may contain secrets too, but there
 * only known forms and the user's patterns are searched for.
 */

/** Like git, takes a file with a zero byte in this range for binary. */
const checkedBytes = 8_000;

const isLittleEndian = (bytes: Buffer) => bytes[0] === 0xff && bytes[1] === 0xfe;
const isBigEndian = (bytes: Buffer) => bytes[0] === 0xfe && bytes[1] === 0xff;

/** Decodes a file's text; empty if it has none. */
export function readText(bytes: Buffer): string {
  if (isLittleEndian(bytes)) return bytes.toString('utf16le', 2);
  if (isBigEndian(bytes))
    return Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString('utf16le', 2);
  if (bytes.subarray(0, checkedBytes).includes(0)) return '';
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}

/** May the file contain more than its text? After a zero byte there may be words with two bytes per character. */
export function isBinary(bytes: Buffer): boolean {
  return bytes.includes(0) && !isLittleEndian(bytes) && !isBigEndian(bytes);
}

/** A large file is searched in pieces, which overlap so that no secret is cut in two. */
const pieceBytes = 4 * 1024 * 1024;
const sharedBytes = 32 * 1024;

function* cutIntoPieces(bytes: Buffer): Generator<string> {
  for (let at = 0; at === 0 || at + sharedBytes < bytes.length; at += pieceBytes)
    yield bytes.toString('latin1', at, Math.min(bytes.length, at + pieceBytes + sharedBytes));
}

/** ASCII words with two bytes per character, in either byte order; the shortest secret is longer. */
const wideWords = [/(?:[\t\n\r\x20-\x7e]\0){12,}/g, /(?:\0[\t\n\r\x20-\x7e]){12,}/g];
const narrowWords = /[\t\x20-\x7e]{6,}/g;

/** Programs contain the headings of private keys; a real key is longer. */
const shortestKey = 100;

/** Lists secrets of a known form in binary data. */
export function* listKnownFormsInBytes(bytes: Buffer): Generator<{ kind: string; text: string }> {
  for (const piece of cutIntoPieces(bytes))
    for (const text of [piece, ...listWideWords(piece)])
      for (const { kind, start, end } of findKnownForms(text).found)
        if (kind !== 'private-key' || end - start >= shortestKey)
          yield { kind, text: text.slice(start, end) };
}

/** Lists the words in binary data, one per line, for patterns that were made for text. */
export function* listWords(bytes: Buffer): Generator<string> {
  for (const piece of cutIntoPieces(bytes))
    yield [...(piece.match(narrowWords) ?? []), ...listWideWords(piece)].join('\n');
}

function listWideWords(piece: string): string[] {
  return wideWords.flatMap((pattern) =>
    (piece.match(pattern) ?? []).map((word) => word.replaceAll('\0', '')),
  );
}
