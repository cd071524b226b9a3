/** A file that a task wants, and another task that may touch it. */
type Conflict<H> = { readonly file: string; readonly holder: H };

/** The files that running tasks may touch; each task is a holder. */
type Claims<H> = {
  /** Finds the first of a task's files that another holder may touch; null if there is none. */
  findConflict(files: readonly string[]): Conflict<H> | null;
  add(holder: H, files: readonly string[]): void;
  /** Frees a holder's files. */
  release(holder: H): void;
};

/**
 * Opens an empty set of claims. It gives the same answers as comparing every file with every other by `mayOverlap`, but
 * looks plain paths up in an index, because there may be thousands.
 */
export function openClaims<H>(): Claims<H> {
  const claimed = new Map<H, readonly Pattern[]>();
  const paths = openIndex<H>();
  // The folders above those paths: claiming a folder claims everything in it.
  const above = openIndex<H>();
  const globs = new Map<H, readonly Pattern[]>();
  const read = rememberPatterns();

  function findHolder(pattern: Pattern): H | undefined {
    for (const [holder, theirs] of globs) if (theirs.some((glob) => overlaps(glob, pattern))) return holder;
    if (pattern.isPlain) {
      const steps = stepsOf(pattern);
      return above.find(steps.at(-1) ?? '') ?? steps.map(paths.find).find((holder) => holder !== undefined);
    }
    for (const [holder, theirs] of claimed)
      if (theirs.some((path) => path.isPlain && overlaps(path, pattern))) return holder;
    return undefined;
  }

  return {
    findConflict: (files) => {
      for (const file of files) {
        const holder = findHolder(read(file));
        if (holder !== undefined) return { file, holder };
      }
      return null;
    },
    add: (holder, files) => {
      const patterns = files.map(read);
      claimed.set(holder, patterns);
      const wild = patterns.filter(({ isPlain }) => !isPlain);
      if (wild.length > 0) globs.set(holder, wild);
      for (const pattern of patterns.filter(({ isPlain }) => isPlain)) {
        const steps = stepsOf(pattern);
        paths.add(steps.at(-1) ?? '', holder);
        for (const step of steps.slice(0, -1)) above.add(step, holder);
      }
    },
    release: (holder) => {
      for (const pattern of claimed.get(holder) ?? [])
        for (const step of stepsOf(pattern)) {
          paths.remove(step, holder);
          above.remove(step, holder);
        }
      claimed.delete(holder);
      globs.delete(holder);
    },
  };
}

/** Opens an index of the holders of each path. */
function openIndex<H>() {
  const holders = new Map<string, Set<H>>();
  return {
    find: (path: string): H | undefined => holders.get(path)?.values().next().value,
    add: (path: string, holder: H): void => {
      const known = holders.get(path);
      if (known) known.add(holder);
      else holders.set(path, new Set([holder]));
    },
    remove: (path: string, holder: H): void => {
      const known = holders.get(path);
      if (known?.delete(holder) && known.size === 0) holders.delete(path);
    },
  };
}

function rememberPatterns(): (file: string) => Pattern {
  const known = new Map<string, Pattern>();
  return (file) => {
    const pattern = known.get(file) ?? readPattern(file);
    known.set(file, pattern);
    return pattern;
  };
}

/** `src/auth/login.ts` → `src`, `src/auth`, `src/auth/login.ts`. */
function stepsOf({ parts }: Pattern): string[] {
  let path = '';
  return parts.map(({ text }) => {
    path = path === '' ? text : `${path}/${text}`;
    return path;
  });
}

/** Syntax beyond `*` and `?`, which may match across folders or outside of them. */
const beyond = /\*\*|[{}()!]/;
const wild = /[*?[\]]/;

/** A path or a glob, parsed once to be compared often. */
type Pattern = {
  /** Whether it is a plain path in the repository, without wildcards. */
  readonly isPlain: boolean;
  /** Its path segments. */
  readonly parts: readonly Part[];
  /** Whether it contains `..`, so that it may lead anywhere. */
  readonly leavesFolder: boolean;
};

/** A path segment, with its text before the first wildcard and after the last; the whole text if it has none. */
type Part = {
  readonly text: string;
  readonly reach: 'name' | 'wild' | 'any';
  readonly start: string;
  readonly end: string;
};

/** Parses a path or a glob. Case is ignored, as on some file systems. */
function readPattern(glob: string): Pattern {
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

/** Whether two patterns may match the same path. If in doubt they do: waiting for nothing only costs time. */
function overlaps(a: Pattern, b: Pattern): boolean {
  if (a.leavesFolder || b.leavesFolder) return true;
  for (const [index, x] of a.parts.entries()) {
    const y = b.parts[index];
    if (y === undefined || x.reach === 'any' || y.reach === 'any') return true;
    if (!mayMatchSame(x, y)) return false;
  }
  return true;
}

/** Whether two paths or globs may match the same path; a folder matches everything in it. */
export function mayOverlap(a: string, b: string): boolean {
  return overlaps(readPattern(a), readPattern(b));
}

function partsOf(glob: string): string[] {
  return glob
    .toLowerCase()
    .split(/[/\\]+/)
    .filter((part) => part !== '' && part !== '.');
}

function mayMatchSame(x: Part, y: Part): boolean {
  if (x.reach === 'name' && y.reach === 'name') return x.text === y.text;
  const startsFit = x.start.startsWith(y.start) || y.start.startsWith(x.start);
  return startsFit && (x.end.endsWith(y.end) || y.end.endsWith(x.end));
}
