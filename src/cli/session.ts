import { OrchError } from '../errors.ts';
import { type EpicView, readView } from '../session/context.ts';
import { describeSession, type KnownSession, listShown, shownFate } from '../session/fate.ts';
import { readPlan } from '../session/orchestration.ts';
import { describeEpic, type EpicStatus, mainSession } from '../session/status.ts';
import { showList } from './checkpoint-view.ts';
import { epicOption, viewEpic } from './choose.ts';
import { endSpec } from './end-spec.ts';
import { listOrTell } from './listing.ts';
import { formatTable, writeTo } from './output.ts';
import { type Context, runCommands } from './run.ts';
import { listSpec } from './session-list.ts';
import { markOf, paintFate, showSessionFacts } from './session-view.ts';
import { type CommandSpec, type GroupSpec, textOf } from './spec.ts';
import { resumeSpec, startSpec } from './start-spec.ts';

const status: CommandSpec = {
  name: 'status',
  description: 'Show where an epic stands: its session, last checkpoint, budget, and what is pending.',
  options: [epicOption()],
  examples: ['orch session status', 'orch session status --epic feat-login --json'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const view = await viewEpic(context, orch, textOf(call, 'epic'));
      const found = describeEpic(view, orch.home, orch.clock.now());
      const { out, json } = context;
      if (json) {
        out.print(JSON.stringify(found));
        return 0;
      }
      const session = mainSession(view, orch.home);
      out.print(showFacts(context, view, session, orch.clock.now(), orch.home));
      return 0;
    }),
};

function showFacts(
  { out }: Context,
  view: EpicView,
  session: KnownSession | null,
  now: number,
  home: string,
  own: Partial<EpicStatus> = {},
): string {
  const found = { ...describeEpic(view, home, now), ...own };
  const facts = session ? showSessionFacts(view, session, found, now) : [];
  const rows = facts.flatMap(([name, value]) =>
    value === null ? [] : [[name, value.replaceAll('\n', ' ')]],
  );
  const paintValue = (text: string) =>
    session && text.startsWith(markOf(shownFate(session))) ? paintFate(out, shownFate(session), text) : text;
  const columns = [{ paint: (text: string) => out.paint('dim', text) }, { paint: paintValue }];
  return `${out.paint('bold', view.epic)}\n${formatTable(rows, columns, out.columns)}`;
}

const show: CommandSpec = {
  name: 'show',
  description: 'Show a session and its checkpoints.',
  argument: { name: 'session', description: 's7, or its id; the running or newest one by default' },
  options: [epicOption()],
  examples: ['orch session show', 'orch session show s7 --epic feat-login'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const view = await viewEpic(context, orch, textOf(call, 'epic'));
      const session = findSession(view, orch.home, call.argument);
      const { checkpoints: all } = await listOrTell(context, orch, view.epic);
      const checkpoints = all.filter(({ sessionId }) => sessionId === session.id);
      const plan = await readPlan(orch);
      const { out, json } = context;
      if (json)
        out.print(
          JSON.stringify({ session: describeSession(view, session), checkpoints, ...(plan && { plan }) }),
        );
      else {
        const pendingEvents = view.pending.filter((event) => event.session === session.id).length;
        const own = { checkpoint: checkpoints[0] ?? null, pendingEvents };
        out.print(showFacts(context, view, session, orch.clock.now(), orch.home, own));
        if (checkpoints.length > 0)
          out.print(
            `\n${showList(out, { epicId: view.epic, checkpoints, total: checkpoints.length }, orch.clock.now())}`,
          );
        if (plan) out.print((await import('./plan-view.ts')).showPlan(out, plan));
      }
      return 0;
    }),
};

/** A session by number, id, or the beginning of its id. */
export function findSession(view: EpicView, home: string, name: string | undefined): KnownSession {
  const sessions = listShown(view, home);
  const number = /^s?(\d{1,9})$/.exec(name ?? '')?.[1];
  const main = name === undefined ? mainSession(view, home) : null;
  const found = main
    ? [main]
    : sessions.filter(
        ({ id, value }) =>
          (number !== undefined && value.number === Number(number)) ||
          (name !== undefined && name.length > 3 && id.startsWith(name)),
      );
  const [first, ...others] = found;
  if (first === undefined)
    throw new OrchError('SESSION_NOT_FOUND', `${view.epic} has no session ${name ?? 'yet'}`, {
      hint: `See what there is with: orch log ${view.epic}`,
      data: { epicId: view.epic, session: name ?? null },
    });
  if (others.length > 0)
    throw new OrchError('SESSION_AMBIGUOUS', `${name} fits ${found.length} sessions of ${view.epic}`, {
      hint: `Name one by its id: ${found.map(({ id }) => id).join(', ')}`,
      data: { sessions: found.map(({ id }) => id) },
    });
  return first;
}

const logs: CommandSpec = {
  name: 'logs',
  description: 'Print what a session in the background printed.',
  argument: { name: 'session', description: 's7, or its id; the running or newest one by default' },
  options: [epicOption(), { flags: '-f, --follow', description: 'go on until the session ends' }],
  examples: ['orch session logs -f', 'orch session logs s7 --epic feat-login'],
  run: (context, call) =>
    context.withOrch(async (orch) => {
      const view = await viewEpic(context, orch, textOf(call, 'epic'));
      const { passLog } = await import('./logs.ts');
      const session = findSession(view, orch.home, call.argument);
      const pieces: Buffer[] = [];
      const collect = (bytes: Buffer) => pieces.push(bytes) > 0;
      const print = (bytes: Buffer) => writeTo(1, bytes);
      const follow = call.options.follow === true;
      await passLog(orch, view.epic, session, { follow, onText: context.json ? collect : print });
      if (!context.json) return 0;
      const known = await readView(orch, view.epic);
      const now = findSession(known, orch.home, session.id);
      const log = Buffer.concat(pieces).toString();
      context.out.print(JSON.stringify({ session: describeSession(known, now), log }));
      return 0;
    }),
};

export const sessionGroup: GroupSpec = {
  name: 'session',
  summary: 'start, resume, end and look at sessions',
  description: 'Sessions: one stretch of work on an epic, by one agent, person or plan.',
  commands: [
    startSpec('start'),
    resumeSpec('resume'),
    status,
    show,
    logs,
    endSpec('pause'),
    endSpec('complete'),
    listSpec,
  ],
};

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [sessionGroup]);
}
