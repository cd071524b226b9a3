import { findFormedInBytes, isMixed, listWords, readText } from './redact/bytes.ts';
import { type Found, findKnown, takeOut } from './redact/known.ts';
import type { Search, Searched } from './redact/patterns.ts';

/*
 * What must not be kept. Three doors lead to the disk, and each asks here first: what is recorded, the files of a
 * snapshot, and what processes print.
 */

/** Takes the secrets out of a text, and says what each was. Twice is the same as once. */
export type Redact = (text: string) => Promise<string>;

/** What kind of secret is in a text, or in a file; null where there is none. */
export type FindSecret = (content: string | Buffer) => Promise<string | null>;

export type RedactSettings = { readonly presets: boolean; readonly patterns: readonly string[] };

export type Redactor = {
  readonly redact: Redact;
  readonly findSecret: FindSecret;
  /** The same without the library, for who cannot wait. */
  redactAtOnce(text: string): string;
};

/** A text of which nobody knows whether it is clean. */
const unchecked = 'pattern took too long';

/** Makes the one that follows a config. */
export async function makeRedactor({ presets, patterns }: RedactSettings): Promise<Redactor> {
  if (patterns.length === 0) return composeRedactor(presets, null);
  const { searchFor } = await import('./redact/patterns.ts');
  return composeRedactor(presets, searchFor(patterns));
}

/** The one that follows no config. */
export const presetRedactor = composeRedactor(true, null);

function composeRedactor(presets: boolean, patterns: Search | null): Redactor {
  const search = patterns ?? (() => []);
  const findAtOnce = (text: string) => (presets ? findKnown(text) : { found: [], mayHoldMore: false });

  return {
    redactAtOnce: (text) => {
      const clean = takeOut(text, findAtOnce(text).found);
      return takeOutPatterns(clean, search(clean));
    },
    redact: async (text) => {
      const { found, mayHoldMore } = findAtOnce(text);
      const known = takeOut(text, found);
      const clean = mayHoldMore ? takeOut(known, await askLibrary(known)) : known;
      return takeOutPatterns(clean, search(clean));
    },
    findSecret: async (content) => {
      if (typeof content === 'string') return findInText(content);
      const text = readText(content);
      const found = text === '' ? null : await findInText(text);
      return found ?? (isMixed(content) ? findInBytes(content) : null);
    },
  };

  async function findInText(text: string): Promise<string | null> {
    const { found, mayHoldMore } = findAtOnce(text);
    const [first] = found.length === 0 && mayHoldMore ? await askLibrary(text) : found;
    return first ? first.kind : nameFirst(search(text));
  }

  function findInBytes(bytes: Buffer): string | null {
    const found = presets ? findFormedInBytes(bytes) : null;
    if (found) return found.kind;
    if (patterns === null) return null;
    for (const words of listWords(bytes)) {
      const kind = nameFirst(search(words));
      if (kind !== null) return kind;
    }
    return null;
  }
}

function nameFirst(found: Searched): string | null {
  return found === 'too slow' ? unchecked : (found[0]?.kind ?? null);
}

async function askLibrary(text: string): Promise<Found[]> {
  const { findByLibrary } = await import('./redact/library.ts');
  return findByLibrary(text);
}

function takeOutPatterns(text: string, found: Searched): string {
  return found === 'too slow' ? `[redacted: ${unchecked}]` : takeOut(text, found);
}
