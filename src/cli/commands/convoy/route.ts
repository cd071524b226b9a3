import { resolve } from 'node:path';
import { loadConvoyPlan, type PlannedRoutes, previewRoutes } from '../../../index.ts';
import { count, formatUsd, toUsd } from '../../../units.ts';
import { type Output, printJson, right, showTable } from '../../output.ts';
import { defineCommand, inRepository } from '../../run-command.ts';

export const command = defineCommand({
  summary: 'which model would do each task of a plan, why, and for how much',
  description:
    'Show which model each task of a plan would begin with, why, and what it will probably cost, from how earlier tasks went. Nothing is started.',
  argument: { name: 'plan', required: true, description: "the plan's file" },
  options: [{ flags: '--dry-run', description: 'what it always is' }],
  examples: ['orch route auth.yaml'],
  run: inRepository(async ({ out, json, cwd }, orch, call) => {
    const file = call.argument ?? '';
    const planned = await previewRoutes(orch, loadConvoyPlan(resolve(cwd, file), file));
    if (json) return printJson(out, describeRoutes(planned));
    for (const line of showRoutes(out, planned)) out.print(line);
    return undefined;
  }),
});

function describeRoutes({ routes, history, learns }: PlannedRoutes) {
  return {
    learns,
    routes: routes.map(({ estimate, ...route }) => ({
      ...route,
      estimateUsd: estimate === null ? null : toUsd(estimate.micros),
    })),
    history: history.map(({ costs, ...known }) => ({ ...known, costsUsd: costs.map(toUsd) })),
  };
}

function showRoutes(out: Output, { routes, history, learns }: PlannedRoutes): string[] {
  if (routes.length === 0) return ['No task of this plan has a prompt.'];
  const rows = routes.map(({ task, agent, model, why, estimate }) => [
    task,
    agent,
    model ?? 'its default',
    estimate === null ? '–' : formatUsd(estimate.micros),
    why,
  ]);
  const table = showTable(out, ['TASK', 'AGENT', 'MODEL', 'ABOUT', 'WHY'], rows, [{}, {}, {}, right, {}]);
  const known = routes.filter(({ estimate }) => estimate !== null);
  const sum = known.reduce((total, { estimate }) => total + (estimate?.micros ?? 0), 0);
  const unknown = routes.length - known.length;
  const without = unknown === 0 ? '' : `, without ${count(unknown, 'task')} that nothing is known about`;
  return [
    table,
    known.length === 0
      ? 'What it will cost is unknown: no task like these has been done here yet.'
      : `About ${formatUsd(sum)} together${without}.`,
    ...showHistory(out, { history, learns }),
  ];
}

function showHistory(out: Output, { history, learns }: Pick<PlannedRoutes, 'history' | 'learns'>): string[] {
  if (history.length === 0) return [];
  const rows = history.map(({ complexity, model, begun, done, costs }) => [
    complexity ?? 'not said',
    model,
    `${done} of ${begun}`,
    costs.length === 0
      ? '–'
      : formatUsd([...costs].sort((a, b) => a - b)[Math.floor((costs.length - 1) / 2)] ?? 0),
  ]);
  const table = showTable(out, ['COMPLEXITY', 'BEGAN WITH', 'DONE WITH IT', 'MEDIAN'], rows, [
    {},
    {},
    right,
    right,
  ]);
  return [
    '',
    table,
    ...(learns
      ? []
      : [out.paint('dim', 'It does not count for the choice; with routing.learn: true, it would.')]),
  ];
}
