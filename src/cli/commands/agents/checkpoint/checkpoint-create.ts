import { createCheckpoint, refuseWithoutCode } from '../../../../index.ts';
import { choosePlace, epicOption } from '../../../choose.ts';
import { printJson } from '../../../output.ts';
import { defineCommand } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { showNotSaved, showTitle } from '../../../views/checkpoint-view.ts';

export const command = defineCommand({
  description: 'Save a checkpoint. Your branch, index and files do not change.',
  options: [
    epicOption('the epic; created if new'),
    { flags: '-r, --reason <text>', description: 'why; becomes the summary' },
  ],
  examples: ['orch checkpoint create --epic feat-login --reason "Login form done"'],
  run: async (context, call) => {
    const { out, json } = context;
    const made = await context.withOrch(async (orch) => {
      const place = await choosePlace(context, orch, readText(call, 'epic'));
      return createCheckpoint(orch, place, readText(call, 'reason') ?? null);
    });
    const { checkpoint, leftOut } = made;
    if (!json) {
      out.print(showTitle(out, checkpoint, '◆ '));
      if (checkpoint.snapshot) for (const line of showNotSaved(out, checkpoint)) out.inform(`  ${line}`);
    }
    refuseWithoutCode(made);
    if (json) printJson(out, { checkpoint, leftOut });
  },
});
