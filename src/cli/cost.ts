import { findRaised } from '../checkpoint/held-budgets.ts';
import { parseSince } from '../cost/since.ts';
import { listUnpriced } from '../cost/unpriced.ts';
import { OrchError } from '../errors.ts';
import { dayOf, describeReport } from '../library/reading.ts';
import { isRaise, setBudget } from '../session/budget.ts';
import { readView } from '../session/context.ts';
import { recordIn } from '../session/here.ts';
import { askToRaise } from '../session/raise.ts';
import { readCostReport, readCostStatus } from '../session/spending.ts';
import { describeMoney } from '../session/status.ts';
import { budgetOf } from '../state/current.ts';
import { foldAll } from '../state/fold.ts';
import { choosePlace, epicOption, rememberEpic, viewEpic } from './choose.ts';
import { settleConfig } from './config-trust.ts';
import { showCost, showReport } from './cost-view.ts';
import { showOutcome } from './outcome.ts';
import { runCommands } from './run.ts';
import { showMoney } from './session-view.ts';
import { type CommandSpec, type GroupSpec, textOf } from './spec.ts';
import { budgetCommand, describeRaised } from './sync-view.ts';

const status: CommandSpec = {
  name: 'status',
  description: 'Show what an epic has cost, how fast money goes, and how long the budget lasts.',
  options: [epicOption()],
  examples: ['orch cost', 'orch cost status -e feat-login --json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const view = await viewEpic(context, orch, textOf(call, 'epic'));
      const budget = describeMoney(view.state);
      const found = await readCostStatus(orch, view);
      const { out, json } = context;
      if (json) out.print(JSON.stringify({ budget, ...found }));
      else {
        // A wrong config is told of by what cannot do without it.
        const prices = await orch.readConfig().then(
          (config) => config.prices,
          () => ({}),
        );
        const unpriced = listUnpriced(view.state.ledger, prices);
        out.print(showCost(out, view.epic, budget, { ...found, unpriced }, orch.clock.now()));
        const raised = findRaised(orch.home, view.epic, foldAll(view.tip.state, view.pending));
        if (raised) out.tell(`${describeRaised(raised)} To apply it: ${budgetCommand(raised)}`);
      }
      return 0;
    }),
};

const report: CommandSpec = {
  name: 'report',
  description: 'Show where the money went, from the whole history.',
  options: [
    epicOption(),
    { flags: '--by <what>', description: 'day, session or model', initial: 'day' },
    { flags: '--since <time>', description: 'fri, yesterday, 2h, 3d, 2026-11-16' },
  ],
  examples: ['orch cost report', 'orch cost report --by session --since fri'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const by = textOf(call, 'by') ?? 'day';
      if (by !== 'day' && by !== 'session' && by !== 'model')
        throw new OrchError('USAGE', `--by can be day, session or model, not ${JSON.stringify(by)}`, {
          hint: 'Try --by day',
        });
      const given = textOf(call, 'since');
      const since = given === undefined ? null : parseSince(given, orch.clock.now());
      const view = await viewEpic(context, orch, textOf(call, 'epic'));
      const found = await readCostReport(orch, view, since, dayOf);
      const budget = describeMoney(view.state);
      const { out, json } = context;
      if (json) {
        out.print(JSON.stringify({ epicId: view.epic, ...describeReport(found), budget }));
      } else {
        const { burnPerHourUsd } = await readCostStatus(orch, view);
        out.print(showReport(out, found, by, budget, burnPerHourUsd));
      }
      return 0;
    }),
};

const budget: CommandSpec = {
  name: 'budget',
  description: "Set an epic's budget. An agent cannot raise its own.",
  argument: {
    name: 'amount',
    required: true,
    description: '20 in all, +20 more than is spent now, none lifts it',
  },
  options: [epicOption()],
  examples: ['orch cost budget 20', 'orch cost budget +10 -e feat-login', 'orch cost budget none'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      await settleConfig(context, orch);
      const place = await choosePlace(context, orch, textOf(call, 'epic'));
      const { state } = await readView(orch, place.epic);
      const caller = { byAgent: context.settings.byAgent, home: orch.home };
      const typed = call.argument ?? '';
      const fact = setBudget(place.epic, state, typed, caller);
      if (isRaise(budgetOf(state), fact.limit)) await askToRaise(orch, place.epic, fact.limit, typed);
      const outcome = await recordIn(orch, place, [fact]);
      await rememberEpic(orch, place.epic);
      const said = `budget of ${place.epic}: ${showMoney(describeMoney(outcome.state))}`;
      return showOutcome(context, place.epic, outcome, said);
    }),
};

const importSpec: CommandSpec = {
  name: 'import',
  description:
    "Count what agents' transcripts, or files of codex exec --json, say was used; each message once.",
  argument: { name: 'files', required: true, several: true, description: 'transcripts or event files' },
  options: [epicOption()],
  examples: [
    'orch cost import session.jsonl',
    'orch cost import ~/.claude/projects/-repo/*.jsonl -e feat-login',
  ],
  run: (context, call) =>
    context.withOrch(async (orch) => (await import('./cost-import.ts')).runImport(context, orch, call)),
};

export const costGroup: GroupSpec = {
  name: 'cost',
  summary: 'what an epic costs, and its budget',
  description: 'What an epic costs, where the money went, and its budget.',
  commands: [status, report, budget, importSpec],
  initial: 'status',
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [costGroup]);
}
