import { findLostCode, readCheckpoint } from '../../../../index.ts';
import { chooseEpicOf, epicOption } from '../../../choose.ts';
import { answer, defineCommand, inRepository } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { showCheckpoint } from '../../../views/checkpoint-view.ts';

export const command = defineCommand({
  description: 'Show a checkpoint, with the notes and decisions recorded by then.',
  argument: {
    name: 'name',
    description:
      'number, latest (the default), latest~2, green, s7, "2h ago", or the start of an id, a commit or a run',
    names: 'checkpoint',
  },
  options: [epicOption('the epic')],
  examples: ['orch checkpoint show', 'orch checkpoint show 58 --epic feat-login --json'],
  run: inRepository(async (context, orch, call) => {
    const epicId = await chooseEpicOf(context, orch, readText(call, 'epic'), call.argument);
    const found = await readCheckpoint(orch, epicId, call.argument ?? 'latest');
    const lost = context.json ? null : await findLostCode(orch, found.checkpoint);
    answer(context, found, () => showCheckpoint(context.out, found, lost, found.leftOut));
  }),
});
