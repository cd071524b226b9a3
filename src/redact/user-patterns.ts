import { createContext, Script } from 'node:vm';
import { type FoundSecret, mark } from './rules.ts';

/*
 * The user's own patterns. One that backtracks endlessly is stopped, and then the text counts as unchecked.
 */

export type Searched = readonly FoundSecret[] | 'too slow';

export type Search = (text: string) => Searched;

const leastTime = 200;
/** A large file may take proportionally longer. */
const charactersPerMilli = 5_000;

/** Only code in its own context can be stopped. */
const search = new Script(
  'found = patterns.map((pattern) => Array.from(text.matchAll(pattern), (match) => [match.index, match[0].length]))',
);

/** Makes a search for all patterns, which the config has validated. */
export function searchFor(sources: readonly string[]): Search {
  if (sources.length === 0) return () => [];
  const patterns = sources.map((source) => new RegExp(source, 'g'));
  return (whole) => {
    const found: FoundSecret[] = [];
    // Placeholders are skipped: otherwise redacting again would replace them again.
    let start = 0;
    for (const text of whole.split(new RegExp(`(${mark.source})`))) {
      const matches = mark.test(text) ? [] : findInTime(text, patterns);
      if (matches === null) return 'too slow';
      for (const [index, length] of matches)
        if (length > 0) found.push({ kind: 'pattern', start: start + index, end: start + index + length });
      start += text.length;
    }
    return found;
  };
}

function findInTime(text: string, patterns: readonly RegExp[]): (readonly [number, number])[] | null {
  const context = createContext({ text, patterns, found: [] as [number, number][][] });
  try {
    search.runInContext(context, { timeout: Math.ceil(leastTime + text.length / charactersPerMilli) });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    return null;
  }
  return context.found.flat();
}

/** The error may come from the other context, so it need not be an `Error` of this one. */
function isTimeout(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
