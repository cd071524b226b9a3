import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestRepository } from '../../support/repository.ts';

const samples = fileURLToPath(new URL('../../fixtures/agents', import.meta.url));
const stage = fileURLToPath(new URL('.', import.meta.url));

type Limits = { readonly text: number; readonly list: number };

const usual: Limits = { text: 400, list: 20 };
/** Copies of what the model was told, and of its tools: of these a sample needs only the kind. */
const bulky: Limits = { text: 40, list: 1 };

/** Keeps a JSON document of a real run as a sample for the fast tests; `name` is `<agent>/<kind>/<what>`. */
export function keepJson(repository: TestRepository, name: string, value: unknown): void {
  keep(`${name}.json`, `${JSON.stringify(shorten(scrub(repository, value), usual), null, 2)}\n`);
}

/** The same for documents of one a line, such as a transcript. */
export function keepLines(repository: TestRepository, name: string, values: readonly unknown[]): void {
  const lines = values.map((value) => shorten(scrub(repository, value), isBulky(value) ? bulky : usual));
  keep(`${name}.jsonl`, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

function keep(name: string, text: string): void {
  const file = join(samples, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Takes the machine out of a document: the folders of the run, the programs, the system's version. */
function scrub({ home, folder }: TestRepository, value: unknown): unknown {
  const dashed = (path: string) => path.replace(/[^a-zA-Z0-9]/g, '-');
  const replacements: [string | RegExp, string][] = [
    [folder, '/repo'],
    [dashed(folder), '-repo'],
    [home, '/home'],
    [dashed(home), '-home'],
    [stage, '/home/'],
    [process.execPath, 'node'],
    [/Linux \d[\w.-]*/g, 'Linux'],
    [/127\.0\.0\.1:\d+/g, '127.0.0.1:1'],
  ];
  const text = JSON.stringify(value);
  return JSON.parse(replacements.reduce((scrubbed, [from, to]) => scrubbed.replaceAll(from, to), text));
}

function isBulky(line: unknown): boolean {
  if (typeof line !== 'object' || line === null || !('type' in line)) return false;
  return line.type === 'attachment' || String(line.type).startsWith('api-request');
}

/** Cuts what is long in a document, wherever it is: texts, and lists. */
function shorten(value: unknown, limits: Limits): unknown {
  if (typeof value === 'string') {
    if (value.length <= limits.text) return value;
    return `${value.slice(0, limits.text)} … and ${value.length - limits.text} characters more`;
  }
  if (Array.isArray(value)) return value.slice(0, limits.list).map((part) => shorten(part, limits));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shorten(part, limits)]));
}
