import { safeParse } from 'zod/mini';
import { OrchError } from '../errors.ts';
import { cleanLine } from '../text.ts';
import { type Place, readYaml } from '../yaml.ts';
import type { Config } from './defaults.ts';
import { configShape } from './shape.ts';
import { describeValue, isMapping, unknownKey } from './values.ts';

/** A mistake in the file; `key` is null where it is not about one. */
type Mistake = Place & { readonly key: string | null; readonly message: string };

/** Reads the settings in a file's text; `file` is its name in messages. `CONFIG_INVALID` names every mistake's place. */
export function parseConfig(text: string, file: string): Config {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    throw wrongConfig(file, [{ ...place, key: null, message: `not valid YAML: ${message}` }]);
  }
  if (yaml.value !== null && !isMapping(yaml.value)) {
    const message = `found ${describeValue(yaml.value)}; allowed: keys and their values, such as "budget: 5"`;
    throw wrongConfig(file, [{ ...yaml.placeOf([], 'value'), key: null, message }]);
  }
  const parsed = safeParse(configShape, yaml.value);
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues.map((issue) => {
    const isUnknown = issue.code === 'custom' && issue.params?.unknownKey === unknownKey.unknownKey;
    const place = yaml.placeOf(issue.path, isUnknown ? 'key' : 'value');
    return { ...place, key: formatKey(issue.path), message: issue.message };
  });
  throw wrongConfig(file, mistakes);
}

/** `gates`, 0, `run` → `gates[0].run`. */
function formatKey(path: readonly PropertyKey[]): string {
  return path.reduce<string>((key, step) => {
    if (typeof step === 'number') return `${key}[${step}]`;
    return key === '' ? String(step) : `${key}.${String(step)}`;
  }, '');
}

function wrongConfig(file: string, mistakes: readonly Mistake[]): OrchError {
  const inOrder = mistakes
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    // What stands in the file is quoted here, and a terminal may take it for orders.
    .map((mistake) => ({
      ...mistake,
      key: mistake.key && cleanLine(mistake.key, 200),
      message: cleanLine(mistake.message, 1_000),
    }));
  const [first] = inOrder;
  if (first === undefined) return new OrchError('INTERNAL', `${file} is wrong, and nobody knows why`);
  const { line, column, key, message } = first;
  const more = inOrder.length > 1 ? ` (and ${inOrder.length - 1} more)` : '';
  return new OrchError(
    'CONFIG_INVALID',
    `${file}:${line}:${column}: ${key === null ? '' : `${key}: `}${message}${more}`,
    {
      hint: `Correct line ${line} of ${file}, then run the same command again`,
      data: { file, line, column, key, mistakes: inOrder },
    },
  );
}
