/** A line that stays, goes or comes. */
type Change = { readonly kind: ' ' | '-' | '+'; readonly line: string };

/** How many lines are shown around a change. */
const context = 3;
/** Past this, comparing every line with every other takes too long: all of it goes and comes. */
const mostComparisons = 4_000_000;

/** Shows what changes between two texts as a unified diff; empty where nothing does, null for a file that is not there. */
export function describeChange(before: string | null, after: string | null): string {
  if (before === after) return '';
  const changes = compareLines(splitLines(before ?? ''), splitLines(after ?? ''));
  return findHunks(changes)
    .map(([from, to]) => writeHunk(changes, from, to))
    .join('');
}

/** Lines with their ends: a last line without one is another line. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function compareLines(before: readonly string[], after: readonly string[]): Change[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const keep = (lines: readonly string[]) => lines.map((line) => ({ kind: ' ' as const, line }));
  return [
    ...keep(before.slice(0, head)),
    ...compareMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...keep(before.slice(before.length - tail)),
  ];
}

/** The longest common subsequence, by the table of its lengths. */
function compareMiddle(before: readonly string[], after: readonly string[]): Change[] {
  const width = after.length + 1;
  const isLarge = before.length * after.length > mostComparisons;
  const lengths = new Uint32Array(isLarge ? 0 : (before.length + 1) * width);
  const lengthAt = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = isLarge ? -1 : before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        before[i] === after[j]
          ? lengthAt(i + 1, j + 1) + 1
          : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, fresh] = [before[i], after[j]];
    if (!isLarge && old !== undefined && old === fresh) {
      changes.push({ kind: ' ', line: old });
      i++;
      j++;
    } else if (old !== undefined && (fresh === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      changes.push({ kind: '-', line: old });
      i++;
    } else {
      changes.push({ kind: '+', line: fresh ?? '' });
      j++;
    }
  }
  return changes;
}

/** Where changes are, with the lines around; those that would touch are one. */
function findHunks(changes: readonly Change[]): [from: number, to: number][] {
  const hunks: [number, number][] = [];
  for (const [index, { kind }] of changes.entries()) {
    if (kind === ' ') continue;
    const [from, to] = [Math.max(0, index - context), Math.min(changes.length, index + context + 1)];
    const last = hunks.at(-1);
    if (last && from <= last[1]) last[1] = to;
    else hunks.push([from, to]);
  }
  return hunks;
}

function writeHunk(changes: readonly Change[], from: number, to: number): string {
  const count = (part: readonly Change[], gone: '-' | '+') => part.filter(({ kind }) => kind !== gone).length;
  const range = (gone: '-' | '+') => {
    const length = count(changes.slice(from, to), gone);
    const start = count(changes.slice(0, from), gone);
    return `${length === 0 ? start : start + 1},${length}`;
  };
  const lines = changes.slice(from, to).map(({ kind, line }) => {
    return line.endsWith('\n') ? kind + line : `${kind}${line}\n\\ No newline at end of file\n`;
  });
  return `@@ -${range('+')} +${range('-')} @@\n${lines.join('')}`;
}
