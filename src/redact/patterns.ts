import { createContext, Script } from 'node:vm';
import { type Found, mark } from './known.ts';

/*
 * The user's own patterns. One that goes back and forth over a text without end must not hold anybody up: it is cut
 * off, and then nobody knows whether the text is clean.
 */

/** Found nothing, found something, or was not done in time. */
export type Searched = readonly Found[] | 'too slow';

export type Search = (text: string) => Searched;

const leastTime = 200;
/** A large file may take as much longer as it is larger. */
const charactersPerMilli = 5_000;

/** Only what runs in a context of its own can be cut off. */
const search = new Script(
  'found = patterns.map((pattern) => Array.from(text.matchAll(pattern), (match) => [match.index, match[0].length]))',
);

/** Makes a search for all of the patterns, of which the config made sure that they are ones. */
export function searchFor(sources: readonly string[]): Search {
  if (sources.length === 0) return () => [];
  const patterns = sources.map((source) => new RegExp(source, 'g'));
  return (whole) => {
    const found: Found[] = [];
    // What was taken out before is not looked at again: it would be taken out once more each time.
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

/** It need not be an `Error` of this context. */
function isTimeout(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
  return code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
