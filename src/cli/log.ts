import type { Checkpoint } from '../checkpoint/list.ts';
import { describeCommit, walkReadable } from '../checkpoint/list.ts';
import { readLost } from '../checkpoint/lost.ts';
import { parseSince } from '../cost/since.ts';
import type { Orch } from '../orch.ts';
import type { EpicView } from '../session/context.ts';
import { describeSession, listShown } from '../session/fate.ts';
import { tellSession } from '../session/told.ts';
import type { Millis } from '../types.ts';
import { toMicros, toUsd } from '../units.ts';
import { parseLimit } from './checkpoint-view.ts';
import { epicOption, namedEpic, viewEpic } from './choose.ts';
import { type Logged, showLog } from './log-view.ts';
import { runCommands } from './run.ts';
import { type CommandSpec, textOf } from './spec.ts';

export const logSpec: CommandSpec = {
  name: 'log',
  summary: 'the sessions of an epic, with what happened in each',
  description: "Show an epic's sessions, with what happened in each.",
  argument: { name: 'epic', description: 'the epic' },
  options: [
    epicOption(),
    { flags: '-n, --limit <n>', description: 'how many checkpoints at the most', initial: '20' },
    { flags: '-a, --all', description: 'all of them' },
    { flags: '--since <time>', description: 'fri, yesterday, 2h, 3d, 2026-11-16' },
  ],
  examples: ['orch log', 'orch log feat-login --since yesterday'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const view = await viewEpic(context, orch, namedEpic(call));
      const limit = call.options.all ? Number.POSITIVE_INFINITY : parseLimit(textOf(call, 'limit') ?? '');
      const given = textOf(call, 'since');
      const since = given === undefined ? 0 : parseSince(given, orch.clock.now());
      const logged = await readLog(orch, view, limit, since);
      const { out, json } = context;
      const sessions = listShown(view, orch.home);
      if (json) {
        const described = sessions.map((session) => ({
          ...describeSession(view, session),
          ...tellSession(view.state, session.id),
        }));
        out.print(
          JSON.stringify({
            epicId: view.epic,
            sessions: described,
            checkpoints: logged,
            total: view.saved?.document.seq ?? 0,
          }),
        );
      } else {
        out.print(showLog(out, view, sessions, logged, orch.clock.now()));
        const lost = new Set<string>(readLost(orch.home).flatMap(({ checkpoints }) => checkpoints));
        const named = logged.filter(({ id }) => lost.has(id)).map(({ seq }) => seq);
        if (named.length > 0)
          out.tell(
            `The code of ${named.map((seq) => `ckpt ${seq}`).join(', ')} is lost here; see what is missing with: orch checkpoint show ${named[0]} --epic ${view.epic}`,
          );
      }
      return 0;
    }),
};

async function readLog(orch: Orch, view: EpicView, limit: number, since: Millis): Promise<Logged[]> {
  const logged: (Checkpoint & { figures: string; parents: readonly string[] })[] = [];
  if (view.tip.oid === null) return [];
  const onDamage = (error: Error) => orch.report(`some could not be read: ${error.message}`);
  const most = limit === Number.POSITIVE_INFINITY ? undefined : limit + 10;
  for await (const commit of walkReadable(orch, view.epic, onDamage, most)) {
    const checkpoint = describeCommit(commit);
    if (checkpoint === null) continue;
    // The first that is not shown tells from where the costs of the last that is went on.
    const figures = commit.message.split('\n')[2] ?? '';
    logged.push({ ...checkpoint, figures, parents: commit.parents });
    if (logged.length > limit || commit.authoredAt < since) break;
  }
  const costs = new Map<string, number>(logged.map(({ commit, costUsd }) => [commit, costUsd]));
  return logged
    .filter(({ timestamp }, index) => index < limit && Date.parse(timestamp) >= since)
    .map(({ parents, ...checkpoint }, index) => {
      const [parent] = parents;
      // What cannot be known (the history before it is damaged) is not made up.
      const before =
        parent === undefined ? 0 : (costs.get(parent) ?? logged[index + 1]?.costUsd ?? checkpoint.costUsd);
      const isMerge = parents.length > 1;
      return {
        ...checkpoint,
        spentUsd: isMerge ? 0 : toUsd(Math.max(0, toMicros(checkpoint.costUsd) - toMicros(before))),
      };
    });
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [logSpec]);
}
