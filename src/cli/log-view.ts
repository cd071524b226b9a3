import { stripVTControlCharacters } from 'node:util';
import type { Checkpoint } from '../checkpoint/list.ts';
import type { EpicView } from '../session/context.ts';
import { costOf, type KnownSession, shownFate } from '../session/fate.ts';
import { tellSession } from '../session/told.ts';
import { isLeftBehind, listAbandoned } from '../state/left-behind.ts';
import { columnsOf, cutColumns } from '../text.ts';
import type { Millis } from '../types.ts';
import { formatAge, formatUsd } from '../units.ts';
import { showNotSaved } from './checkpoint-view.ts';
import { flatten, formatTable, type Output } from './output.ts';
import { hasSeveralWriters, markOf, nameMachine, paintFate } from './session-view.ts';
import { timeOfDay } from './start-view.ts';

/** A checkpoint with the line of figures below its subject. */
export type Logged = Checkpoint & { readonly figures: string; readonly spentUsd: number };

/** The sessions with what was asked in each, what came of it, and their checkpoints. */
export function showLog(
  out: Output,
  view: EpicView,
  sessions: readonly KnownSession[],
  logged: readonly Logged[],
  now: Millis,
): string {
  const lines: string[] = [];
  const isShared = hasSeveralWriters(view);
  const abandoned = listAbandoned(view.state);
  const numbers = [...new Set(logged.map(({ sessionId }) => sessionId))];
  const open = sessions
    .filter(({ id, fate }) => !numbers.includes(id) && fate === 'running')
    .map(({ id }) => id);
  for (const id of [...open, ...numbers]) {
    const known = sessions.find((session) => session.id === id);
    const own = logged.filter(({ sessionId }) => sessionId === id);
    lines.push(known ? showHead(out, view, known, { now, isShared }) : `s${own[0]?.sessionNumber ?? '?'}`);
    lines.push(...showTold(out, view, id));
    const rows = own.map((checkpoint) => showRow(checkpoint, now, isLeftBehind(abandoned, checkpoint.seq)));
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
  session: KnownSession,
  { now, isShared }: { readonly now: Millis; readonly isShared: boolean },
): string {
  const { id, value } = session;
  const fate = shownFate(session);
  const isRunning = fate === 'running' || fate === 'initializing';
  const until = value.endedAt ?? (isRunning ? now : value.seenAt);
  const parts = [
    out.paint('bold', `s${value.number}`),
    flatten(value.agent ?? ''),
    paintFate(out, fate, markOf(fate)),
    formatAge(Math.max(1_000, until - value.startedAt)),
    formatUsd(costOf(view.state, id)),
    isShared ? out.paint('dim', `on ${nameMachine(view, value)}`) : '',
  ];
  const head = parts.filter((part) => part !== '').join('  ');
  const room = out.columns - columnsOf(stripVTControlCharacters(head)) - 2;
  if (!value.reason || isRunning || room < 10) return head;
  return `${head}  ${out.paint('dim', cutColumns(flatten(value.reason), Math.min(room, 60)))}`;
}

function showRow(checkpoint: Logged, now: Millis, isAbandoned: boolean): string[] {
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
    isAbandoned ? `(abandoned) ${checkpoint.summary}` : checkpoint.summary,
  ];
}

/** How many requests of a session are shown: its first, and the last ones. */
const mostAsked = 4;

/** `asked`, `result` and `commits` of a session, a line each; long ones are cut. */
function showTold(out: Output, { state }: EpicView, session: KnownSession['id']): string[] {
  const { asked, result, commits } = tellSession(state, session);
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
