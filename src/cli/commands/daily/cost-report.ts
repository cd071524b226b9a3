import { OrchError } from '../../../errors.ts';
import { type CostReport, readCostReport, readTaskCosts, type TaskCost } from '../../../index.ts';
import { chooseEpic, epicOption } from '../../choose.ts';
import { type Output, right, showTable } from '../../output.ts';
import { answer, defineCommand, inRepository } from '../../run-command.ts';
import { readText } from '../../spec.ts';
import { formatDollars, formatModel } from '../../views/money-view.ts';

type By = 'day' | 'session' | 'model' | 'task';

export const command = defineCommand({
  summary: 'where the money went, by day, session or model',
  description: 'Show where the money went, over the whole history.',
  options: [
    epicOption(),
    { flags: '--by <what>', description: 'day, session, model or, of a convoy, task', initial: 'day' },
    { flags: '--since <time>', description: 'fri, yesterday, 2h, 3d, 2026-11-16' },
  ],
  examples: ['orch cost report', 'orch cost report --by session --since fri'],
  run: inRepository(async (context, orch, call) => {
    const by = parseBy(readText(call, 'by') ?? 'day');
    const since = readText(call, 'since');
    const epic = await chooseEpic(context, orch, readText(call, 'epic'), false);
    const report = await readCostReport(epic, since === undefined ? {} : { since }, orch);
    const byTask = await readTaskCosts(epic, orch);
    if (by === 'task' && byTask === null)
      throw new OrchError('USAGE', `${epic} is no convoy, so nothing is known by task`, {
        hint: 'Try --by session',
      });
    const document = byTask === null ? report : { ...report, byTask };
    answer(context, document, () =>
      by === 'task' ? showTasks(context.out, report, byTask ?? []) : show(context.out, report, by),
    );
  }),
});

function parseBy(text: string): By {
  if (text === 'day' || text === 'session' || text === 'model' || text === 'task') return text;
  throw new OrchError('USAGE', `--by can be day, session, model or task, not ${JSON.stringify(text)}`, {
    hint: 'Try --by day',
  });
}

const barWidth = 24;

/** One row with a bar for each day, session or model, and their sum. */
function show(out: Output, report: CostReport, by: Exclude<By, 'task'>): string {
  const rows: { readonly name: string; readonly costUsd: number }[] =
    by === 'day'
      ? report.byDay.map(({ day, costUsd }) => ({ name: formatDay(day), costUsd }))
      : by === 'session'
        ? report.bySession.map(({ sessionId, number, costUsd }) => {
            return { name: number === null ? sessionId : `s${number}`, costUsd };
          })
        : report.byModel.map(({ model, costUsd }) => ({ name: formatModel(model), costUsd }));
  const most = Math.max(0.000_001, ...rows.map(({ costUsd }) => costUsd));
  const cells = rows.map(({ name, costUsd }) => [
    name,
    costUsd.toFixed(2),
    '█'.repeat(Math.round((costUsd / most) * barWidth)),
  ]);
  const sum = ['', `= ${report.totalUsd.toFixed(2)}`, describeRest(report)];
  const columns = [{}, right, {}];
  const table = showTable(out, [by.toUpperCase(), 'USD', ''], [...cells, sum], columns);
  const models = report.byModel
    .map(({ model, costUsd }) => `${formatModel(model)} ${costUsd.toFixed(2)}`)
    .join(' · ');
  const below = [...(by === 'model' || models === '' ? [] : [models]), ...listEstimated(report)];
  return [table, ...below.map((line) => out.paint('dim', line))].join('\n');
}

/** One row for each task, with what was spent on attempts that were not accepted. */
function showTasks(out: Output, report: CostReport, tasks: readonly TaskCost[]): string {
  const rows = tasks.map(({ id, status, attempts, costUsd, rejectedUsd }) => [
    id,
    costUsd.toFixed(2),
    rejectedUsd > 0 ? rejectedUsd.toFixed(2) : '',
    String(attempts),
    status.replace('_', ' '),
  ]);
  const sum = ['', `= ${report.totalUsd.toFixed(2)}`, '', '', describeRest(report)];
  return showTable(
    out,
    ['TASK', 'USD', 'NOT ACCEPTED', 'ATTEMPTS', ''],
    [...rows, sum],
    [{}, right, right, right, {}],
  );
}

/** Lists the amounts that are not tokens at a known price: `estimated by the agent: mine 1.20`. */
function listEstimated({ byModel }: CostReport): string[] {
  const amounts = (amountOf: (row: CostReport['byModel'][number]) => number) =>
    byModel.flatMap((row) =>
      amountOf(row) > 0 ? [`${formatModel(row.model)} ${amountOf(row).toFixed(2)}`] : [],
    );
  const estimated = amounts(({ estimatedUsd = 0, guessedUsd = 0 }) => estimatedUsd - guessedUsd);
  const guessed = amounts(({ guessedUsd = 0 }) => guessedUsd);
  const corrected = byModel.reduce((sum, { correctedUsd = 0 }) => sum + correctedUsd, 0);
  return [
    ...(estimated.length === 0 ? [] : [`estimated by the agent: ${estimated.join(' · ')}`]),
    ...(corrected === 0 ? [] : [`corrected by hand: ${corrected.toFixed(2)}`]),
    ...(guessed.length === 0 ? [] : [`guessed, because no price is known: ${guessed.join(' · ')}`]),
  ];
}

function describeRest({ budget, burnPerHourUsd }: CostReport): string {
  const { limitUsd, remainingUsd } = budget;
  if (limitUsd === null || remainingUsd === null) return 'no budget';
  const rest = `of ${limitUsd.toFixed(2)}`;
  if (burnPerHourUsd === null || burnPerHourUsd <= 0 || remainingUsd === 0) return rest;
  return `${rest}; at ${formatDollars(burnPerHourUsd)}/h lasts ${(remainingUsd / burnPerHourUsd).toFixed(1)} h`;
}

/** `Mon 2026-11-16`; other texts are returned unchanged. */
function formatDay(day: string): string {
  const date = new Date(`${day}T12:00:00`);
  if (Number.isNaN(date.getTime())) return day;
  return `${['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][date.getDay()]} ${day}`;
}
