import { listAllSessions, listEpicOrBegun, type SessionDetails } from '../../../../index.ts';
import type { Millis } from '../../../../types.ts';
import { epicOption, printUnreadable } from '../../../choose.ts';
import { type Output, printJson, right, showTable } from '../../../output.ts';
import { answer, defineCommand, inRepository } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { limitOptions, printDamaged, readLimit, showList } from '../../../views/checkpoint-view.ts';
import { formatDollars } from '../../../views/money-view.ts';
import { formatCondition, viewEpic } from '../../../views/session-view.ts';
import { formatAgo } from '../../../views/time-view.ts';

export const command = defineCommand({
  description: "List all sessions, newest first; with --epic, that epic's checkpoints.",
  options: [epicOption('this epic, with its checkpoints'), ...limitOptions()],
  examples: ['orch session list', 'orch session list --epic feat-login --json'],
  run: inRepository(async (context, orch, call) => {
    const { out, json } = context;
    const limit = readLimit(call);
    const given = readText(call, 'epic');
    const now = orch.clock.now();
    if (given !== undefined) {
      const { epic: epicId } = await viewEpic(context, orch, given);
      const { checkpoints, total, damaged } = await listEpicOrBegun(orch, epicId, limit);
      printDamaged(out, damaged);
      const found = { epicId, checkpoints, total, ...(damaged && { damaged }) };
      return answer(context, found, () => showList(out, found, now));
    }
    const { sessions, unreadable } = await listAllSessions(orch, limit);
    printUnreadable(context, unreadable);
    if (json) printJson(out, { sessions: sessions.map(({ session }) => session) });
    else if (sessions.length === 0) out.inform('No sessions yet. Start one: orch start --epic my-feature');
    else out.print(showSessions(out, sessions, now));
  }),
});

function showSessions(out: Output, sessions: readonly SessionDetails[], now: Millis): string {
  const rows = sessions.map(({ session, condition, startedAt }) => [
    session.epicId,
    `s${session.number}`,
    session.agent ?? '–',
    formatCondition(condition),
    formatAgo(now - startedAt),
    formatDollars(session.costUsd),
    String(session.checkpointCount),
    session.id,
  ]);
  const header = ['EPIC', 'SESS', 'AGENT', 'STATE', 'STARTED', 'COST', 'CKPTS', 'ID'];
  return showTable(out, header, rows, [{}, {}, {}, {}, right, right, right, {}]);
}
