import type { Budget } from '../cost/budget.ts';
import type { ContextWindow } from '../cost/context.ts';
import { columnsOf } from '../text.ts';
import type { EpicId, Millis } from '../types.ts';
import { formatAge } from '../units.ts';
import { showAmounts, showBar, showTier } from './session-view.ts';

export type StatusLine = {
  readonly epic: EpicId;
  /** Of the session; null where nothing has happened in it yet. */
  readonly number: number | null;
  readonly budget: Budget;
  readonly context: ContextWindow | null;
  /** How long ago the last checkpoint was made; null where there is none. */
  readonly age: Millis | null;
};

/** `feat-login s7 · $4.10/$20.00 ██░░░░░ 20% · WARNING 75% · saved 2m ago`; the bar only where it fits. */
export function showStatusLine({ epic, number, budget, context, age }: StatusLine, columns: number): string {
  const percent = budget.percent === null ? '' : ` ${Math.floor(budget.percent)}%`;
  const money = (bar: string) => `${showAmounts(budget)}${bar && ` ${bar}`}${percent}`;
  const line = (bar: string) =>
    [
      number === null ? epic : `${epic} s${number}`,
      money(bar),
      ...(context === null ? [] : [showTier(context)]),
      age === null ? 'nothing saved' : `saved ${formatAge(age)}${formatAge(age) === 'now' ? '' : ' ago'}`,
    ].join(' · ');
  const whole = line(showBar(budget.percent));
  return columnsOf(whole) <= columns ? whole : line('');
}
