import { type Found, findNamedSecrets, namesAtAll } from './named.ts';
import { beginnings, rules } from './rules.ts';

export type { Found };

/** Finds the secrets of orch's own rules. Nearly every text has none, and one look at it says so. */
export function findKnown(text: string): Found[] {
  // What is known by its form comes first: it says more than a name beside it.
  const formed = mayBeKnown(text) ? rules.flatMap(({ kind, pattern }) => findAll(text, kind, pattern)) : [];
  return namesAtAll.test(text) ? [...formed, ...findNamedSecrets(text)] : formed;
}

/** Is there anything in it that a known secret begins with? */
export function mayBeKnown(text: string): boolean {
  return beginnings.test(text);
}

function findAll(text: string, kind: string, pattern: RegExp): Found[] {
  return [...text.matchAll(pattern)].map(({ 0: whole, index, groups }) => {
    const end = index + whole.length;
    const start = groups?.secret === undefined ? index : end - groups.secret.length;
    return { kind, start, end };
  });
}

/** What stands where something was taken out. */
export const mark = /\[redacted: [a-z0-9 -]+\]/;

/** Takes out what was found, and says what it was. Where two overlap, it is the one that begins first, or is longer. */
export function takeOut(text: string, found: readonly Found[]): string {
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
