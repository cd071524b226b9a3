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
  /** What the task has cost so far. */
  readonly spent: Micros;
  /** What is left of the budgets of other tasks whose workers wait for an allowance too; null for a task without one. */
  readonly waiting: readonly (Micros | null)[];
};

export type Allowance =
  | { readonly kind: 'granted' /** Null: without a limit. */; readonly amount: Micros | null }
  /** `likely` is what the task will probably cost; null if its own budget is used up. */
  | { readonly kind: 'held'; readonly why: 'task' | 'convoy'; readonly likely: Likely | null };

/** What a task will probably cost, and where that comes from. */
export type Likely = {
  readonly amount: Micros;
  readonly from: { readonly kind: 'finished'; readonly tasks: number } | { readonly kind: 'cap' | 'spent' };
};

/**
 * Decides what a worker may spend. All allowances together never exceed what is left of the convoy's budget, and a worker
 * does not start if what is left cannot pay for a task as they have cost so far. Workers that wait together share what is
 * left, as far as their tasks have no budgets of their own: the first one would otherwise have all of it.
 */
export function decideAllowance({ left, outstanding, taskLeft, finished, spent, waiting }: Means): Allowance {
  if (taskLeft !== null && taskLeft <= 0) return { kind: 'held', why: 'task', likely: null };
  if (left === null) return { kind: 'granted', amount: taskLeft };
  const promised = outstanding.reduce<number>((sum, amount) => sum + (amount ?? 0), 0);
  const free = left - promised;
  const likely = spent > 0 ? estimateRest(finished, taskLeft, spent) : estimate(finished, taskLeft);
  if (free <= 0 || free < likely.amount) return { kind: 'held', why: 'convoy', likely };
  const share = Math.max(shareOf(free, waiting), likely.amount);
  return { kind: 'granted', amount: Math.min(free, taskLeft ?? share) };
}

/** An equal share of an amount, of which others take no more than their own budgets allow. */
function shareOf(amount: Micros, others: readonly (Micros | null)[]): Micros {
  let [rest, sharing] = [amount, others.length + 1];
  const caps = others.filter((cap) => cap !== null).sort((a, b) => a - b);
  for (const cap of caps) {
    if (cap > rest / sharing) break;
    rest -= Math.max(0, cap);
    sharing -= 1;
  }
  return Math.ceil(rest / sharing);
}

/** A task that continues needs less than a new one, but so much that it is worth another start of its agent. */
function estimateRest(finished: readonly Micros[], cap: Micros | null, spent: Micros): Likely {
  const rest = Math.max(Math.ceil(spent / 10), (findMedian(finished) ?? 0) - spent);
  return { amount: Math.min(rest, cap ?? rest), from: { kind: 'spent' } };
}

function findMedian(amounts: readonly Micros[]): Micros | undefined {
  const sorted = [...amounts].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)];
}

/** The median of finished tasks; until there are any, the task's own cap, which is also the most it can be. */
function estimate(finished: readonly Micros[], cap: Micros | null): Likely {
  const median = findMedian(finished);
  if (median === undefined || (cap !== null && cap <= median))
    return { amount: cap ?? 0, from: { kind: 'cap' } };
  return { amount: median, from: { kind: 'finished', tasks: finished.length } };
}

/** Says why a task waits for money; `left` is what no other worker was promised. */
export function describeShortage({ likely }: Extract<Allowance, { kind: 'held' }>, left: Micros): string {
  if (likely === null) return 'its own budget is used up; raise it in the plan, then resume the convoy';
  const rest = `${formatUsd(Math.max(0, left))} of the convoy's budget is left for it`;
  if (likely.amount <= 0) return rest;
  const { from, amount } = likely;
  switch (from.kind) {
    case 'cap':
      return `${rest}, and it will probably cost ${formatUsd(amount)}, as much as its own budget allows`;
    case 'spent':
      return `${rest}, and it will probably cost ${formatUsd(amount)} more`;
    case 'finished': {
      const why = `as ${count(from.tasks, 'finished task')} did (median)`;
      return `${rest}, and it will probably cost ${formatUsd(amount)}, ${why}`;
    }
  }
}
