import type { Micros } from '../../types.ts';
import { toMicros } from '../../units.ts';
import type { TaskFacts, Try } from './report-facts.ts';

/* What each attempt of a task cost. */

export type AttemptMoney = {
  /** Null for what the task had cost before the attempts that are known one by one. */
  readonly made: Try | null;
  readonly cost: Micros;
};

/**
 * Splits what a task cost among its attempts: each begins with what those before it cost, so they always add up to the
 * whole.
 */
export function splitCost({ task, tries }: Pick<TaskFacts, 'task' | 'tries'>): AttemptMoney[] {
  const total = toMicros(task.costUsd);
  // Only a damaged record would count backwards.
  const begins: Micros[] = [];
  for (const { before } of tries) begins.push(Math.min(total, Math.max(begins.at(-1) ?? 0, before)));
  const earlier = begins[0] ?? total;
  const known = tries.map((made, index): AttemptMoney => {
    return { made, cost: (begins[index + 1] ?? total) - (begins[index] ?? 0) };
  });
  return earlier > 0 ? [{ made: null, cost: earlier }, ...known] : known;
}
