import { cutForm, type Form, forms } from './forms.ts';
import { isMadeUp } from './random-word.ts';

/*
 * Finds what is known by its form. A text is read once, two characters at a time; a form is looked at only where its
 * beginning stands, so that one form more costs nothing.
 */

export type Found = { readonly kind: string; readonly start: number; readonly end: number };

/** The most of a text that what stands before a form's word is looked for in. */
const reachBack = 120;

type Start = { readonly word: string; readonly form: Form };

/** By the two characters they begin with; the longest first, since it says most. */
const byPair = new Map<number, Start[]>();
/** The same as a table: most pairs begin nothing. */
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

export type Formed = {
  readonly found: readonly Found[];
  /** A word stands in the text that a known secret begins with, and something that may be the rest. */
  readonly mayHoldMore: boolean;
};

/** Finds the secrets of a known form. */
export function findFormed(text: string): Formed {
  const found: Found[] = [];
  let mayHoldMore = false;
  for (let at = findStart(text, 0); at !== -1; ) {
    const one = matchAt(text, at);
    if (one) found.push(one);
    mayHoldMore ||= one !== null || isLikely(text, at);
    at = findStart(text, Math.max(at + 1, one?.end ?? 0));
  }
  return { found, mayHoldMore };
}

/** Where the next word stands that a form begins with; -1 where there is none. */
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

function matchAt(text: string, at: number): Found | null {
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
    if (form.isIt ? !form.isIt(match[0]) : isInBlob(text, at)) continue;
    if (form.kind !== 'private-key' && form !== cutForm && isMadeUp(value)) continue;
    return { kind: form.kind, start, end };
  }
  return null;
}

/** How much of a form stands before its word; null where the text there does not fit. */
function lengthBefore(text: string, at: number, { before, standsAnywhere }: Form): number | null {
  if (before !== undefined)
    return before.exec(text.slice(Math.max(0, at - reachBack), at))?.[0].length ?? null;
  return standsAnywhere || beginsWord(text, at) ? 0 : null;
}

/** Base64 has everything in it, by chance. */
function isInBlob(text: string, at: number): boolean {
  return /[+/]/.test(text[at - 1] ?? '') && /^[A-Za-z0-9+/]{40}$/.test(text.slice(Math.max(0, at - 40), at));
}

/** What a line break, a sign in an address or a colour may be written as. */
const escaped = /(?:\\[nrtbf]|\\u[0-9a-f]{4}|%[0-9a-f]{2}|\u001b\[[0-9;]{0,8}m)$/i;

/** `risk-sk-…`, `cache-key-…`: what is written with hyphens is a name. */
const inName = /^(?:sk|csk|key|pubkey|fc|pa|sdk|api|secret|pat|pul|xai)-/;

/** No longer word only happens to have it inside. */
function beginsWord(text: string, at: number): boolean {
  if (at === 0) return true;
  const before = text[at - 1] ?? '';
  if (!/[A-Za-z0-9_]/.test(before)) return before !== '-' || !inName.test(text.slice(at, at + 8));
  return escaped.test(text.slice(Math.max(0, at - 12), at));
}

const rest = /^(?:[A-Za-z0-9_.+/=-]{8}|[A-Z ]{8})/;

function isLikely(text: string, at: number): boolean {
  const word = byPair.get(pairAt(text, at))?.find((start) => text.startsWith(start.word, at))?.word ?? '';
  const end = at + word.length;
  return word.length >= 4 && beginsWord(text, at) && rest.test(text.slice(end, end + 8));
}
