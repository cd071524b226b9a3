import { safeParse } from 'zod/mini';
import { isRecord } from '../checks.ts';
import { OrchError } from '../errors.ts';
import { configShape } from './config-shape.ts';
import type { Config } from './defaults.ts';
import { formatMistake, locateIssues, locateMistake, type Mistake, sortMistakes } from './yaml/mistakes.ts';
import { readYaml } from './yaml/yaml-text.ts';
import { describeValue } from './yaml/yaml-values.ts';

/** Parses a config; `file` is its name in messages. `CONFIG_INVALID` says where each mistake is. */
export function parseConfig(text: string, file: string): Config {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    throw wrongConfig(file, [{ ...place, key: null, message: `not valid YAML: ${message}` }]);
  }
  if (yaml.value !== null && !isRecord(yaml.value)) {
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
  if (first === undefined) return new OrchError('INTERNAL', `${file} is invalid for an unknown reason`);
  const { line, column, key } = first;
  const more = inOrder.length > 1 ? ` (and ${inOrder.length - 1} more)` : '';
  return new OrchError('CONFIG_INVALID', `${formatMistake(file, first)}${more}`, {
    hint: `Fix line ${line} of ${file}, then run the same command again`,
    data: { file, line, column, key, mistakes: inOrder },
  });
}
