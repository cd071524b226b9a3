import { OrchError } from '../../../../errors.ts';
import { isRunId } from '../../../../ids.ts';
import { listEpicOrBegun, listRunCheckpoints } from '../../../../index.ts';
import { chooseEpicOf, epicOption, readEpicName } from '../../../choose.ts';
import { answer, defineCommand } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { limitOptions, printDamaged, readLimit, showList } from '../../../views/checkpoint-view.ts';

export const command = defineCommand({
  description: "List an epic's checkpoints, newest first.",
  argument: { name: 'epic', description: 'the epic', names: 'epic' },
  options: [
    epicOption('the epic'),
    ...limitOptions(),
    { flags: '--run <id>', description: 'only those of this run of a plan' },
  ],
  examples: [
    'orch checkpoint list --epic feat-login',
    'orch checkpoint list --run run-x7k2mf',
    'orch checkpoint list --all --json',
  ],
  run: (context, call) => {
    const { out } = context;
    const limit = readLimit(call);
    const run = readText(call, 'run');
    return context.withOrch(async (orch) => {
      if (run !== undefined && !isRunId(run))
        throw new OrchError('USAGE', `${JSON.stringify(run.slice(0, 80))} is not a run id`, {
          hint: 'List the runs of an epic: orch run --list -e EPIC',
        });
      const epicId = await chooseEpicOf(context, orch, readEpicName(call), run);
      const ofRun = run === undefined ? null : await listRunCheckpoints(orch, epicId, run, limit);
      const { checkpoints, total, damaged } = ofRun ?? (await listEpicOrBegun(orch, epicId, limit));
      printDamaged(out, damaged);
      const found = { epicId, checkpoints, total, ...(damaged && { damaged }) };
      const shown = { ...found, total: ofRun?.ofRun ?? total };
      return answer(context, found, () => showList(out, shown, orch.clock.now()));
    });
  },
});
