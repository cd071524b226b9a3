import { fstatSync, writeSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { columnsOf, cutColumns } from '../text.ts';

const colours = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
export type Colour = keyof typeof colours;

export type Output = {
  /** Data: standard output. */
  print(text: string): void;
  /** Everything else: standard error. Not printed with --quiet. */
  inform(text: string): void;
  paint(colour: Colour, text: string): string;
  readonly columns: number;
  readonly isQuiet: boolean;
};

/** The reader closed its end (`| head`), or the terminal was closed. */
const gone = ['EPIPE', 'EIO'];

/** Writes all of the text, even to a slow pipe. Returns false if the reader is gone, which is not an error. */
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

/** Our own colours (captured), and every other character that a terminal would act on or use to disguise text. */
const controls =
  /(\u001b\[(?:[012]|3[1236])m)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Removes control characters: texts from other machines may contain any. */
export function makeShowable(text: string, coloured = false): string {
  return text.replace(controls, (_, own: string | undefined) => (coloured && own) || '');
}

/** Puts a text on one line, without colours or control characters. */
export function flatten(text: string): string {
  const lines = text.split(/[\n\r\u2028\u2029]+/);
  const last = lines.length - 1;
  const parts = lines
    .map((line, index) => (index > 0 ? line.trimStart() : line))
    .map((line, index) => (index < last ? line.trimEnd() : line))
    .filter((line, index) => line !== '' || index === 0 || index === last);
  return makeShowable(parts.join(' ').replaceAll('\t', ' '));
}

/** Checks the file type first, because `isTTY` loads the tty module, which takes longer. */
function isTerminal(fd: number): boolean {
  try {
    if (!fstatSync(fd).isCharacterDevice()) return false;
  } catch {
    return false; // closed
  }
  return fd === 1 ? process.stdout.isTTY === true : process.stderr.isTTY === true;
}

type OutputOptions = { readonly color: boolean; readonly quiet: boolean };

/** Opens standard output and standard error, with colours only on a terminal that wants them. */
export function openOutput(
  env: { readonly [name: string]: string | undefined },
  options: OutputOptions,
): Output {
  const coloured = options.color && !env.NO_COLOR && env.TERM !== 'dumb' && isTerminal(1);
  return {
    print: (text) => {
      writeTo(1, `${makeShowable(text, coloured)}\n`);
    },
    inform: (text) => {
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

/** A column of numbers. */
export const right: Column = { align: 'right' };

/** No column is cut below this: the beginning of a word and the mark of the cut. */
const narrowest = 4;

/**
 * Formats rows in aligned columns. The last column gets the rest of the width and is cut to it; if that is too little,
 * the widest of the other columns shrink. With `paintHeader`, the first row is painted as a whole.
 */
export function formatTable(
  texts: readonly (readonly string[])[],
  columns: readonly Column[],
  width: number,
  paintHeader: ((line: string) => string) | null = null,
): string {
  const rows = texts.map((row) => row.map(flatten));
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => columnsOf(row[index] ?? ''))));
  const last = columns.length - 1;
  // A column that is empty in every row takes no room.
  const isShown = columns.map((_, index) => index === last || (widths[index] ?? 0) > 0);
  const before = widths.slice(0, last).reduce((sum, each) => sum + (each > 0 ? each + 2 : 0), 0);
  widths[last] = Math.max(8, width - before);
  for (let over = before + 8 - width; over > 0; over--) {
    const others = widths.slice(0, last);
    const widest = others.indexOf(Math.max(...others));
    if ((others[widest] ?? 0) <= narrowest) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  const lines = rows.map((row, rowIndex) => {
    const isHeader = paintHeader !== null && rowIndex === 0;
    const cells = columns.map(({ align, paint }, index) => {
      const text = cutColumns(row[index] ?? '', widths[index] ?? 0);
      const padding = ' '.repeat(Math.max(0, (widths[index] ?? 0) - columnsOf(text)));
      const painted = isHeader || !paint ? text : paint(text);
      return align === 'right' ? padding + painted : painted + padding;
    });
    const shown = cells.filter((_, index) => isShown[index]);
    const line = shown.join('  ').trimEnd();
    return isHeader ? paintHeader(line) : line;
  });
  return lines.join('\n');
}

/** A table below a dim header, as wide as the terminal. */
export function showTable(
  { paint, columns: width }: Output,
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns: readonly Column[],
): string {
  return formatTable([header, ...rows], columns, width, (line) => paint('dim', line));
}

/** Prints one JSON document. */
export function printJson({ print }: Output, document: unknown): undefined {
  print(JSON.stringify(document));
}

/** One fact per line, with its name in front; those without a value are left out. */
export function showFacts(
  { paint, columns: width }: Output,
  facts: readonly (readonly [name: string, value: string | null])[],
  paintValue: (value: string) => string = (value) => value,
): string {
  const rows = facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  return formatTable(rows, [{ paint: (name) => paint('dim', name) }, { paint: paintValue }], width);
}
