import { listAllSessions, listEpicOrBegun, type SessionDetails } from '../../../../index.ts';
import type { Millis } from '../../../../types.ts';
import { epicOption, printUnreadable } from '../../../choose.ts';
import { type Output, showTable } from '../../../output.ts';
import { defineCommand } from '../../../run-command.ts';
import { readText } from '../../../spec.ts';
import { parseLimit, printDamaged, showList } from '../../../views/checkpoint-view.ts';
import { formatDollars } from '../../../views/money-view.ts';
import { formatCondition, viewEpic } from '../../../views/session-view.ts';
import { formatAgo } from '../../../views/time-view.ts';

export const command = defineCommand({
  description: "List all sessions, newest first; with --epic, that epic's checkpoints.",
  options: [
    epicOption('this epic, with its checkpoints'),
    { flags: '-n, --limit <n>', description: 'at most this many', initial: '20' },
    { flags: '-a, --all', description: 'all of them' },
  ],
  examples: ['orch session list', 'orch session list --epic feat-login --json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const { out, json } = context;
      const limit = call.options.all ? Number.POSITIVE_INFINITY : parseLimit(readText(call, 'limit') ?? '');
      const given = readText(call, 'epic');
      const now = orch.clock.now();
      if (given !== undefined) {
        const { epic: epicId } = await viewEpic(context, orch, given);
        const { checkpoints, total, damaged } = await listEpicOrBegun(orch, epicId, limit);
        printDamaged(out, damaged);
        const found = { epicId, checkpoints, total, ...(damaged && { damaged }) };
        out.print(json ? JSON.stringify(found) : showList(out, found, now));
        return 0;
      }
      const { sessions, unreadable } = await listAllSessions(orch, limit);
      printUnreadable(context, unreadable);
      if (json) out.print(JSON.stringify({ sessions: sessions.map(({ session }) => session) }));
      else if (sessions.length === 0) out.inform('No sessions yet. Start one: orch start --epic my-feature');
      else out.print(showSessions(out, sessions, now));
      return 0;
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
  const right = { align: 'right' as const };
  return showTable(out, header, rows, [{}, {}, {}, {}, right, right, right, {}]);
}
