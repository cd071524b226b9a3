import { isBinary, listKnownFormsInBytes, listWords, readText } from './bytes.ts';
import { type FoundSecret, findKnown, replaceSecrets } from './rules.ts';
import type { Search, Searched } from './user-patterns.ts';

/*
 * Keeps secrets off the disk. Everything orch stores is checked here first: recorded texts, the files of a snapshot, and
 * the output of processes.
 */

/** Replaces the secrets in a text by their kinds. Redacting twice is the same as once. */
export type Redact = (text: string) => Promise<string>;

/**
 * Returns the kind of a secret in a text or file, if there is one. A secret that is already published does not count:
 * keeping it again gives nothing away.
 */
export type FindSecret = (
  content: string | Buffer,
  readPublished?: () => Promise<Buffer | null>,
) => Promise<string | null>;

/** `text` is null if its place in the content is unknown. */
type Secret = { readonly kind: string; readonly text: string | null };

type RedactSettings = { readonly presets: boolean; readonly patterns: readonly string[] };

export type Redactor = {
  readonly redact: Redact;
  readonly findSecret: FindSecret;
  /** The same without secretlint, for callers that can't wait. */
  redactAtOnce(text: string): string;
};

/** Stands for a text that could not be checked. */
const unchecked = 'pattern took too long';

/** Makes a redactor with the config's settings. */
export async function makeRedactor({ presets, patterns }: RedactSettings): Promise<Redactor> {
  if (patterns.length === 0) return buildRedactor(presets, null);
  const { searchFor } = await import('./user-patterns.ts');
  return buildRedactor(presets, searchFor(patterns));
}

/** The redactor to use without a config. */
export const presetRedactor = buildRedactor(true, null);

function buildRedactor(presets: boolean, patterns: Search | null): Redactor {
  const search = patterns ?? (() => []);
  const findAtOnce = (text: string) => (presets ? findKnown(text) : { found: [], mayContainMore: false });

  return {
    redactAtOnce: (text) => {
      const clean = replaceSecrets(text, findAtOnce(text).found);
      return replacePatterns(clean, search(clean));
    },
    redact: async (text) => {
      const { found, mayContainMore } = findAtOnce(text);
      const known = replaceSecrets(text, found);
      const clean = mayContainMore ? replaceSecrets(known, await findWithLibrary(known)) : known;
      return replacePatterns(clean, search(clean));
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
    if (typeof content !== 'string' && isBinary(content)) yield* listInBytes(content);
  }

  async function* listInText(text: string): AsyncGenerator<Secret> {
    const { found, mayContainMore } = findAtOnce(text);
    yield* listFound(text, found);
    if (mayContainMore) yield* listFound(text, await findWithLibrary(text));
    yield* listFound(text, search(text));
  }

  function* listInBytes(bytes: Buffer): Generator<Secret> {
    if (presets) yield* listKnownFormsInBytes(bytes);
    if (patterns !== null) for (const words of listWords(bytes)) yield* listFound(words, search(words));
  }
}

function* listFound(text: string, found: Searched): Generator<Secret> {
  if (found === 'too slow') yield { kind: unchecked, text: null };
  else for (const { kind, start, end } of found) yield { kind, text: text.slice(start, end) };
}

async function findWithLibrary(text: string): Promise<FoundSecret[]> {
  const { runSecretlint } = await import('./secretlint.ts');
  return runSecretlint(text);
}

function replacePatterns(text: string, found: Searched): string {
  return found === 'too slow' ? `[redacted: ${unchecked}]` : replaceSecrets(text, found);
}
