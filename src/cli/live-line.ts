import { describeMoney } from '../session/status.ts';
import type { SupervisorEvent } from '../session/supervisor.ts';
import { columnsOf, cutColumns } from '../text.ts';
import type { Millis } from '../types.ts';
import { showBar } from './session-view.ts';

export type LiveFigures = {
  readonly epic: string;
  readonly number: number;
  readonly elapsed: Millis;
  readonly spentUsd: number;
  readonly limitUsd: number | null;
  readonly percent: number | null;
  readonly nextIn: Millis | null;
  readonly last: { readonly seq: number; readonly trigger: string; readonly age: Millis } | null;
};

/** `1h02m`, `12m04s`, `9s`: a length of time that is watched. */
export function formatClock(elapsed: Millis): string {
  const seconds = Math.max(0, Math.floor(elapsed / 1_000));
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  if (hours > 0) return `${hours}h${two(minutes)}m`;
  return minutes > 0 ? `${minutes}m${two(seconds % 60)}s` : `${seconds}s`;
}

/** What the line says, in as many columns as there are: what matters least goes first. */
export function formatLiveLine(figures: LiveFigures, columns: number): string {
  const { epic, number, elapsed, spentUsd, limitUsd, percent, nextIn, last } = figures;
  const money =
    limitUsd === null ? `$${spentUsd.toFixed(2)}` : `$${spentUsd.toFixed(2)}/$${limitUsd.toFixed(2)}`;
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

/** The figures at a look. */
export function figuresOf(
  { view, nextIn }: Extract<SupervisorEvent, { kind: 'look' }>,
  session: { readonly number: number; readonly startedAt: Millis },
  now: Millis,
): LiveFigures {
  const { spentUsd, limitUsd, percent } = describeMoney(view.state);
  const { saved } = view;
  const last = saved && {
    seq: saved.document.seq,
    trigger: saved.document.trigger,
    age: now - saved.commit.authoredAt,
  };
  const elapsed = now - session.startedAt;
  return { epic: view.epic, number: session.number, elapsed, spentUsd, limitUsd, percent, nextIn, last };
}

/** A terminal's last line, which is written over again and again. */
export type TextLine = {
  show(text: string): void;
  /** Takes it away, so that something else can be printed. */
  clear(): void;
};

/** The same for a session's figures. */
export type LiveLine = Omit<TextLine, 'show'> & { show(figures: LiveFigures): void };

/** Without breaking it: between a window's getting narrower and our hearing of it, a line may be too long. */
const [dontWrap, wrap] = ['\u001b[?7l', '\u001b[?7h'];

/** Never at the beginning of a row: where that is the screen's first, a terminal keeps what is cleared in its history. */
const clearRest = '\u001b[J';

/**
 * Opens the line. The cursor waits at its beginning: a window that gets narrower breaks the text into several rows, and
 * takes the cursor along to the first of them, so that all from there on can be cleared, whatever the width was.
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

export function openLiveLine(write: (text: string) => void, readColumns: () => number): LiveLine {
  const line = openTextLine(write, readColumns);
  return { show: (figures) => line.show(formatLiveLine(figures, readColumns() - 1)), clear: line.clear };
}
