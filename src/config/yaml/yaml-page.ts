import { safeParse, type ZodMiniType } from 'zod/mini';
import { OrchError } from '../../errors.ts';
import { cleanLine, findNearest } from '../../text.ts';
import { formatMistake, locateIssues, locateMistake, type Mistake, sortMistakes } from './mistakes.ts';
import { readYaml } from './yaml-text.ts';

/** A mistake in one of several files. */
export type FileMistake = Mistake & { readonly file: string };

type Path = readonly PropertyKey[];

/** A YAML file that is read part by part. Mistakes are collected, to be reported together. */
export type YamlFile = {
  /** Null for an empty file, and if it is not valid YAML. */
  readonly value: unknown;
  readonly mistakes: readonly FileMistake[];
  /** Parses the value at a path; null if it is wrong, which adds a mistake. */
  read<T>(path: Path, value: unknown, shape: ZodMiniType<T>): T | null;
  /** Makes a mistake about the value at a path. */
  mistakeAt(path: Path, message: string): FileMistake;
};

/** Opens a YAML text. `file` is its name in messages. */
export function openYaml(file: string, text: string): YamlFile {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    const mistakeAt = (_: Path, text: string) => ({ file, ...place, key: null, message: text });
    const mistakes = [mistakeAt([], `not valid YAML: ${message}`)];
    return { value: null, mistakes, read: () => null, mistakeAt };
  }
  const mistakes: FileMistake[] = [];
  const read = <T>(path: Path, value: unknown, shape: ZodMiniType<T>): T | null => {
    const parsed = safeParse(shape, value);
    if (parsed.success) return parsed.data;
    const issues = parsed.error.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
    mistakes.push(...locateIssues(yaml, issues).map((mistake) => ({ file, ...mistake })));
    return null;
  };
  const mistakeAt = (path: Path, message: string) => ({ file, ...locateMistake(yaml, path, message) });
  return { value: yaml.value, mistakes, read, mistakeAt };
}

/**
 * Finds keys that are probably misspelt. Other unknown keys belong to other tools and are ignored, but an ignored
 * `depend_on` would let a task start too early. Short keys are left out, because they resemble too many words.
 */
export function findMisspelt(keys: readonly string[], known: readonly string[]): string[] {
  const strange = keys.filter((key) => !known.includes(key));
  const long = known.filter((key) => key.length > 3);
  return strange.flatMap((key) => {
    const meant = findNearest(key, long);
    return meant ? [`unknown key ${cleanLine(key, 60)}, did you mean ${meant}?`] : [];
  });
}

/** More would scroll off the screen. */
const mostShown = 20;

/** Puts all mistakes in a plan's files into one error. */
export function planInvalid(mistakes: readonly FileMistake[]): OrchError {
  const files = [...new Set(mistakes.map(({ file }) => file))];
  const inOrder = files.flatMap((file) =>
    sortMistakes(mistakes.filter((mistake) => mistake.file === file)).map((mistake) => ({
      file,
      ...mistake,
    })),
  );
  const lines = inOrder.slice(0, mostShown).map(({ file, ...mistake }) => formatMistake(file, mistake));
  if (inOrder.length > mostShown) lines.push(`and ${inOrder.length - mostShown} more`);
  const { file = '', line = 1 } = inOrder[0] ?? {};
  const where = inOrder.length === 1 ? `line ${line} of ${file}` : `these ${inOrder.length} places`;
  return new OrchError('PLAN_INVALID', lines.join('\n       '), {
    hint: `Fix ${where}, then run the same command again`,
    data: { file, line, mistakes: inOrder },
  });
}
