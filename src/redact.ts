import { type Found, findKnown, mayBeKnown, takeOut } from './redact/known.ts';
import type { Search, Searched } from './redact/patterns.ts';

/*
 * What must not be kept. Three doors lead to the disk, and each asks here first: what is recorded, the files of a
 * snapshot, and what processes print.
 */

/** Takes the secrets out of a text, and says what each was. Twice is the same as once. */
export type Redact = (text: string) => Promise<string>;

/** What kind of secret is in a text; null where there is none. */
export type FindSecret = (text: string) => Promise<string | null>;

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
  if (patterns.length === 0) return composeRedactor(presets, () => []);
  const { searchFor } = await import('./redact/patterns.ts');
  return composeRedactor(presets, searchFor(patterns));
}

/** The one that follows no config. */
export const presetRedactor = composeRedactor(true, () => []);

function composeRedactor(presets: boolean, search: Search): Redactor {
  const findAtOnce = (text: string) => (presets ? findKnown(text) : []);
  const findByLibrary = async (text: string) => (presets && mayBeKnown(text) ? askLibrary(text) : []);

  return {
    redactAtOnce: (text) => {
      const clean = takeOut(text, findAtOnce(text));
      return takeOutPatterns(clean, search(clean));
    },
    redact: async (text) => {
      const known = takeOut(text, findAtOnce(text));
      const clean = takeOut(known, await findByLibrary(known));
      return takeOutPatterns(clean, search(clean));
    },
    findSecret: async (text) => {
      const found = findAtOnce(text)[0] ?? (await findByLibrary(text))[0];
      if (found) return found.kind;
      const matches = search(text);
      return matches === 'too slow' ? unchecked : (matches[0]?.kind ?? null);
    },
  };
}

async function askLibrary(text: string): Promise<Found[]> {
  const { findByLibrary } = await import('./redact/library.ts');
  return findByLibrary(text);
}

function takeOutPatterns(text: string, found: Searched): string {
  return found === 'too slow' ? `[redacted: ${unchecked}]` : takeOut(text, found);
}
