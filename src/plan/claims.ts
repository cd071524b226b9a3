import { overlaps, type Pattern, readPattern } from './files.ts';

/** A file that a task wants, and somebody who may touch it too. */
export type Conflict<H> = { readonly file: string; readonly holder: H };

/** The files that tasks at work together may touch; each task is a holder. */
export type Claims<H> = {
  /** The first of a task's files that somebody else may touch; null where none is. */
  findConflict(files: readonly string[]): Conflict<H> | null;
  add(holder: H, files: readonly string[]): void;
  /** What a holder had is free again. */
  release(holder: H): void;
};

/**
 * Opens the claims of tasks that run together, without any. Says the same as comparing each task with each by
 * `shareFiles`, but for tasks that name no files, which are alone anyway; plain paths, of which there may be
 * thousands, are looked up.
 */
export function openClaims<H>(): Claims<H> {
  const claimed = new Map<H, readonly Pattern[]>();
  const paths = openIndex<H>();
  // The folders above them: who claims one of these claims all that is in it.
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

/** Who is at a path. */
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
