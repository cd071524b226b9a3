import { fstatSync, writeSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { columnsOf, cutColumns } from '../text.ts';

const colours = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Colour = keyof typeof colours;

export type Output = {
  /** Data: standard output. */
  print(text: string): void;
  /** Everything else: standard error. */
  tell(text: string): void;
  paint(colour: Colour, text: string): string;
  readonly columns: number;
  /** Are only data and errors wanted? */
  readonly isQuiet: boolean;
};

/** A reader who left (`| head`), or a terminal that was closed. */
const gone = ['EPIPE', 'EIO'];

/**
 * Writes all of it, also to a pipe that is slow. That nobody is there to read it any more is no error; it answers
 * whether somebody is.
 */
export function writeTo(fd: number, text: string | Buffer): boolean {
  let bytes = typeof text === 'string' ? Buffer.from(text) : text;
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes));
    } catch (error) {
      const code = systemCode(error) ?? '';
      if (gone.includes(code)) return false;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return true;
}

/** The colours of our own, and whatever else a terminal would obey, or show as another text. */
const obeyed =
  /(\u001b\[(?:[012]|3[1236])m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Texts may come from other machines, which need not have cleaned them. */
export function makeShowable(text: string, coloured = false): string {
  return text.replace(obeyed, (_, own: string | undefined) => (coloured && own) || '');
}

/** A text as part of a line: whatever it holds, it begins no line and no colour of its own. */
export function flatten(text: string): string {
  const lines = text.split(/[\n\r\u2028\u2029]+/);
  const last = lines.length - 1;
  const parts = lines
    .map((line, index) => (index > 0 ? line.trimStart() : line))
    .map((line, index) => (index < last ? line.trimEnd() : line))
    .filter((line, index) => line !== '' || index === 0 || index === last);
  return makeShowable(parts.join(' ').replaceAll('\t', ' '));
}

/** Is this a terminal? Asked in two steps: loading what knows it takes longer than to see that it is a pipe or a file. */
function isTerminal(fd: number): boolean {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false;
  } catch {
    return false; // closed
  }
  return fd === 1 ? process.stdout.isTTY === true : process.stderr.isTTY === true;
}

export type OutputOptions = { readonly color: boolean; readonly quiet: boolean };

/** The terminal, or whatever stands in its place. */
export function openOutput(
  env: { readonly [name: string]: string | undefined },
  options: OutputOptions,
): Output {
  const coloured = options.color && !env.NO_COLOR && env.TERM !== 'dumb' && isTerminal(1);
  return {
    print: (text) => {
      writeTo(1, `${makeShowable(text, coloured)}\n`);
    },
    tell: (text) => {
      if (!options.quiet) writeTo(2, `${makeShowable(text, coloured)}\n`);
    },
    paint: (colour, text) => (coloured ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text),
    isQuiet: options.quiet,
    columns: Math.max(40, Math.min(Number(env.COLUMNS) || terminalColumns() || 80, 200)),
  };
}

function terminalColumns(): number | null {
  return isTerminal(1) ? process.stdout.columns : null;
}

export type Column = { readonly align?: 'right'; readonly paint?: (text: string) => string };

/** What a column is never cut below: a word's beginning and the mark of the cut. */
const narrowest = 4;

/**
 * Rows in aligned columns; the last column takes what is left of the width, and is cut to it. Where that is not
 * enough, the widest of the others give way.
 */
export function formatTable(
  texts: readonly (readonly string[])[],
  columns: readonly Column[],
  width: number,
): string {
  const rows = texts.map((row) => row.map(flatten));
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => columnsOf(row[index] ?? ''))));
  const last = columns.length - 1;
  // A column that says nothing in any row takes no room at all.
  const isShown = columns.map((_, index) => index === last || (widths[index] ?? 0) > 0);
  const before = widths.slice(0, last).reduce((sum, each) => sum + (each > 0 ? each + 2 : 0), 0);
  widths[last] = Math.max(8, width - before);
  for (let over = before + 8 - width; over > 0; over--) {
    const others = widths.slice(0, last);
    const widest = others.indexOf(Math.max(...others));
    if ((others[widest] ?? 0) <= narrowest) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const lines = rows.map((row) => {
    const cells = columns.map(({ align, paint = (text) => text }, index) => {
      const text = cutColumns(row[index] ?? '', widths[index] ?? 0);
      const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - columnsOf(text)));
      return align === 'right' ? padding + paint(text) : paint(text) + padding;
    });
    return cells
      .filter((_, index) => isShown[index])
      .join('  ')
      .trimEnd();
  });
  return lines.join('\n');
}
