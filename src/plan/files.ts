/** Could two tasks work on the same file? One that does not say what it works on may work on any. */
export function shareFiles(a: readonly string[], b: readonly string[]): boolean {
  if (a.length === 0 || b.length === 0) return true;
  return a.some((mine) => b.some((theirs) => mayOverlap(mine, theirs)));
}

/** What makes a part of a path more than a name, beyond `*` and `?`: it may reach across folders, or out of them. */
const beyond = /\*\*|[{}()!]/;
const wild = /[*?[\]]/;

/** A path or a glob, read once to be compared often. */
export type Pattern = {
  /** Is it a path and nothing else, in the repository? */
  readonly isPlain: boolean;
  /** Each name on the way to it. */
  readonly parts: readonly Part[];
  /** Could it lead anywhere? */
  readonly leavesFolder: boolean;
};

/** What stands before the first wildcard of a name and behind the last one; all of it where there is none. */
type Part = {
  readonly text: string;
  readonly reach: 'name' | 'wild' | 'any';
  readonly start: string;
  readonly end: string;
};

/** Reads a path or a glob. Letters are the same in upper and lower case, as on some disks. */
export function readPattern(glob: string): Pattern {
  const parts = partsOf(glob).map(readPart);
  const leavesFolder = parts.some(({ text }) => text === '..');
  const isPlain = parts.length > 0 && !leavesFolder && parts.every(({ reach }) => reach === 'name');
  return { isPlain, parts, leavesFolder };
}

function readPart(text: string): Part {
  if (beyond.test(text)) return { text, reach: 'any', start: '', end: '' };
  if (!wild.test(text)) return { text, reach: 'name', start: text, end: text };
  const names = text.split(wild);
  return { text, reach: 'wild', start: names[0] ?? '', end: names.at(-1) ?? '' };
}

/**
 * Could two globs match the same path? In doubt they could: tasks that wait for one another are only slower.
 * A folder stands for all that is in it.
 */
export function overlaps(a: Pattern, b: Pattern): boolean {
  if (a.leavesFolder || b.leavesFolder) return true;
  for (const [index, x] of a.parts.entries()) {
    const y = b.parts[index];
    if (y === undefined || x.reach === 'any' || y.reach === 'any') return true;
    if (!mayBeTheSame(x, y)) return false;
  }
  return true;
}

export function mayOverlap(a: string, b: string): boolean {
  return overlaps(readPattern(a), readPattern(b));
}

/** The names on the way to a file, as all disks would compare them. */
function partsOf(glob: string): string[] {
  return glob
    .toLowerCase()
    .split(/[/\\]+/)
    .filter((part) => part !== '' && part !== '.');
}

function mayBeTheSame(x: Part, y: Part): boolean {
  if (x.reach === 'name' && y.reach === 'name') return x.text === y.text;
  const startsFit = x.start.startsWith(y.start) || y.start.startsWith(x.start);
  return startsFit && (x.end.endsWith(y.end) || y.end.endsWith(x.end));
}
