import type { Checkpoint } from '../checkpoint/list.ts';
import { describeCommit, walkReadable } from '../checkpoint/list.ts';
import { readLost } from '../checkpoint/lost.ts';
import { parseSince } from '../cost/since.ts';
import type { Orch } from '../orch.ts';
import type { EpicView } from '../session/context.ts';
import { costOf, describeSession, type KnownSession, listShown } from '../session/fate.ts';
import { cutColumns } from '../text.ts';
import type { Millis } from '../types.ts';
import { formatAge, formatUsd, toMicros, toUsd } from '../units.ts';
import { parseLimit, showNotSaved } from './checkpoint-view.ts';
import { epicOption, namedEpic, viewEpic } from './choose.ts';
import { flatten, formatTable, type Output } from './output.ts';
import { runCommands } from './run.ts';
import { hasSeveralWriters, markOf, paintFate } from './session-view.ts';
import { type CommandSpec, textOf } from './spec.ts';
import { timeOfDay } from './start-view.ts';

/** A checkpoint with the line of figures below its subject. */
type Logged = Checkpoint & { readonly figures: string; readonly spentUsd: number };

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
        const described = sessions.map((session) => describeSession(view, session));
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

function showLog(
  out: Output,
  view: EpicView,
  sessions: readonly KnownSession[],
  logged: readonly Logged[],
  now: Millis,
): string {
  const lines: string[] = [];
  const isShared = hasSeveralWriters(view);
  const numbers = [...new Set(logged.map(({ sessionId }) => sessionId))];
  const open = sessions
    .filter(({ id, fate }) => !numbers.includes(id) && fate === 'running')
    .map(({ id }) => id);
  for (const id of [...open, ...numbers]) {
    const known = sessions.find((session) => session.id === id);
    const own = logged.filter(({ sessionId }) => sessionId === id);
    lines.push(known ? showHead(out, view, known, { now, isShared }) : `s${own[0]?.sessionNumber ?? '?'}`);
    const rows = own.map((checkpoint) => showRow(checkpoint, now));
    if (rows.length > 0) {
      const columns = [
        { align: 'right' as const },
        {},
        {},
        { align: 'right' as const },
        {},
        { paint: paintGates(out) },
        {},
      ];
      const table = formatTable(rows, columns, out.columns - 2);
      const shown = table.split('\n');
      for (const [index, { notSaved }] of own.entries()) {
        lines.push(`  ${shown[index] ?? ''}`);
        // A session says the same at each checkpoint: once is enough.
        if (notSaved !== own[index - 1]?.notSaved)
          lines.push(...showNotSaved(out, { notSaved }).map((line) => `      ${line}`));
      }
    }
  }
  return lines.join('\n') || `${view.epic}: nothing in that time`;
}

const paintGates = (out: Output) => (text: string) =>
  text === 'red' || text === 'green' ? out.paint(text, text) : text;

function showHead(
  out: Output,
  view: EpicView,
  { id, value, fate }: KnownSession,
  { now, isShared }: { readonly now: Millis; readonly isShared: boolean },
): string {
  const isRunning = fate === 'running' || fate === 'initializing';
  const until = value.endedAt ?? (isRunning ? now : value.seenAt);
  const parts = [
    out.paint('bold', `s${value.number}`),
    flatten(value.agent ?? ''),
    paintFate(out, fate, markOf(fate)),
    formatAge(Math.max(1_000, until - value.startedAt)),
    formatUsd(costOf(view.state, id)),
    isShared ? out.paint('dim', `in ${value.writer}`) : '',
    value.reason && !isRunning ? out.paint('dim', cutColumns(flatten(value.reason), 60)) : '',
  ];
  return parts.filter((part) => part !== '').join('  ');
}

function showRow(checkpoint: Logged, now: Millis): string[] {
  const at = Date.parse(checkpoint.timestamp);
  const isToday = now - at < 20 * 3_600_000;
  const time = isToday ? timeOfDay(at) : checkpoint.timestamp.slice(5, 16).replace('T', ' ');
  // `Session 7 · 6 files +212 −31 · tests 141/142 · +$0.41`: the session and the money stand elsewhere.
  const figures = checkpoint.figures
    .split(' · ')
    .slice(1)
    .filter((part) => !part.startsWith('+$'));
  return [
    String(checkpoint.seq),
    time,
    checkpoint.trigger,
    checkpoint.spentUsd > 0 ? `+$${checkpoint.spentUsd.toFixed(2)}` : '',
    figures.join(', '),
    checkpoint.gates === 'unknown' ? '' : checkpoint.gates,
    checkpoint.summary,
  ];
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [logSpec]);
}
