import { findKnown, mayBeKnown, takeOut } from './redact/known.ts';
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
  function redactAtOnce(text: string): string {
    const clean = presets ? takeOut(text, findKnown(text)) : text;
    return takeOutPatterns(clean, search(clean));
  }

  return {
    redactAtOnce,
    redact: async (text) => {
      const clean = presets ? takeOut(text, findKnown(text)) : text;
      const found = presets && mayBeKnown(clean) ? await askLibrary(clean) : [];
      const cleaner = takeOut(clean, found);
      return takeOutPatterns(cleaner, search(cleaner));
    },
    findSecret: async (text) => {
      const known = presets ? findKnown(text) : [];
      if (known[0]) return known[0].kind;
      const [found] = presets && mayBeKnown(text) ? await askLibrary(text) : [];
      if (found) return found.kind;
      const matches = search(text);
      return matches === 'too slow' ? unchecked : (matches[0]?.kind ?? null);
    },
  };
}

async function askLibrary(text: string) {
  const { findByLibrary } = await import('./redact/library.ts');
  return findByLibrary(text);
}

function takeOutPatterns(text: string, found: Searched): string {
  return found === 'too slow' ? `[redacted: ${unchecked}]` : takeOut(text, found);
}
