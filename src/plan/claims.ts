import { isPlain, mayOverlap, partsOf } from './files.ts';

/** The files that tasks at work together may touch. */
export type Claims = {
  /** Could none of them be touched by another task with these files too? One that names none may touch any. */
  isFree(files: readonly string[]): boolean;
  add(files: readonly string[]): void;
};

/**
 * Opens the claims of tasks that run together, without any. Says the same as comparing each task with each by
 * `shareFiles`; plain paths, of which there may be thousands, are looked up.
 */
export function openClaims(): Claims {
  const paths = new Set<string>();
  // The folders above them: who claims one of these claims all that is in it.
  const above = new Set<string>();
  const globs: string[] = [];
  let isAnyClaimed = false;
  let isEmpty = true;

  function isPathFree(path: string): boolean {
    const steps = stepsOf(path);
    return !above.has(steps.at(-1) ?? '') && !steps.some((step) => paths.has(step));
  }

  return {
    isFree: (files) => {
      if (isEmpty || isAnyClaimed || files.length === 0) return isEmpty;
      return files.every((file) => {
        if (globs.some((glob) => mayOverlap(glob, file))) return false;
        return isPlain(file) ? isPathFree(file) : ![...paths].some((path) => mayOverlap(path, file));
      });
    },
    add: (files) => {
      isEmpty = false;
      if (files.length === 0) isAnyClaimed = true;
      for (const file of files) {
        const steps = stepsOf(file);
        if (!isPlain(file)) globs.push(file);
        else {
          paths.add(steps.at(-1) ?? '');
          for (const step of steps.slice(0, -1)) above.add(step);
        }
      }
    },
  };
}

/** `src/auth/login.ts` → `src`, `src/auth`, `src/auth/login.ts`. */
function stepsOf(path: string): string[] {
  const parts = partsOf(path);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
