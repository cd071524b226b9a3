import type { Micros } from '../../types.ts';
import { count, formatUsd } from '../../units.ts';

export type Means = {
  /** What is left of the convoy's budget; null if it has none. */
  readonly left: Micros | null;
  /** For each running worker, what it may still spend. */
  readonly outstanding: readonly (Micros | null)[];
  /** What is left of the task's own budget; null if it has none. */
  readonly taskLeft: Micros | null;
  /** What tasks that are done have cost. */
  readonly finished: readonly Micros[];
};

export type Allowance =
  | { readonly kind: 'granted' /** Null: without a limit. */; readonly amount: Micros | null }
  /** `likely` is what the task will probably cost; null if its own budget is used up. */
  | { readonly kind: 'held'; readonly why: 'task' | 'convoy'; readonly likely: Likely | null };

/** What a task will probably cost, and where that comes from. */
export type Likely = {
  readonly amount: Micros;
  readonly from: { readonly kind: 'finished'; readonly tasks: number } | { readonly kind: 'cap' };
};

/**
 * Decides what a worker may spend. All allowances together never exceed what is left of the convoy's budget, and a worker
 * does not start if what is left cannot pay for a task as they have cost so far.
 */
export function decideAllowance({ left, outstanding, taskLeft, finished }: Means): Allowance {
  if (taskLeft !== null && taskLeft <= 0) return { kind: 'held', why: 'task', likely: null };
  if (left === null) return { kind: 'granted', amount: taskLeft };
  const promised = outstanding.reduce<number>((sum, amount) => sum + (amount ?? 0), 0);
  const free = left - promised;
  const likely = estimate(finished, taskLeft);
  if (free <= 0 || free < likely.amount) return { kind: 'held', why: 'convoy', likely };
  return { kind: 'granted', amount: taskLeft === null ? free : Math.min(free, taskLeft) };
}

/** The median of finished tasks; until there are any, the task's own cap, which is also the most it can be. */
function estimate(finished: readonly Micros[], cap: Micros | null): Likely {
  const sorted = [...finished].sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  if (median === undefined || (cap !== null && cap <= median))
    return { amount: cap ?? 0, from: { kind: 'cap' } };
  return { amount: median, from: { kind: 'finished', tasks: sorted.length } };
}

/** Says why a task waits for money; `left` is what no other worker was promised. */
export function describeShortage({ likely }: Extract<Allowance, { kind: 'held' }>, left: Micros): string {
  if (likely === null) return 'its own budget is used up; to continue, raise it in the plan and resume';
  const rest = `${formatUsd(Math.max(0, left))} of the convoy's budget is left for it`;
  if (likely.amount <= 0) return rest;
  const { from, amount } = likely;
  const why =
    from.kind === 'cap'
      ? 'as much as its own budget allows'
      : `as ${count(from.tasks, 'finished task')} did (median)`;
  return `${rest}, and it will probably cost ${formatUsd(amount)}, ${why}`;
}
