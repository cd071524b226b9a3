import type { Json } from '../types.ts';
import { explainThrown, readEnd, runCommand, type Surroundings, usualTimeout } from './attempt.ts';
import type { Check, Deed } from './types.ts';

/** Whether an effect was done already, as far as its check can tell. */
export type CheckAnswer =
  | { readonly kind: 'done' | 'not_done' | 'stopped' }
  | { readonly kind: 'unknown'; readonly problem: string; readonly isTransient: boolean };

/** What a shell says of a command it does not find, or may not run. */
const notRun: readonly number[] = [126, 127];

/** Asks an effect's check. One that cannot be asked says neither yes nor no. */
export async function askCheck(
  check: Check,
  deed: Deed,
  key: string,
  at: Surroundings,
): Promise<CheckAnswer> {
  if (check.kind === 'function') {
    try {
      return { kind: (await check.isDone(key, contentOf(deed))) ? 'done' : 'not_done' };
    } catch (error) {
      return { kind: 'unknown', ...explainThrown(error) };
    }
  }
  const end = readEnd(await runCommand(check.run, key, at, at.timeout ?? usualTimeout));
  if (end.how === 'stopped') return { kind: 'stopped' };
  if (end.how === 'exited' && end.status === 0) return { kind: 'done' };
  if (end.how === 'exited' && end.status !== 75 && !notRun.includes(end.status)) return { kind: 'not_done' };
  const problem = end.how === 'exited' ? `exited ${end.status}` : 'problem' in end ? end.problem : end.how;
  const isTransient = end.how === 'cut_short' || (end.how === 'exited' && end.status === 75);
  return { kind: 'unknown', problem, isTransient };
}

function contentOf(deed: Deed): Json {
  return deed.kind === 'function' ? (deed.content ?? null) : null;
}
