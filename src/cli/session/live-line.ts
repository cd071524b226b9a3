import type { SuperviseEvent } from '../../index.ts';
import { columnsOf, cutColumns } from '../../text.ts';
import type { Millis } from '../../types.ts';
import { formatDollars, showBar } from '../views/money-view.ts';
import { formatClock } from '../views/time-view.ts';

type LiveFigures = {
  readonly epic: string;
  readonly number: number;
  readonly elapsed: Millis;
  readonly spentUsd: number;
  readonly limitUsd: number | null;
  readonly percent: number | null;
  readonly nextIn: Millis | null;
  readonly last: { readonly seq: number; readonly trigger: string; readonly age: Millis } | null;
};

/** Formats the line for this width; what matters least is dropped first. */
function formatLiveLine(figures: LiveFigures, columns: number): string {
  const { epic, number, elapsed, spentUsd, limitUsd, percent, nextIn, last } = figures;
  const limit = limitUsd === null ? '' : `/${formatDollars(limitUsd)}`;
  const money = `${formatDollars(spentUsd)}${limit}`;
  const bar = percent === null ? '' : ` ${showBar(percent)} ${Math.floor(percent)}%`;
  const head = `● ${epic} s${number}`;
  const time = formatClock(elapsed);
  const next = nextIn === null ? '' : `next ${formatClock(nextIn)}`;
  const lastLong = last && `last ckpt ${last.seq} ${last.trigger} ${formatClock(last.age)} ago`;
  const lastShort = last && `ckpt ${last.seq} ${formatClock(last.age)} ago`;
  const hint = 'Ctrl+C pauses';
  const forms = [
    [head, time, `${money}${bar}`, next, lastLong, hint],
    [head, time, `${money}${bar}`, next, lastLong],
    [head, time, `${money}${bar}`, next, lastShort],
    [head, time, money, next, lastShort],
    [head, time, money, lastShort],
    [head, time, money],
  ].map((parts) => parts.filter((part) => part).join('  '));
  const fitting = forms.find((form) => columnsOf(form) <= columns);
  return fitting ?? cutColumns(forms.at(-1) ?? '', columns);
}

/** Reads the figures to show at a look. */
export function readFigures(
  { view, budget, nextIn }: Extract<SuperviseEvent, { kind: 'look' }>,
  session: { readonly number: number; readonly startedAt: Millis },
  now: Millis,
): LiveFigures {
  const { spentUsd, limitUsd, percent } = budget;
  const { saved } = view;
  const last = saved && {
    seq: saved.document.seq,
    trigger: saved.document.trigger,
    age: now - saved.commit.authoredAt,
  };
  const elapsed = now - session.startedAt;
  return { epic: view.epic, number: session.number, elapsed, spentUsd, limitUsd, percent, nextIn, last };
}

/** The last line of a terminal, overwritten again and again. */
export type TextLine = {
  show(text: string): void;
  /** Removes it, so that something else can be printed. */
  clear(): void;
};

/** The same, for a session's figures. */
export type LiveLine = Omit<TextLine, 'show'> & { show(figures: LiveFigures): void };

/** Wrapping is off while the line is written: it may be too long until orch learns that the window got narrower. */
const [dontWrap, wrap] = ['\u001b[?7l', '\u001b[?7h'];

/** Never sent at the start of a row: on the screen's first row, terminals keep what is cleared in their history. */
const clearRest = '\u001b[J';
const clearRow = '\u001b[K';

/**
 * Opens the line. The cursor waits at its start: when the window gets narrower, the terminal wraps the text and keeps
 * the cursor on its first row, so everything from there on can be cleared, whatever the width was.
 */
export function openTextLine(write: (text: string) => void, readColumns: () => number): TextLine {
  let shown: { text: string; columns: number } | null = null;
  return {
    show: (text) => {
      const columns = readColumns();
      if (shown?.text === text && shown.columns === columns) return;
      write(`\r${dontWrap}${text}${wrap}${clearRest}\r`);
      shown = { text, columns };
    },
    clear: () => {
      if (shown !== null) write(`\r ${clearRest}\r`);
      shown = null;
    },
  };
}

/** The last lines of a terminal, overwritten again and again. */
export type TextBlock = { show(lines: readonly string[]): void; clear(): void };

/** Opens the lines. The cursor waits at the start of the first, as in `openTextLine`. */
export function openTextBlock(write: (text: string) => void): TextBlock {
  let isShown = false;
  return {
    show: (lines) => {
      if (lines.length === 0) return;
      const up = lines.length > 1 ? `\u001b[${lines.length - 1}A` : '';
      const text = lines.map((line) => `${line}${clearRow}`).join('\r\n');
      write(`\r${dontWrap}${text}${wrap}${clearRest}${up}\r`);
      isShown = true;
    },
    clear: () => {
      if (isShown) write(`\r ${clearRest}\r`);
      isShown = false;
    },
  };
}

export function openLiveLine(write: (text: string) => void, readColumns: () => number): LiveLine {
  const line = openTextLine(write, readColumns);
  return { show: (figures) => line.show(formatLiveLine(figures, readColumns() - 1)), clear: line.clear };
}
