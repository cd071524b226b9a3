import { stripVTControlCharacters } from 'node:util';
import { cleanText } from '../text.ts';

/** The end of a text of any length. */
export type OutputTail = {
  add(text: string): void;
  /**
   * Returns the text without colours and control characters, at most as long as the limit, with `…` if it was cut.
   * Secrets are removed before it is cut, because half a secret can't be recognized.
   */
  read(redact: (text: string) => Promise<string>): Promise<string>;
};

/** More than the limit is kept, because colours and progress bars are removed later. */
const rawPerClean = 8;

/** What a cut text may start with: the rest of a key, or of a word. */
const halfSecret =
  /^(?:[^[]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s]*?\nPrivate-MAC: |\S{1,300}(?=\s))/;

/** Keeps the last characters of what is added, in bounded memory. */
export function keepTail(limit: number): OutputTail {
  const most = limit * rawPerClean;
  let kept = '';
  let isCut = false;
  return {
    add(text) {
      kept += text;
      // Not on every addition: many small ones would each copy everything.
      if (kept.length <= 2 * most) return;
      kept = kept.slice(-most);
      isCut = true;
    },
    async read(redact) {
      const found = await redact(cleanText(stripVTControlCharacters(kept), Number.POSITIVE_INFINITY));
      const clean = isCut ? found.replace(halfSecret, '') : found;
      if (clean.length <= limit && !isCut) return clean;
      // The cut may split a surrogate pair.
      return `…${clean.slice(1 - limit).replace(/^[\uDC00-\uDFFF]/, '')}`;
    },
  };
}
