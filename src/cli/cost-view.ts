import type { Budget } from '../cost/budget.ts';
import { byHand } from '../cost/ledger.ts';
import { guessOf } from '../cost/money.ts';
import type { CostReport } from '../cost/report.ts';
import type { UnpricedModel } from '../cost/unpriced.ts';
import type { CostStatus } from '../session/spending.ts';
import type { EpicId, Micros, Millis } from '../types.ts';
import { count, toUsd } from '../units.ts';
import { flatten, formatTable, type Output } from './output.ts';
import { budgetColour, showMoney } from './session-view.ts';

const usd = (amount: number) => `$${amount.toFixed(2)}`;

/** `11 h`, `3 days`: how long from now. */
function howLong(until: string, now: Millis): string {
  const hours = (Date.parse(until) - now) / 3_600_000;
  if (hours < 1) return count(Math.max(1, Math.round(hours * 60)), 'minute');
  return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}

/** What an epic has cost, in a few lines. */
export function showCost(
  out: Output,
  epic: EpicId,
  budget: Budget,
  status: CostStatus & { readonly unpriced: readonly UnpricedModel[] },
  now: Millis,
): string {
  const { bySession, byModel, burnPerHourUsd, lastsUntil, unpriced } = status;
  const rate = burnPerHourUsd === null ? 'unknown yet' : `${usd(burnPerHourUsd)} an hour`;
  const lasts =
    lastsUntil && `${howLong(lastsUntil, now)}, until ${lastsUntil.slice(0, 16).replace('T', ' ')} UTC`;
  const sessions = bySession.slice(0, 5).map(({ number, sessionId, costUsd }) => {
    return `${number === null ? sessionId : `s${number}`} ${usd(costUsd)}`;
  });
  const earlier = bySession.slice(5);
  if (earlier.length > 0) {
    const sum = earlier.reduce((total, { costUsd }) => total + costUsd, 0);
    sessions.push(`${earlier.length} earlier ${usd(sum)}`);
  }
  const rows = [
    ['spent', showMoney(budget)],
    ...(budget.estimatedUsd === undefined
      ? []
      : [['estimated', explainEstimate(budget.estimatedUsd, unpriced)]]),
    ['rate', rate],
    ...(lasts ? [['lasts', lasts]] : []),
    ...(sessions.length > 0 ? [['sessions', sessions.join(' · ')]] : []),
    ...(byModel.length > 0 ? [['models', byModel.map(showModel).join(' · ')]] : []),
    ...(unpriced.length > 0 ? [['unpriced', unpriced.map(showUnpriced).join(' · ')]] : []),
  ];
  const paintValue = (text: string) =>
    /^~?\$/.test(text) && budget.level !== 'none' && budget.level !== 'ok' && text.includes('/')
      ? out.paint(budgetColour(budget), text)
      : text;
  const columns = [{ paint: (text: string) => out.paint('dim', text) }, { paint: paintValue }];
  return `${out.paint('bold', epic)}\n${formatTable(rows, columns, out.columns)}`;
}

function explainEstimate(estimatedUsd: number, unpriced: readonly UnpricedModel[]): string {
  const guessed = toUsd(unpriced.reduce((sum, { guess }) => sum + guess, 0));
  const own = estimatedUsd - guessed;
  return [
    ...(own >= 0.005 || guessed === 0 ? [`${usd(own)} of it is the agent's own figure`] : []),
    ...(guessed > 0 ? [`${usd(guessed)} of it is guessed: the highest price of the family`] : []),
  ].join(', ');
}

/** `claude-opus-6 1200 tokens`: what has no price. */
function showUnpriced({ model, tokens }: UnpricedModel): string {
  return `${flatten(model)} ${count(tokens, 'token')}`;
}

