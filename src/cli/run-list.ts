import { resolve } from 'node:path';
import { isAtWork } from '../plan/begin.ts';
import { summarizeRun } from '../plan/describe.ts';
import { loadPlan } from '../plan/load.ts';
import { findRun, listRuns } from '../plan/runs.ts';
import { formatAge } from '../units.ts';
import { viewEpic } from './choose.ts';
import { formatTable } from './output.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';

/** `orch run --list`: the runs of an epic, newest first; of one plan, where it is named. */
export function listPlanRuns(context: Context, call: Call): Promise<number> {
  const { out, json, cwd } = context;
  const file = call.argument;
  const name = file === undefined ? null : loadPlan(resolve(cwd, file), file).name;
  return context.withOrch(async (orch) => {
    const { epic, state } = await viewEpic(context, orch, textOf(call, 'epic'));
    const known = listRuns(state).filter(({ head }) => name === null || head.plan === name);
    const runs = known.map((run) => {
      const isNewest = findRun(state, run.head.plan)?.id === run.id;
      return summarizeRun(epic, run, { isAtWork: isAtWork(orch, run), isNewest });
    });
    if (json) out.print(JSON.stringify({ epicId: epic, runs }));
    else if (runs.length === 0) out.tell(`no plan${name === null ? '' : ` ${name}`} was run on ${epic}`);
    else {
      const now = orch.clock.now();
      const rows = known.map(({ head, tasks }, index) => {
        const done = Object.values(tasks).filter(({ status }) => status === 'succeeded').length;
        const age = formatAge(Math.max(0, now - head.startedAt));
        const from = head.from === null ? '' : `from ${head.from}`;
        const { id = '', name: plan = '', status = '' } = runs[index] ?? {};
        return [id, plan, status.replace('_', ' '), `${done} done`, age === 'now' ? age : `${age} ago`, from];
      });
      out.print(
        formatTable(
          [['RUN', 'PLAN', 'STATUS', 'TASKS', 'STARTED', ''], ...rows],
          Array(6).fill({}),
          out.columns,
        ),
      );
    }
    return 0;
  });
}
