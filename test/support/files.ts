import { mayOverlap } from '../../src/plan/schedule/claims.ts';

/** Could two tasks work on the same file? One that does not say what it works on may work on any. */
export function shareFiles(a: readonly string[], b: readonly string[]): boolean {
  if (a.length === 0 || b.length === 0) return true;
  return a.some((mine) => b.some((theirs) => mayOverlap(mine, theirs)));
}
