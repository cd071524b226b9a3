import { readPrompt } from '../../agents/calls/prompt.ts';
import { slugOf } from '../../ids.ts';
import type { Redact } from '../../redact/redactor.ts';
import type { EpicId } from '../../types.ts';
import { containsSecret } from '../clean-facts.ts';

/** As many words as a name needs, and as many characters as fit in a line of `status`. */
const mostWords = 6;
const mostCharacters = 28;

/** Words that say nothing about the work at the start of a request. */
const politeness = new Set(
  'please can could would you hi hello hey now ok okay so we i to want need lets let s us'.split(' '),
);

/** Names the work a prompt asks for by its first words, unlike any epic in `taken`. Null if it asks for none. */
export async function nameAfterRequest(
  prompt: string,
  redact: Redact,
  taken: readonly EpicId[],
): Promise<EpicId | null> {
  const asked = readPrompt(prompt, null);
  if (asked.kind !== 'request') return null;
  const name = joinWords(await redact(asked.text));
  if (name === null || containsSecret(name)) return null;
  const others = new Set(taken.map((epic) => epic.toLowerCase()));
  for (let number = 1; ; number++) {
    const numbered = slugOf(number === 1 ? name : `${name}-${number}`);
    if (numbered === null || !others.has(numbered)) return numbered;
  }
}

function joinWords(text: string): string | null {
  // Redacted parts and addresses name nothing.
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

/** A long mix of letters and digits names nothing, and may be confidential. */
function isPlain(word: string): boolean {
  const isMixed = /[a-z]/.test(word) && /\d/.test(word);
  return /^[a-z0-9]{1,20}$/.test(word) && !(isMixed && word.length >= 8);
}
