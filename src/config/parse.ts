import { safeParse } from 'zod/mini';
import { OrchError } from '../errors.ts';
import { readYaml } from '../yaml.ts';
import { formatMistake, locateIssues, locateMistake, type Mistake, sortMistakes } from '../yaml-mistakes.ts';
import { describeValue, isMapping } from '../yaml-values.ts';
import type { Config } from './defaults.ts';
import { configShape } from './shape.ts';

/** Reads the settings in a file's text; `file` is its name in messages. `CONFIG_INVALID` names every mistake's place. */
export function parseConfig(text: string, file: string): Config {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    throw wrongConfig(file, [{ ...place, key: null, message: `not valid YAML: ${message}` }]);
  }
  if (yaml.value !== null && !isMapping(yaml.value)) {
    const message = `found ${describeValue(yaml.value)}; allowed: keys and their values, such as "budget: 5"`;
    throw wrongConfig(file, [locateMistake(yaml, [], message)]);
  }
  const parsed = safeParse(configShape, yaml.value);
  if (parsed.success) return parsed.data;
  throw wrongConfig(file, locateIssues(yaml, parsed.error.issues));
}

function wrongConfig(file: string, mistakes: readonly Mistake[]): OrchError {
  const inOrder = sortMistakes(mistakes);
  const [first] = inOrder;
  if (first === undefined) return new OrchError('INTERNAL', `${file} is wrong, and nobody knows why`);
  const { line, column, key } = first;
  const more = inOrder.length > 1 ? ` (and ${inOrder.length - 1} more)` : '';
  return new OrchError('CONFIG_INVALID', `${formatMistake(file, first)}${more}`, {
    hint: `Correct line ${line} of ${file}, then run the same command again`,
    data: { file, line, column, key, mistakes: inOrder },
  });
}
