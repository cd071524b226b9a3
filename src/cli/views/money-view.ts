import { type Budget, byHand } from '../../index.ts';
import { type Colour, flatten, type Output } from '../output.ts';

/** `██░░░░░`: how much is spent, rounded down so that it is full only at 100%. */
export function showBar(percent: number | null, width = 7): string {
  if (percent === null) return '';
  const full = Math.min(width, Math.floor((percent / 100) * width));
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/** `$4.10` */
export function formatDollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

/** `$4.10/$20.00`, `$0.80`; `~$4.10` if part of it is only an agent's own figure. */
export function showAmounts({ spentUsd, estimatedUsd, limitUsd }: Budget): string {
  const spent = `${estimatedUsd === undefined ? '' : '~'}${formatDollars(spentUsd)}`;
  return limitUsd === null ? spent : `${spent}/${formatDollars(limitUsd)}`;
}

/** `$4.10/$20.00 ██░░░░░  21%`, `$0.80 no limit` */
export function showMoney(budget: Budget): string {
  const { percent } = budget;
  if (percent === null) return `${showAmounts(budget)}  no limit`;
  return `${showAmounts(budget)}  ${showBar(percent)} ${`${Math.floor(percent)}%`.padStart(4)}`;
}

/** Paints money yellow near the budget and red beyond it. */
export function paintMoney({ paint }: Output, { level }: Budget, text: string): string {
  const colours: { readonly [L in Budget['level']]: Colour | null } = {
    none: null,
    ok: null,
    warning: 'yellow',
    exceeded: 'red',
  };
  const colour = colours[level];
  return colour === null ? text : paint(colour, text);
}

/** Formats a model's name; costs without a model were recorded by hand. */
export function formatModel(model: string): string {
  return model === byHand ? 'by hand' : flatten(model);
}

/** `▲ 80% of the budget is spent: $4.00 of $5.00` */
export function showBudgetWarning(
  { paint }: Output,
  { spentUsd, limitUsd }: { readonly spentUsd: number; readonly limitUsd: number },
): string {
  const percent = Math.floor((spentUsd / limitUsd) * 100);
  const amounts = `${formatDollars(spentUsd)} of ${formatDollars(limitUsd)}`;
  return paint('yellow', `▲ ${percent}% of the budget is spent: ${amounts}`);
}
