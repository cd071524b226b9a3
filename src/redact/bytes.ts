import { isUtf8 } from 'node:buffer';
import { findFormed } from './rules.ts';

/*
 * Files are bytes: text, text of another encoding, or neither. A database or an archive of settings has secrets in it
 * too, and there only what is known by its form, or by a pattern of the user's, is one.
 */

/** How far git looks for a zero, by which it knows what is no text. */
const looksAt = 8_000;

const isLittleEndian = (bytes: Buffer) => bytes[0] === 0xff && bytes[1] === 0xfe;
const isBigEndian = (bytes: Buffer) => bytes[0] === 0xfe && bytes[1] === 0xff;

/** A file's text; empty where it has none. */
export function readText(bytes: Buffer): string {
  if (isLittleEndian(bytes)) return bytes.toString('utf16le', 2);
  if (isBigEndian(bytes))
    return Buffer.from(bytes.subarray(0, bytes.length & ~1))
      .swap16()
      .toString('utf16le', 2);
  if (bytes.subarray(0, looksAt).includes(0)) return '';
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}

/** May there be more in it than its text says? Behind a zero there may be words in two bytes a character. */
export function isMixed(bytes: Buffer): boolean {
  return bytes.includes(0) && !isLittleEndian(bytes) && !isBigEndian(bytes);
}

/** A large file is looked at in pieces, which share what may lie across their border. */
const pieceBytes = 4 * 1024 * 1024;
const sharedBytes = 32 * 1024;

function* cutIntoPieces(bytes: Buffer): Generator<string> {
  for (let at = 0; at === 0 || at + sharedBytes < bytes.length; at += pieceBytes)
    yield bytes.toString('latin1', at, Math.min(bytes.length, at + pieceBytes + sharedBytes));
}

/** Words of ASCII in two bytes a character, either way round; the shortest secret is longer. */
const wideWords = [/(?:[\t\n\r\x20-\x7e]\0){12,}/g, /(?:\0[\t\n\r\x20-\x7e]){12,}/g];
const narrowWords = /[\t\x20-\x7e]{6,}/g;

/** Programs have the headings of private keys in them; a key is longer. */
const shortestKey = 100;

/** The secrets of a known form among bytes that are no text, or not only. */
export function* listFormedInBytes(bytes: Buffer): Generator<{ kind: string; text: string }> {
  for (const piece of cutIntoPieces(bytes))
    for (const text of [piece, ...listWideWords(piece)])
      for (const { kind, start, end } of findFormed(text).found)
        if (kind !== 'private-key' || end - start >= shortestKey)
          yield { kind, text: text.slice(start, end) };
}

/** The words among bytes, one a line: for patterns that were made for text. */
export function* listWords(bytes: Buffer): Generator<string> {
  for (const piece of cutIntoPieces(bytes))
    yield [...(piece.match(narrowWords) ?? []), ...listWideWords(piece)].join('\n');
}

function listWideWords(piece: string): string[] {
  return wideWords.flatMap((pattern) =>
    (piece.match(pattern) ?? []).map((word) => word.replaceAll('\0', '')),
  );
}
