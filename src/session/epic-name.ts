import { slugOf } from '../ids.ts';
import { readPrompt } from '../integration/prompt.ts';
import type { Redact } from '../redact.ts';
import type { EpicId } from '../types.ts';
import { holdsSecret } from './clean.ts';

/** As many words as name a piece of work, and as many characters as a line of `status` has room for. */
const mostWords = 6;
const mostCharacters = 28;

/** Words that say nothing of the work where they begin a request. */
const politeness = new Set(
  'please can could would you hi hello hey now ok okay so we i to want need lets let s us'.split(' '),
);

/**
 * A name for the work that a prompt asks for: its first words. Null where it asks for none, or nothing is left of it.
 * `taken` are the epics there are: the name is none of theirs.
 */
export async function nameAfterRequest(
  prompt: string,
  redact: Redact,
  taken: readonly EpicId[],
): Promise<EpicId | null> {
  const asked = readPrompt(prompt, null);
  if (asked.kind !== 'request') return null;
  const name = joinWords(await redact(asked.text));
  if (name === null || holdsSecret(name)) return null;
  const others = new Set(taken.map((epic) => epic.toLowerCase()));
  for (let number = 1; ; number++) {
    const numbered = slugOf(number === 1 ? name : `${name}-${number}`);
    if (numbered === null || !others.has(numbered)) return numbered;
  }
}

function joinWords(text: string): string | null {
  // What was taken out of it names nothing, nor does an address.
  const plain = text.replace(/\S*:\/\/(?:\[redacted[^\]]*\]|\S)*|\[redacted[^\]]*\]|<[^>]*>/g, ' ');
  const letters = plain.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = (letters.match(/[\p{L}\p{N}]+/gu) ?? []).filter(isPlain);
  const from = words.findIndex((word) => !politeness.has(word));
  if (from < 0) return null;
  let name = '';
  for (const word of words.slice(from, from + mostWords)) {
    const longer = name === '' ? word : `${name}-${word}`;
    if (longer.length > mostCharacters) break;
    name = longer;
  }
  return name === '' ? null : name;
}

/** A long word of letters and figures names nothing, and may be something that should not be seen. */
function isPlain(word: string): boolean {
  const isMixed = /[a-z]/.test(word) && /\d/.test(word);
  return /^[a-z0-9]{1,20}$/.test(word) && !(isMixed && word.length >= 8);
}
