import { resolve } from 'node:path';
import { listPlanRuns, loadConvoyPlan } from '../../../index.ts';
import { printJson, showTable } from '../../output.ts';
import type { Context } from '../../run-command.ts';
import { type Call, type ExitStatus, readText } from '../../spec.ts';
import { viewEpic } from '../../views/session-view.ts';
import { formatWhen } from '../../views/time-view.ts';

/** `orch run --list`: lists the runs of an epic, newest first; only those of one plan if it is named. */
export function listRuns(context: Context, call: Call): Promise<ExitStatus> {
  const { out, json, cwd } = context;
  const file = call.argument;
  const name = file === undefined ? null : loadConvoyPlan(resolve(cwd, file), file).name;
  return context.withOrch(async (orch): Promise<undefined> => {
    const { epic } = await viewEpic(context, orch, readText(call, 'epic'));
    const found = await listPlanRuns(orch, epic, name);
    if (json) printJson(out, { epicId: epic, runs: found.map(({ run }) => run) });
    else if (found.length === 0) out.inform(`No runs${name === null ? '' : ` of ${name}`} on ${epic} yet.`);
    else {
      const now = orch.clock.now();
      const rows = found.map(({ run: { id, name: plan, status, startedAt, from, rollback }, succeeded }) => {
        const undone = rollback === 'done' ? 'rolled back' : 'half rolled back';
        const shown = rollback === undefined ? status.replace('_', ' ') : undone;
        const origin = from === null ? '' : `from ${from}`;
        return [
          id,
          plan,
          shown,
          succeeded === null ? 'archived' : `${succeeded} done`,
          formatWhen(startedAt, now),
          origin,
        ];
      });
      const header = ['RUN', 'PLAN', 'STATUS', 'TASKS', 'STARTED', ''];
      out.print(showTable(out, header, rows, Array(6).fill({})));
    }
  });
}
