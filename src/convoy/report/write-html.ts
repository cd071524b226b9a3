import { cleanLine } from '../../text.ts';
import type { Block, Cell, ReportDocument } from './report-document.ts';

const longest = 4_000;

/** Writes a report as one HTML file that loads nothing and runs nothing; everything recorded is text. */
export function writeHtml({ title, sections }: ReportDocument): string {
  const parts = sections.map(({ title: name, blocks }) =>
    [
      '<section>',
      ...(name === null ? [] : [`<h2>${escapeText(name)}</h2>`]),
      ...blocks.map(writeBlock),
      '</section>',
    ].join('\n'),
  );
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeText(title)}</title>`,
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    `<h1>${escapeText(title)}</h1>`,
    ...parts,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

const style = `
:root { color-scheme: light dark; --text: #1f2328; --dim: #59636e; --line: #d1d9e0; --back: #fff; --code: #f0f2f4 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --dim: #9198a1; --line: #3d444d; --back: #0d1117; --code: #1f252d }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 68em; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.6em } h2 { font-size: 1.15em; margin-top: 2em }
section { overflow-x: auto }
table { border-collapse: collapse; margin: 1em 0 }
th, td { text-align: left; vertical-align: top; padding: .3em 1em .3em 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
th { color: var(--dim); font-weight: 500 }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
code { background: var(--code); padding: .1em .35em; border-radius: 4px; font-size: .92em }
`;

function writeBlock(block: Block): string {
  switch (block.kind) {
    case 'text':
      return `<p>${writeCells(block.parts)}</p>`;
    case 'list':
      return `<ul>\n${block.items.map((parts) => `<li>${writeCells(parts)}</li>`).join('\n')}\n</ul>`;
    case 'table': {
      const cell = (tag: 'th' | 'td', content: string, column: number) =>
        `<${tag}${block.numbers.includes(column) ? ' class="number"' : ''}>${content}</${tag}>`;
      const head = block.head.map((name, column) => cell('th', escapeText(name), column)).join('');
      const rows = block.rows.map((row) =>
        row.map((each, column) => cell('td', writeCell(each), column)).join(''),
      );
      return `<table>\n${[head, ...rows].map((row) => `<tr>${row}</tr>`).join('\n')}\n</table>`;
    }
  }
}

function writeCells(parts: readonly Cell[]): string {
  return parts.map(writeCell).join('');
}

function writeCell(cell: Cell): string {
  return typeof cell === 'string' ? escapeText(cell) : `<code>${escapeText(cell.code)}</code>`;
}

const entities: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** One line without control characters; the spaces at its ends separate it from its neighbours. */
function escapeText(text: string): string {
  const [start, end] = [/^\s/.test(text) ? ' ' : '', /\S\s+$/.test(text) ? ' ' : ''];
  const line = `${start}${cleanLine(text, longest)}${end}`;
  return line.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}
