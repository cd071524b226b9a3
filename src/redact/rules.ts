import { cutForm, type Form, forms } from './known-forms.ts';
import { findNamedSecrets, mayContainNamed } from './named.ts';
import { isMadeUp } from './random-words.ts';

/*
 * Finds secrets with a known form. A text is read once, two characters at a time, and a form is only tried where its
 * start appears, so another form costs nothing.
 */

export type FoundSecret = { readonly kind: string; readonly start: number; readonly end: number };

/** How much of the preceding text a form's `before` may match. */
const reachBack = 120;

type Start = { readonly word: string; readonly form: Form };

/** By their first two characters; the longest first, because it is the most specific. */
const byPair = new Map<number, Start[]>();
/** The same as a table, because most pairs start nothing. */
const isStart = new Uint8Array(128 * 128);

for (const form of [...forms, cutForm]) {
  for (const start of form.starts) {
    const pair = pairAt(start, 0);
    isStart[pair] = 1;
    byPair.set(pair, [...(byPair.get(pair) ?? []), { word: start, form }]);
  }
}
for (const starts of byPair.values()) starts.sort((a, b) => b.word.length - a.word.length);

function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 127) << 7) | (text.charCodeAt(at + 1) & 127);
}

export type KnownForms = {
  readonly found: readonly FoundSecret[];
  /** The text has the start of a known secret, and something that may be the rest. */
  readonly mayContainMore: boolean;
};

/** Finds secrets with a known form. */
export function findKnownForms(text: string): KnownForms {
  const found: FoundSecret[] = [];
  let mayContainMore = false;
  for (let at = findStart(text, 0); at !== -1; ) {
    const one = matchAt(text, at);
    if (one) found.push(one);
    mayContainMore ||= one !== null || isLikely(text, at);
    at = findStart(text, Math.max(at + 1, one?.end ?? 0));
  }
  return { found, mayContainMore };
}

/** Finds the next word that a form starts with; -1 if there is none. */
function findStart(text: string, from: number): number {
  let before = text.charCodeAt(from) & 127;
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at) & 127;
    const pair = (before << 7) | code;
    before = code;
    if (isStart[pair] === 1 && byPair.get(pair)?.some(({ word }) => text.startsWith(word, at - 1)))
      return at - 1;
  }
  return -1;
}

function matchAt(text: string, at: number): FoundSecret | null {
  for (const { word, form } of byPair.get(pairAt(text, at)) ?? []) {
    if (!text.startsWith(word, at)) continue;
    const ahead = lengthBefore(text, at, form);
    if (ahead === null) continue;
    form.pattern.lastIndex = at;
    const match = form.pattern.exec(text);
    if (match === null) continue;
    const { secret } = match.groups ?? {};
    const end = at + match[0].length;
    const start = secret === undefined ? at - ahead : end - secret.length;
    const value = secret ?? match[0].slice(ahead === 0 ? word.length : 0);
    if (form.isSecret ? !form.isSecret(match[0]) : isInBlob(text, at)) continue;
    if (form.kind !== 'private-key' && form !== cutForm && isMadeUp(value)) continue;
    return { kind: form.kind, start, end };
  }
  return null;
}

/** How much of a form precedes its word; null if that text does not match. */
function lengthBefore(text: string, at: number, { before, matchesInsideWords }: Form): number | null {
  if (before !== undefined)
    return before.exec(text.slice(Math.max(0, at - reachBack), at))?.[0].length ?? null;
  return matchesInsideWords || startsWord(text, at) ? 0 : null;
}

/** Long base64 data contains any form by chance. */
function isInBlob(text: string, at: number): boolean {
  return /[+/]/.test(text[at - 1] ?? '') && /^[A-Za-z0-9+/]{40}$/.test(text.slice(Math.max(0, at - 40), at));
}

/** Escaped characters that may precede a word: line breaks, URL encoding, colours. */
const escaped = /(?:\\[nrtbf]|\\u[0-9a-f]{4}|%[0-9a-f]{2}|\u001b\[[0-9;]{0,8}m)$/i;

/** `risk-sk-…`, `cache-key-…`: hyphenated words are names. */
const inName = /^(?:sk|csk|key|pubkey|fc|pa|sdk|api|secret|pat|pul|xai)-/;

/** False if it is only part of a longer word. */
function startsWord(text: string, at: number): boolean {
  if (at === 0) return true;
  const before = text[at - 1] ?? '';
  if (!/[A-Za-z0-9_]/.test(before)) return before !== '-' || !inName.test(text.slice(at, at + 8));
  return escaped.test(text.slice(Math.max(0, at - 12), at));
}

const rest = /^(?:[A-Za-z0-9_.+/=-]{8}|[A-Z ]{8})/;

function isLikely(text: string, at: number): boolean {
  const word = byPair.get(pairAt(text, at))?.find((start) => text.startsWith(start.word, at))?.word ?? '';
  const end = at + word.length;
  return word.length >= 4 && startsWord(text, at) && rest.test(text.slice(end, end + 8));
}

/** Finds secrets by orch's own rules. Nearly every text has none, and one pass shows that. */
export function findKnown(text: string): KnownForms {
  const { found, mayContainMore } = findKnownForms(text);
  // Known forms come first, because they are more specific than a name.
  return {
    found: mayContainNamed.test(text) ? [...found, ...findNamedSecrets(text)] : found,
    mayContainMore,
  };
}

/** The placeholder of a removed secret. */
export const mark = /\[redacted: [a-z0-9 -]+\]/;

/** Replaces secrets by their kinds. If two overlap, the one that starts first or is longer counts. */
export function replaceSecrets(text: string, found: readonly FoundSecret[]): string {
  const sorted = [...found].sort((a, b) => a.start - b.start || b.end - a.end);
  let kept = '';
  let at = 0;
  for (const { kind, start, end } of sorted) {
    if (end <= at) continue;
    if (start >= at) kept += `${text.slice(at, start)}[redacted: ${kind}]`;
    at = end;
  }
  return kept + text.slice(at);
}
