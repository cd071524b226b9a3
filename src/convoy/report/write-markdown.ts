import { codeText, plainText } from '../../checkpoint/brief/brief-text.ts';
import type { Block, Cell, ReportDocument } from './report-document.ts';

/** A recorded text is at most a few lines. */
const longest = 1_000;

/** Writes a report as Markdown, in which nothing recorded can pass for markup. */
export function writeMarkdown({ title, sections }: ReportDocument): string {
  const parts = sections.flatMap(({ title: name, blocks }) => [
    ...(name === null ? [] : [`## ${plainText(name, longest)}`]),
    ...blocks.map(writeBlock),
  ]);
  return `${[`# ${plainText(title, longest)}`, ...parts].join('\n\n')}\n`;
}

function writeBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
      return writeCells(block.parts);
    case 'list':
      return block.items.map((parts) => `- ${writeCells(parts)}`).join('\n');
    case 'table': {
      const line = block.head.map((_, column) => (block.numbers.includes(column) ? '---:' : '---'));
      const rows = block.rows.map((row) => row.map((cell) => writeCell(cell)));
      return [block.head, line, ...rows].map(writeRow).join('\n');
    }
  }
}

function writeRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

export function writeCells(parts: readonly Cell[]): string {
  return parts.map(writeCell).join('');
}

/** The spaces around a part are ours: they separate it from its neighbours. */
function writeCell(cell: Cell): string {
  if (typeof cell !== 'string') return codeText(cell.code, longest);
  const isAfterText = /^\s/.test(cell);
  const isBeforeText = /\S\s+$/.test(cell);
  return `${isAfterText ? ' ' : ''}${plainText(cell, longest)}${isBeforeText ? ' ' : ''}`;
}
