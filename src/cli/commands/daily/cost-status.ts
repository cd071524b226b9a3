import { type CostStatus, readCost, readTaskCosts, type TaskCost } from '../../../index.ts';
import type { EpicId, Millis } from '../../../types.ts';
import { count } from '../../../units.ts';
import { chooseEpic, epicOption } from '../../choose.ts';
import { flatten, type Output, showFacts } from '../../output.ts';
import { answer, defineCommand, inRepository } from '../../run-command.ts';
import { readText } from '../../spec.ts';
import { formatDollars, formatModel, paintMoney, showMoney } from '../../views/money-view.ts';
import { formatAcceptCommand, showRaised } from '../../views/recorded-view.ts';

export const command = defineCommand({
  summary: 'what an epic has cost, and how long its budget lasts',
  description: 'Show what an epic has cost, how fast it spends, and how long the budget will last.',
  options: [epicOption()],
  examples: ['orch cost', 'orch cost status -e feat-login --json'],
  run: inRepository(async (context, orch, call) => {
    const epic = await chooseEpic(context, orch, readText(call, 'epic'), false);
    const found = await readCost(epic, orch);
    const { out, json } = context;
    const byTask = await readTaskCosts(epic, orch);
    const document = byTask === null ? found : { ...found, byTask };
    answer(context, document, () => show(out, epic, found, byTask ?? [], orch.clock.now()));
    if (found.raised && !json)
      out.inform(`${showRaised(found.raised)} To apply it: ${formatAcceptCommand(found.raised)}`);
  }),
});

/** `11 h`, `3 days`: how long from now. */
function formatTimeLeft(until: string, now: Millis): string {
  const hours = (Date.parse(until) - now) / 3_600_000;
  if (hours < 1) return count(Math.max(1, Math.round(hours * 60)), 'minute');
  return hours < 48 ? `${Math.round(hours)} h` : `${Math.round(hours / 24)} days`;
}

function show(
  out: Output,
  epic: EpicId,
  status: CostStatus,
  byTask: readonly TaskCost[],
  now: Millis,
): string {
  const { budget, bySession, byModel, burnPerHourUsd, lastsUntil, unpriced } = status;
  const rate = burnPerHourUsd === null ? 'unknown yet' : `${formatDollars(burnPerHourUsd)} per hour`;
  const lasts =
    lastsUntil &&
    `${formatTimeLeft(lastsUntil, now)}, until ${lastsUntil.slice(0, 16).replace('T', ' ')} UTC`;
  const sessions = bySession.slice(0, 5).map(({ number, sessionId, costUsd }) => {
    return `${number === null ? sessionId : `s${number}`} ${formatDollars(costUsd)}`;
  });
  const earlier = bySession.slice(5);
  if (earlier.length > 0) {
    const sum = earlier.reduce((total, { costUsd }) => total + costUsd, 0);
    sessions.push(`${earlier.length} earlier ${formatDollars(sum)}`);
  }
  const list = (texts: readonly string[]) => texts.join(' · ') || null;
  const spent = showMoney(budget);
  const facts: [name: string, value: string | null][] = [
    ['spent', spent],
    ['estimated', budget.estimatedUsd === undefined ? null : explainEstimate(budget.estimatedUsd, unpriced)],
    ['rate', rate],
    ['lasts', lasts],
    ['sessions', list(sessions)],
    ['tasks', list(listTasks(byTask))],
    ['models', list(byModel.map(showModel))],
    ['unpriced', list(unpriced.map(showUnpriced))],
  ];
  const paintValue = (value: string) => (value === spent ? paintMoney(out, budget, value) : value);
  return `${out.paint('bold', epic)}\n${showFacts(out, facts, paintValue)}`;
}

/** `login $0.84 · schema $0.41 · $0.30 of it in rejected attempts` */
function listTasks(tasks: readonly TaskCost[]): string[] {
  const shown = tasks.filter(({ costUsd }) => costUsd > 0).slice(0, 5);
  const rejected = tasks.reduce((sum, { rejectedUsd }) => sum + rejectedUsd, 0);
  const lost = rejected > 0 ? [`${formatDollars(rejected)} of it in rejected attempts`] : [];
  return [...shown.map(({ id, costUsd }) => `${flatten(id)} ${formatDollars(costUsd)}`), ...lost];
}

function explainEstimate(estimatedUsd: number, unpriced: CostStatus['unpriced']): string {
  const guessed = unpriced.reduce((sum, { guessUsd }) => sum + guessUsd, 0);
  const own = estimatedUsd - guessed;
  return [
    ...(own >= 0.005 || guessed === 0 ? [`${formatDollars(own)} of it is the agent's own figure`] : []),
    ...(guessed > 0
      ? [`${formatDollars(guessed)} of it is a guess: the highest price of the model's family`]
      : []),
  ].join(', ');
}

/** `claude-opus-6 1200 tokens` */
function showUnpriced({ model, tokens }: CostStatus['unpriced'][number]): string {
  return `${flatten(model)} ${count(tokens, 'token')}`;
}

/** `claude-opus-5 $3.02`, `mine ~$1.20` */
function showModel({ model, costUsd, estimatedUsd }: CostStatus['byModel'][number]): string {
  return `${formatModel(model)} ${estimatedUsd === undefined ? '' : '~'}${formatDollars(costUsd)}`;
}
