import { stripVTControlCharacters } from 'node:util';
import { cleanText } from '../text.ts';

/** The end of a text that may be endless. */
export type OutputTail = {
  add(text: string): void;
  /**
   * Clean: no colours, no control characters; at most the limit, with `…` where something was cut off. What must not
   * be seen is taken out first: of half a secret nobody could tell what it is.
   */
  read(redact: (text: string) => Promise<string>): Promise<string>;
};

/** Colours and progress bars are cleaned away, so more than the limit is kept until then. */
const rawPerClean = 8;

/** What a text that was cut may begin with: the rest of a key, up to its last line, or of a word. */
const halfSecret =
  /^(?:[^[]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s]*?\nPrivate-MAC: |\S{1,300}(?=\s))/;

/** Keeps the last characters of what is added, and never much more than that in memory. */
export function keepTail(limit: number): OutputTail {
  const most = limit * rawPerClean;
  let kept = '';
  let isCut = false;
  return {
    add(text) {
      kept += text;
      // Not at each addition: many small ones would each copy all of it.
      if (kept.length <= 2 * most) return;
      kept = kept.slice(-most);
      isCut = true;
    },
    async read(redact) {
      const found = await redact(cleanText(stripVTControlCharacters(kept), Number.POSITIVE_INFINITY));
      const clean = isCut ? found.replace(halfSecret, '') : found;
      if (clean.length <= limit && !isCut) return clean;
      // A cut may fall between the two halves of a character.
      return `…${clean.slice(1 - limit).replace(/^[\uDC00-\uDFFF]/, '')}`;
    },
  };
}
