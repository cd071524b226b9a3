import { isRecord } from '../../checks.ts';
import { OrchError } from '../../errors.ts';
import { canonicalJson } from '../../state/canonical.ts';
import { type Disk, statIfThere } from '../../system/disk.ts';
import { appendLines } from '../../system/line-file.ts';
import { valueName } from '../condition.ts';

/*
 * The values a task sets for the tasks after it: JSON objects, one per line, in a file of its own (`orch run set`
 * appends to it) or as the last line that its command prints.
 */

export type Values = { readonly [name: string]: string };

/** How much the values of one task may take together: they are recorded with it. */
export const maxValuesBytes = 32 * 1024;

export type ReadValues = { readonly values: Values } | { readonly problem: string };

/** Reads what a task wrote into its file, then its last line. The line counts only if it is an object with valid names. */
export function readValues(file: string, lastLine: string): ReadValues {
  const values: Record<string, string> = {};
  for (const [index, line] of file.split('\n').entries()) {
    if (line.trim() === '') continue;
    const found = parseLine(line);
    if (found === null)
      return { problem: `line ${index + 1} of its file of values is not a JSON object of values` };
    Object.assign(values, found);
  }
  const printed = parseLine(lastLine) ?? {};
  // Programs print JSON for other reasons too.
  const all = { ...values, ...printed };
  const kept = measure(all) <= maxValuesBytes ? all : values;
  const bytes = measure(kept);
  if (bytes > maxValuesBytes)
    return { problem: `its values take ${bytes} bytes, and at most ${maxValuesBytes} can be recorded` };
  return { values: kept };
}

function measure(values: Values): number {
  return Buffer.byteLength(JSON.stringify(values));
}

function parseLine(line: string): Values | null {
  if (!line.trimStart().startsWith('{')) return null;
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isRecord(parsed)) return null;
  const entries = Object.entries(parsed);
  if (!entries.every(([name]) => valueName.test(name) && name !== '__proto__')) return null;
  return Object.fromEntries(entries.map(([name, value]) => [name, formatValue(value)]));
}

/** Text as it is, anything else as JSON, and nothing as empty text. */
function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : canonicalJson(value);
}

/** Sets values for the tasks after the one this call is part of, as `orch run set` does. */
export async function setValues(disk: Disk, file: string, values: Values): Promise<void> {
  const wrong = Object.keys(values).find((name) => !valueName.test(name));
  if (wrong !== undefined)
    throw new OrchError('USAGE', `${JSON.stringify(wrong.slice(0, 80))} cannot be the name of a value`, {
      hint: 'A name has letters, digits and _, and starts with no digit, such as: orch run set VERSION 1.4.0',
    });
  const bytes = measure(values) + (statIfThere(file)?.size ?? 0);
  if (bytes > maxValuesBytes)
    throw new OrchError(
      'USAGE',
      `the values of a task can take ${maxValuesBytes} bytes, and these take ${bytes}`,
      {
        hint: 'Write what is long into a file, and set its path as the value',
        data: { bytes, most: maxValuesBytes },
      },
    );
  await appendLines(disk, file, [JSON.stringify(values)]);
}

/** The longest line that is examined. */
const maxLine = maxValuesBytes * 2;

/** Keeps the last line of an output that has any text. */
export function keepLastLine(): { add(text: string): void; read(): string } {
  let rest = '';
  return {
    add: (text) => {
      rest = (rest + text).slice(-maxLine);
      const lines = rest.trimEnd().split('\n');
      const last = lines.at(-1) ?? '';
      // What follows may continue the last line.
      rest = rest.slice(rest.lastIndexOf(last));
    },
    read: () => rest.trim(),
  };
}

const valueVariable = (name: string) => `${variablePrefix}${name}`;
const variablePrefix = ['ORCH', 'VALUE', ''].join('_');

/** How much of the environment the values may take. */
const maxEnvironmentBytes = 256 * 1024;

/** The variables in which a command finds the values set before it. */
export function valueVariables(values: Values): { readonly [name: string]: string } {
  let left = maxEnvironmentBytes;
  const fits = Object.entries(values).filter(([, value]) => {
    left -= Buffer.byteLength(value);
    return left >= 0;
  });
  return Object.fromEntries(fits.map(([name, value]) => [valueVariable(name), value.replaceAll('\0', '')]));
}
