import { safeParse, type ZodMiniType } from 'zod/mini';
import { OrchError } from '../errors.ts';
import { findNearest } from '../spelling.ts';
import { cleanLine } from '../text.ts';
import { readYaml } from '../yaml.ts';
import { formatMistake, locateIssues, locateMistake, type Mistake, sortMistakes } from '../yaml-mistakes.ts';

/** Something wrong in one of several files. */
export type FileMistake = Mistake & { readonly file: string };

type Path = readonly PropertyKey[];

/** A YAML file of the user's that is being read, part by part: what is wrong is collected, to be told at once. */
export type Page = {
  /** Null also where it is no YAML. */
  readonly value: unknown;
  readonly mistakes: readonly FileMistake[];
  /** What stands at a path, by its shape; null where it is wrong, which is noted. */
  read<T>(path: Path, value: unknown, shape: ZodMiniType<T>): T | null;
  /** Says that something is wrong with what stands at a path. */
  mistakeAt(path: Path, message: string): FileMistake;
};

/** Opens a YAML text. `file` is its name in messages. */
export function openPage(file: string, text: string): Page {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    const mistakeAt = (_: Path, said: string) => ({ file, ...place, key: null, message: said });
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
 * The keys that are probably slips. Others are other tools' and stay unread, but a `depend_on` that nobody reads
 * would let a task begin too early. To a word of two letters too many are near.
 */
export function findSlips(keys: readonly string[], known: readonly string[]): string[] {
  const strange = keys.filter((key) => !known.includes(key));
  const long = known.filter((key) => key.length > 3);
  return strange.flatMap((key) => {
    const meant = findNearest(key, long);
    return meant ? [`unknown key ${cleanLine(key, 60)}, did you mean ${meant}?`] : [];
  });
}

/** More would only scroll away. */
const mostShown = 20;

/** All that is wrong with the files of a plan as one error. */
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
    hint: `Correct ${where}, then run the same command again`,
    data: { file, line, mistakes: inOrder },
  });
}
