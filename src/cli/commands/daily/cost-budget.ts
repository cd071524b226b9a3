import { rememberEpic, setBudgetIn } from '../../../index.ts';
import { choosePlace, epicOption } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { defineCommand, inRepository } from '../../run-command.ts';
import { readText } from '../../spec.ts';
import { showMoney } from '../../views/money-view.ts';
import { showRecorded } from '../../views/recorded-view.ts';

export const command = defineCommand({
  summary: "set an epic's budget",
  description: "Set an epic's budget. An agent cannot raise its own.",
  argument: {
    name: 'amount',
    required: true,
    description: '20 in total, +20 on top of what is spent, none for no limit',
  },
  options: [epicOption()],
  examples: ['orch cost budget 20', 'orch cost budget +10 -e feat-login', 'orch cost budget none'],
  run: inRepository(async (context, orch, call) => {
    await approveConfig(context, orch);
    const place = await choosePlace(context, orch, readText(call, 'epic'));
    const recorded = await setBudgetIn(orch, place, call.argument ?? '', context.settings.byAgent);
    await rememberEpic(orch, place.epic);
    return showRecorded(context, recorded, `budget of ${place.epic}: ${showMoney(recorded.budget)}`);
  }),
});
