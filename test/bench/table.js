const header = ['WHAT', 'OURS', 'OTHER', 'AGAINST', 'RATIO', 'BAR', ''];
const rightAligned = new Set([1, 2, 4, 5]);

/** Is a result past its bar? One without a bar never is. What has a `difference` is judged by that, not by a ratio. */
export function isPast({ ratio, difference, bar }) {
  return bar !== undefined && (difference ?? ratio) > bar;
}

function formatRow(result) {
  const { what, against, ours, theirs, ratio, difference, unit = 'ms', bar } = result;
  const figure = (value) => `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`;
  const verdict = bar === undefined ? '' : isPast(result) ? 'PAST' : 'ok';
  return [
    what,
    figure(ours),
    figure(theirs),
    against,
    difference === undefined ? ratio.toFixed(2) : `+${figure(difference)}`,
    bar === undefined ? '–' : `≤ ${bar}${difference === undefined ? '' : ` ${unit}`}`,
    verdict,
  ];
}

/** Aligned columns: the medians of both sides, the median of their ratios, and what it may be. */
export function formatResults(results) {
  const rows = [header, ...results.map(formatRow)];
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const pad = (cell, column) =>
    rightAligned.has(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]);
  const lines = rows.map((row) => row.map(pad).join('  ').trimEnd());
  const notes = results.flatMap(({ what, note }) => (note === undefined ? [] : [`${what}: ${note}`]));
  return [...lines, ...notes].join('\n');
}
