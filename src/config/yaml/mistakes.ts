import type { core } from 'zod/mini';
import { cleanLine } from '../../text.ts';
import type { Place, YamlText } from './yaml-text.ts';
import { unknownKey } from './yaml-values.ts';

/** A mistake in a file, and the key it is about, if any. */
export type Mistake = Place & { readonly key: string | null; readonly message: string };

/** Turns zod issues into mistakes with their places. */
export function locateIssues(yaml: YamlText, issues: readonly core.$ZodIssue[]): Mistake[] {
  return issues.map((issue) => {
    const isUnknown = issue.code === 'custom' && issue.params?.unknownKey === unknownKey.unknownKey;
    return locateMistake(yaml, issue.path, issue.message, isUnknown ? 'key' : 'value');
  });
}

export function locateMistake(
  yaml: YamlText,
  path: readonly PropertyKey[],
  message: string,
  what: 'key' | 'value' = 'value',
): Mistake {
  return { ...yaml.placeOf(path, what), key: path.length === 0 ? null : formatKey(path), message };
}

/** `gates`, 0, `run` → `gates[0].run`. */
function formatKey(path: readonly PropertyKey[]): string {
  return path.reduce<string>((key, step) => {
    if (typeof step === 'number') return `${key}[${step}]`;
    return key === '' ? String(step) : `${key}.${String(step)}`;
  }, '');
}

/** Sorts by place, and strips control characters: messages quote the file, and a terminal would act on them. */
export function sortMistakes(mistakes: readonly Mistake[]): Mistake[] {
  return mistakes
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map((mistake) => ({
      ...mistake,
      key: mistake.key && cleanLine(mistake.key, 200),
      message: cleanLine(mistake.message, 1_000),
    }));
}

/** `release.yaml:4:5: tasks[1].run: …` */
export function formatMistake(file: string, { line, column, key, message }: Mistake): string {
  return `${file}:${line}:${column}: ${key === null ? '' : `${key}: `}${message}`;
}
