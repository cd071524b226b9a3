import type { Micros } from '../../types.ts';

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
  | { readonly kind: 'held'; readonly why: 'task' | 'convoy'; readonly needs: Micros | null };

/**
 * Decides what a worker may spend. All allowances together never exceed what is left of the convoy's budget, and a worker
 * does not start if what is left cannot pay for a task as they have cost so far.
 */
export function decideAllowance({ left, outstanding, taskLeft, finished }: Means): Allowance {
  if (taskLeft !== null && taskLeft <= 0) return { kind: 'held', why: 'task', needs: null };
  if (left === null) return { kind: 'granted', amount: taskLeft };
  const promised = outstanding.reduce<number>((sum, amount) => sum + (amount ?? 0), 0);
  const free = left - promised;
  const likely = median(finished) ?? taskLeft ?? 0;
  if (free <= 0 || free < Math.min(likely, taskLeft ?? likely))
    return { kind: 'held', why: 'convoy', needs: likely };
  return { kind: 'granted', amount: taskLeft === null ? free : Math.min(free, taskLeft) };
}

function median(amounts: readonly Micros[]): Micros | null {
  const sorted = [...amounts].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}
