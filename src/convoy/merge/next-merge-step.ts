/* What the merge queue does next, decided from what is known. */

/** What the gates have said about exactly one commit. */
export type Verdict = 'unknown' | 'red once' | 'red' | 'green';

export type QueueFacts = {
  /** How many tasks wait, including those of the chain, which are the oldest. */
  readonly waiting: number;
  /**
   * The candidates, each merged onto the one before, the first onto the tip of the branch, with what is known about
   * each commit. Those of tasks that were cancelled are not in it, nor what was merged onto them.
   */
  readonly chain: readonly Verdict[];
  /** Does the next task conflict with one in the chain? Then it waits until that one's fate is known. */
  readonly isBlocked: boolean;
  /** How many may be tried at once. */
  readonly batch: number;
};

/** Numbers count from the oldest task. */
export type MergeStep =
  | { readonly kind: 'idle' }
  /** Merge the next task onto the end of the chain. */
  | { readonly kind: 'add' }
  /** Run the gates on the commit at the end of the first `count`; `isAgain`: only those that were red there. */
  | { readonly kind: 'test'; readonly count: number; readonly isAgain: boolean }
  /** Move the branch to the commit at the end of the first `count`. */
  | { readonly kind: 'land'; readonly count: number }
  /** The oldest task is red on top of the branch. */
  | { readonly kind: 'send back' };

/**
 * Chooses the next step. The gates run on the end of the chain, and a red result counts if it is red twice. A red chain is
 * bisected: the newest prefix that was seen green lands, the first that was seen red goes back, the others stay. So every
 * run of steps settles the oldest task at least, and only commits land that were seen green themselves.
 *
 * `n` tasks that wait from the beginning, of which `c` go back, take at most `2⌈n/b⌉ + 2c(1 + ⌈log₂ b⌉)` runs of gates in
 * batches of `b`, as long as none conflicts with another.
 */
export function nextMergeStep({ waiting, chain, isBlocked, batch }: QueueFacts): MergeStep {
  const isUntried = chain.every((verdict) => verdict === 'unknown');
  const room = Math.min(waiting, Math.max(1, batch)) - chain.length;
  if (isUntried && !isBlocked && room > 0) return { kind: 'add' };
  if (chain.length === 0) return { kind: 'idle' };
  const end = chain.at(-1);
  if (end === 'green') return { kind: 'land', count: chain.length };
  if (end !== 'red') return { kind: 'test', count: chain.length, isAgain: end === 'red once' };
  // The tip of the branch, on which the chain stands, counts as green.
  const red = chain.indexOf('red') + 1;
  const green = chain.lastIndexOf('green', red - 1) + 1;
  if (red - green > 1) {
    const count = green + ((red - green) >> 1);
    return { kind: 'test', count, isAgain: chain[count - 1] === 'red once' };
  }
  return green > 0 ? { kind: 'land', count: green } : { kind: 'send back' };
}
