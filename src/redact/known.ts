import { findNamedSecrets, namesAtAll } from './named.ts';
import { type Formed, type Found, findFormed } from './rules.ts';

export type { Found };

/** Finds the secrets of orch's own rules. Nearly every text has none, and one look at it says so. */
export function findKnown(text: string): Formed {
  const { found, mayHoldMore } = findFormed(text);
  // A known form says more than a name beside it.
  return { found: namesAtAll.test(text) ? [...found, ...findNamedSecrets(text)] : found, mayHoldMore };
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
