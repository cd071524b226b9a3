import { isMixed, listFormedInBytes, listWords, readText } from './redact/bytes.ts';
import { type Found, findKnown, takeOut } from './redact/known.ts';
import type { Search, Searched } from './redact/patterns.ts';

/*
 * What must not be kept. Three doors lead to the disk, and each asks here first: what is recorded, the files of a
 * snapshot, and what processes print.
 */

/** Takes the secrets out of a text, and says what each was. Twice is the same as once. */
export type Redact = (text: string) => Promise<string>;

/**
 * What kind of secret is in a text, or in a file; null where there is none. A secret that is also in what is published
 * already does not count: keeping it once more gives nothing away.
 */
export type FindSecret = (
  content: string | Buffer,
  readPublished?: () => Promise<Buffer | null>,
) => Promise<string | null>;

/** `text` is null where nobody knows which part of the content it is. */
type Secret = { readonly kind: string; readonly text: string | null };

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
    findSecret: async (content, readPublished = async () => null) => {
      let published: Set<string | null> | null = null;
      for await (const { kind, text } of listSecrets(content)) {
        published ??= await listTexts(await readPublished());
        if (text === null || !published.has(text)) return kind;
      }
      return null;
    },
  };

  async function listTexts(content: Buffer | null): Promise<Set<string | null>> {
    const texts = new Set<string | null>();
    if (content !== null) for await (const { text } of listSecrets(content)) texts.add(text);
    return texts;
  }

  async function* listSecrets(content: string | Buffer): AsyncGenerator<Secret> {
    const text = typeof content === 'string' ? content : readText(content);
    if (text !== '') yield* listInText(text);
    if (typeof content !== 'string' && isMixed(content)) yield* listInBytes(content);
  }

  async function* listInText(text: string): AsyncGenerator<Secret> {
    const { found, mayHoldMore } = findAtOnce(text);
    yield* cutOut(text, found);
    if (mayHoldMore) yield* cutOut(text, await askLibrary(text));
    yield* cutOut(text, search(text));
  }

  function* listInBytes(bytes: Buffer): Generator<Secret> {
    if (presets) yield* listFormedInBytes(bytes);
    if (patterns !== null) for (const words of listWords(bytes)) yield* cutOut(words, search(words));
  }
}

function* cutOut(text: string, found: Searched): Generator<Secret> {
  if (found === 'too slow') yield { kind: unchecked, text: null };
  else for (const { kind, start, end } of found) yield { kind, text: text.slice(start, end) };
}
async function askLibrary(text: string): Promise<Found[]> {
  const { findByLibrary } = await import('./redact/library.ts');
  return findByLibrary(text);
}

function takeOutPatterns(text: string, found: Searched): string {
  return found === 'too slow' ? `[redacted: ${unchecked}]` : takeOut(text, found);
}
