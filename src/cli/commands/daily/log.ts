import { stripVTControlCharacters } from 'node:util';
import { type EpicLog, type LoggedCheckpoint, type LoggedSession, readLog } from '../../../index.ts';
import { columnsOf, cutColumns } from '../../../text.ts';
import type { Millis } from '../../../types.ts';
import { formatAge } from '../../../units.ts';
import { chooseEpic, epicOption, readEpicName } from '../../choose.ts';
import { flatten, formatTable, type Output, right } from '../../output.ts';
import { answer, defineCommand, inRepository } from '../../run-command.ts';
import { readText } from '../../spec.ts';
import { limitOptions, paintGates, readLimit, showNotSaved } from '../../views/checkpoint-view.ts';
import { formatDollars } from '../../views/money-view.ts';
import { formatCondition, paintCondition } from '../../views/session-view.ts';
import { timeOfDay } from '../../views/time-view.ts';

export const command = defineCommand({
  summary: 'the sessions of an epic, with what happened in each',
  description: "Show an epic's sessions, with what happened in each.",
  argument: { name: 'epic', description: 'the epic', names: 'epic' },
  options: [
    epicOption(),
    ...limitOptions('at most this many checkpoints'),
    { flags: '--since <time>', description: 'fri, yesterday, 2h, 3d, 2026-11-16' },
  ],
  examples: ['orch log', 'orch log feat-login --since yesterday'],
  run: inRepository(async (context, orch, call) => {
    const limit = readLimit(call);
    const since = readText(call, 'since');
    const epic = await chooseEpic(context, orch, readEpicName(call), false);
    const log = await readLog(epic, { limit, ...(since !== undefined && { since }) }, orch);
    const { out, json } = context;
    answer(context, log, () => show(out, log, orch.clock.now()));
    const lost = log.checkpoints.filter(({ isCodeLost }) => isCodeLost).map(({ seq }) => seq);
    if (lost.length > 0 && !json)
      out.inform(
        `The code of ${lost.map((seq) => `ckpt ${seq}`).join(', ')} is lost in this clone. See what is missing: orch checkpoint show ${lost[0]} --epic ${epic}`,
      );
  }),
});

/** Shows each session with its requests, its result and its checkpoints. */
function show(out: Output, { epicId, sessions, checkpoints }: EpicLog, now: Millis): string {
  const lines: string[] = [];
  const numbers = [...new Set(checkpoints.map(({ sessionId }) => sessionId))];
  const open = sessions
    .filter(({ id, fate }) => !numbers.includes(id) && fate === 'running')
    .map(({ id }) => id);
  for (const id of [...open, ...numbers]) {
    const known = sessions.find((session) => session.id === id);
    const own = checkpoints.filter(({ sessionId }) => sessionId === id);
    lines.push(known ? showHead(out, known, now) : `s${own[0]?.sessionNumber ?? '?'}`);
    if (known) lines.push(...showHighlights(out, known));
    const rows = own.map((checkpoint) => showRow(checkpoint, now));
    if (rows.length > 0) {
      const columns = [right, {}, {}, right, {}, { paint: (text: string) => paintGates(out, text) }, {}];
      const table = formatTable(rows, columns, out.columns - 2);
      const shown = table.split('\n');
      for (const [index, { notSaved }] of own.entries()) {
        lines.push(`  ${shown[index] ?? ''}`);
        // Usually the same at every checkpoint of a session, so it is printed once.
        if (notSaved !== own[index - 1]?.notSaved)
          lines.push(...showNotSaved(out, { notSaved }).map((line) => `      ${line}`));
      }
    }
  }
  return lines.join('\n') || `${epicId}: nothing in this period`;
}

function showHead(out: Output, session: LoggedSession, now: Millis): string {
  const { number, agent, fate, startedAt, endedAt, seenAt, costUsd, machine, reason } = session;
  const isRunning = fate === 'running' || fate === 'initializing';
  const until = isRunning && endedAt === null ? now : Date.parse(endedAt ?? seenAt);
  const parts = [
    out.paint('bold', `s${number}`),
    flatten(agent ?? ''),
    paintCondition(out, fate, formatCondition(fate)),
    formatAge(Math.max(1_000, until - Date.parse(startedAt))),
    formatDollars(costUsd),
    machine === null ? '' : out.paint('dim', `on ${machine}`),
  ];
  const head = parts.filter((part) => part !== '').join('  ');
  const room = out.columns - columnsOf(stripVTControlCharacters(head)) - 2;
  if (!reason || isRunning || room < 10) return head;
  return `${head}  ${out.paint('dim', cutColumns(flatten(reason), Math.min(room, 60)))}`;
}

function showRow(checkpoint: LoggedCheckpoint, now: Millis): string[] {
  const at = Date.parse(checkpoint.timestamp);
  const isToday = now - at < 20 * 3_600_000;
  const time = isToday ? timeOfDay(at) : checkpoint.timestamp.slice(5, 16).replace('T', ' ');
  // `Session 7 · 6 files +212 −31 · tests 141/142 · +$0.41`: session and money have their own columns.
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
    checkpoint.isAbandoned ? `(abandoned) ${checkpoint.summary}` : checkpoint.summary,
  ];
}

/** At most this many requests of a session are shown: the first and the last ones. */
const mostAsked = 4;

/** Shows the requests, the result and the commits of a session, cut to one line each. */
function showHighlights(out: Output, { asked, result, commits }: LoggedSession): string[] {
  const left = asked.length - mostAsked;
  const shown = left <= 0 ? asked : [...asked.slice(0, 1), `… ${left} more …`, ...asked.slice(1 - mostAsked)];
  const rows: (readonly [label: string, text: string])[] = [
    ...shown.map((text, place) => [place === 0 ? 'asked' : '', text] as const),
    ...(result === null ? [] : [['result', result] as const]),
    ...commits.slice(-3).map((text, place) => [place === 0 ? 'commits' : '', text] as const),
  ];
  return rows.map(([label, text]) => {
    const line = cutColumns(flatten(text.replaceAll('**', '')), out.columns - 11);
    return `  ${out.paint('dim', label.padEnd(7))}  ${line}`;
  });
}
