import type { Budget } from '../cost/budget.ts';
import { columnsOf } from '../text.ts';
import type { EpicId, GateColour, Micros, Millis } from '../types.ts';
import { formatAge, formatUsd } from '../units.ts';
import { showAmounts, showBar } from './session-view.ts';

export type StatusLine = {
  readonly epic: EpicId;
  /** Of the session; null where nothing has happened in it yet. */
  readonly number: number | null;
  /** What the session has cost. */
  readonly session: Micros;
  readonly budget: Budget;
  readonly gates: GateColour;
  /** How full the agent's context window is, 0 to 100; null where that is unknown. */
  readonly percent: number | null;
  /** How long ago the last checkpoint was made; null where there is none. */
  readonly age: Millis | null;
};

/**
 * `feat-login s7 · session $0.96 · $4.10/$20.00 ██░░░░░ 20% · gates red · context 83 % · saved 2m ago`; what matters
 * least is left out where it does not fit: the bar, then the age of a checkpoint that is there.
 */
export function showStatusLine(line: StatusLine, columns: number): string {
  const { epic, number, session, budget, gates, percent, age } = line;
  const used = budget.percent === null ? '' : ` ${Math.floor(budget.percent)}%`;
  const bar = showBar(budget.percent);
  const isAll = Math.round(budget.spentUsd * 100) === Math.round(session / 10_000);
  const saved =
    age === null ? 'nothing saved' : `saved ${formatAge(age)}${formatAge(age) === 'now' ? '' : ' ago'}`;
  const show = (shownBar: string, last: string) =>
    [
      number === null ? epic : `${epic} s${number}`,
      // In the first session, and in one that cost nothing yet, the epic's money says it all.
      isAll || session === 0 ? '' : `session ${formatUsd(session)}`,
      `${showAmounts(budget)}${shownBar && ` ${shownBar}`}${used}`,
      gates === 'unknown' ? '' : `gates ${gates}`,
      percent === null ? '' : `context ${Math.floor(percent)} %`,
      last,
    ]
      .filter((part) => part !== '')
      .join(' · ');
  const shorter = [show(bar, saved), show('', saved), ...(age === null ? [] : [show('', '')])];
  return shorter.find((text) => columnsOf(text) <= columns) ?? shorter.at(-1) ?? '';
}