/** `claude-opus-5 $3.02`, `mine ~$1.20` */
function showModel({ model, costUsd, estimatedUsd }: CostStatus['byModel'][number]): string {
  return `${nameModel(model)} ${estimatedUsd === undefined ? '' : '~'}${usd(costUsd)}`;
}

/** What was recorded without a model. */
function nameModel(model: string): string {
  return model === byHand ? 'by hand' : flatten(model);
}

type Row = { readonly name: string; readonly micros: Micros };

const barWidth = 24;

/** A line each with a bar, and their sum. */
export function showReport(
  out: Output,
  report: CostReport,
  by: 'day' | 'session' | 'model',
  budget: Budget,
  burnPerHourUsd: number | null,
): string {
  const rows: Row[] =
    by === 'day'
      ? report.byDay.map(({ day, micros }) => ({ name: nameDay(day), micros }))
      : by === 'session'
        ? report.bySession.map(({ sessionId, sessionNumber, micros }) => {
            return { name: sessionNumber === null ? sessionId : `s${sessionNumber}`, micros };
          })
        : report.byModel.map(({ model, micros }) => ({ name: nameModel(model), micros }));
  const most = Math.max(1, ...rows.map(({ micros }) => micros));
  const cells = rows.map(({ name, micros }) => [
    name,
    toUsd(micros).toFixed(2),
    '█'.repeat(Math.round((micros / most) * barWidth)),
  ]);
  const sum = ['', `= ${toUsd(report.total).toFixed(2)}`, describeRest(budget, burnPerHourUsd)];
  const columns = [{}, { align: 'right' as const }, {}];
  const table = formatTable([[by.toUpperCase(), 'USD', ''], ...cells, sum], columns, out.columns);
  const [head = '', ...lines] = table.split('\n');
  const models = report.byModel
    .map(({ model, micros }) => `${nameModel(model)} ${toUsd(micros).toFixed(2)}`)
    .join(' · ');
  const below = [...(by === 'model' || models === '' ? [] : [models]), ...listEstimated(report)];
  return [out.paint('dim', head), ...lines, ...below.map((line) => out.paint('dim', line))].join('\n');
}

/** `estimated, by the agent itself: mine 1.20`: where an amount is not tokens at a price, or was put right. */
function listEstimated({ byModel }: CostReport): string[] {
  const estimated = byModel.flatMap(({ model, usage }) =>
    usage.estimated ? [`${nameModel(model)} ${toUsd(usage.estimated).toFixed(2)}`] : [],
  );
  const corrected = byModel.reduce((sum, { usage }) => sum + (usage.corrected ?? 0), 0);
  const guessed = byModel.flatMap(({ model, usage }) =>
    guessOf(usage) > 0 ? [`${nameModel(model)} ${toUsd(guessOf(usage)).toFixed(2)}`] : [],
  );
  return [
    ...(estimated.length === 0 ? [] : [`estimated, by the agent itself: ${estimated.join(' · ')}`]),
    ...(corrected === 0 ? [] : [`corrected, recorded by hand before: ${toUsd(corrected).toFixed(2)}`]),
    ...(guessed.length === 0 ? [] : [`guessed, no price is known: ${guessed.join(' · ')}`]),
  ];
}

function describeRest({ limitUsd, remainingUsd }: Budget, burnPerHourUsd: number | null): string {
  if (limitUsd === null || remainingUsd === null) return 'no budget';
  const rest = `of ${limitUsd.toFixed(2)}`;
  if (burnPerHourUsd === null || burnPerHourUsd <= 0 || remainingUsd === 0) return rest;
  return `${rest}; at ${usd(burnPerHourUsd)}/h lasts ${(remainingUsd / burnPerHourUsd).toFixed(1)} h`;
}

/** `Mon 2026-11-16`; what is no day stays as it is. */
function nameDay(day: string): string {
  const date = new Date(`${day}T12:00:00`);
  if (Number.isNaN(date.getTime())) return day;
  return `${['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][date.getDay()]} ${day}`;
}
