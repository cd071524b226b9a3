/** Could two tasks work on the same file? One that does not say what it works on may work on any. */
export function shareFiles(a: readonly string[], b: readonly string[]): boolean {
  if (a.length === 0 || b.length === 0) return true;
  return a.some((mine) => b.some((theirs) => mayOverlap(mine, theirs)));
}

/** What makes a part of a path more than a name, beyond `*` and `?`: it may reach across folders, or out of them. */
const beyond = /[{}()!]/;
const wild = /[*?[\]]/;

/**
 * Could two globs match the same path? In doubt they could: tasks that wait for one another are only slower.
 * A folder stands for all that is in it, and letters are the same in upper and lower case, as on some disks.
 */
export function mayOverlap(a: string, b: string): boolean {
  const [left, right] = [partsOf(a), partsOf(b)];
  if ([...left, ...right].includes('..')) return true;
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const [x = '', y = ''] = [left[index], right[index]];
    if ([x, y].some((part) => part.includes('**') || beyond.test(part))) return true;
    if (!mayBeTheSame(x, y)) return false;
  }
  return true;
}

/** Is it a path and nothing else, in the repository? */
export function isPlain(glob: string): boolean {
  const parts = partsOf(glob);
  return parts.length > 0 && !beyond.test(glob) && !wild.test(glob) && !parts.includes('..');
}

/** The names on the way to a file, as all disks would compare them. */
export function partsOf(glob: string): string[] {
  return glob
    .toLowerCase()
    .split(/[/\\]+/)
    .filter((part) => part !== '' && part !== '.');
}

/** Two parts of a path: what stands before the first wildcard and behind the last one must fit. */
function mayBeTheSame(x: string, y: string): boolean {
  if (!wild.test(x) && !wild.test(y)) return x === y;
  const [from, to] = [edgesOf(x), edgesOf(y)];
  const fits = (one: string, other: string) => one.startsWith(other) || other.startsWith(one);
  return fits(from.start, to.start) && fits(reverse(from.end), reverse(to.end));
}

function edgesOf(part: string): { readonly start: string; readonly end: string } {
  if (!wild.test(part)) return { start: part, end: part };
  const [start = ''] = part.split(wild);
  return { start, end: part.split(wild).at(-1) ?? '' };
}

function reverse(text: string): string {
  return [...text].reverse().join('');
}
