import { describeSession, listShown, shownFate } from '../session/fate.ts';
import { readAllViews } from '../session/resolve.ts';
import { parseLimit, showList } from './checkpoint-view.ts';
import { epicOption, tellUnreadable, viewEpic } from './choose.ts';
import { listOrTell } from './listing.ts';
import { formatTable } from './output.ts';
import { costCell, markOf, showWhen } from './session-view.ts';
import { type CommandSpec, textOf } from './spec.ts';

export const listSpec: CommandSpec = {
  name: 'list',
  description: "List all sessions, newest first; with --epic, that epic's checkpoints.",
  options: [
    epicOption('this epic, with its checkpoints'),
    { flags: '-n, --limit <n>', description: 'how many at the most', initial: '20' },
    { flags: '-a, --all', description: 'all of them' },
  ],
  examples: ['orch session list', 'orch session list --epic feat-login --json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const limit = call.options.all ? Number.POSITIVE_INFINITY : parseLimit(textOf(call, 'limit') ?? '');
      const given = textOf(call, 'epic');
      const { out, json } = context;
      const now = orch.clock.now();
      if (given !== undefined) {
        const { epic: epicId } = await viewEpic(context, orch, given);
        const { checkpoints, total, damaged } = await listOrTell(context, orch, epicId, limit);
        const found = { epicId, checkpoints, total, ...(damaged && { damaged }) };
        out.print(json ? JSON.stringify(found) : showList(out, found, now));
        return 0;
      }
      const { views, unreadable } = await readAllViews(orch);
      tellUnreadable(context, unreadable);
      const known = views
        .flatMap((view) => listShown(view, orch.home).map((session) => ({ view, session })))
        .sort((a, b) => b.session.value.startedAt - a.session.value.startedAt)
        .slice(0, limit);
      if (json)
        out.print(
          JSON.stringify({ sessions: known.map(({ view, session }) => describeSession(view, session)) }),
        );
      else if (known.length === 0) out.tell('no sessions yet. Begin one with: orch start --epic my-feature');
      else {
        const rows = known.map(({ view, session }) => {
          const { id, value } = session;
          return [
            view.epic,
            `s${value.number}`,
            value.agent ?? '–',
            markOf(shownFate(session)),
            showWhen(new Date(value.startedAt).toISOString(), now),
            costCell(view, id),
            String(value.checkpoints),
            id,
          ];
        });
        const header = ['EPIC', 'SESS', 'AGENT', 'STATE', 'STARTED', 'COST', 'CKPTS', 'ID'];
        const table = formatTable(
          [header, ...rows],
          [{}, {}, {}, {}, { align: 'right' }, { align: 'right' }, { align: 'right' }, {}],
          out.columns,
        );
        const [head = '', ...lines] = table.split('\n');
        out.print([out.paint('dim', head), ...lines].join('\n'));
      }
      return 0;
    }),
};
