import { type EpicInfo, listEpics } from '../../../../index.ts';
import type { Millis } from '../../../../types.ts';
import { printUnreadable } from '../../../choose.ts';
import { type Output, printJson, right, showTable } from '../../../output.ts';
import { defineCommand, inRepository } from '../../../run-command.ts';
import { showAmounts } from '../../../views/money-view.ts';
import { formatCondition } from '../../../views/session-view.ts';
import { formatWhen } from '../../../views/time-view.ts';

export const command = defineCommand({
  description: 'List the epics, the last used first.',
  options: [{ flags: '-a, --all', description: 'also archived and deleted ones' }],
  examples: ['orch epic list', 'orch epic list --all --json'],
  run: inRepository(async (context, orch, call) => {
    const { out, json } = context;
    const { epics, unreadable } = await listEpics({ all: call.options.all === true }, orch);
    if (json) printJson(out, { epics, ...(unreadable.length > 0 && { unreadable }) });
    else if (epics.length === 0)
      out.inform('No active epics. See archived and deleted ones: orch epic list --all');
    else out.print(showEpics(out, epics, orch.clock.now()));
    printUnreadable(context, unreadable);
  }),
});

function showEpics(out: Output, epics: readonly EpicInfo[], now: Millis): string {
  const rows = epics.map(({ epicId, state, status, deletedAt, budget, checkpoints, snapshots }) => {
    const last = deletedAt ?? status?.checkpoint?.timestamp ?? null;
    const session = status?.session ? formatCondition(status.session.status) : '–';
    return [
      epicId,
      state === 'active' ? session : state,
      showAmounts(budget),
      String(checkpoints),
      deletedAt === null ? String(snapshots) : '–',
      last === null ? '–' : formatWhen(last, now),
    ];
  });
  const header = ['EPIC', 'STATE', 'SPENT', 'CKPTS', 'SNAPSHOTS', 'LAST'];
  return showTable(out, header, rows, [{}, {}, {}, right, right, {}]);
}
