import { hash } from '../digest.ts';
import { canonicalJson } from '../state/canonical.ts';

export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}

/** Long enough to notice a change, and short because every task of every run records one. */
export function shortDigestOf(value: unknown): string {
  return digestOf(value).slice(0, 16);
}
