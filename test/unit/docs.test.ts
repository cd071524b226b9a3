import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadAll } from '../../src/cli/all-commands.ts';
import { globalOptions, isGroup, type OptionSpec, parseFlags, type Spec } from '../../src/cli/spec.ts';
import { defaultConfig } from '../../src/config/load.ts';
import * as library from '../../src/index.ts';
import { describeCommands, generatedMark } from '../support/commands-page.ts';
import { documents, isUpdate, parseSteps, readDocument, root, updateDocument } from '../support/documents.ts';

const specs = await loadAll();

/** The calls of orch in a shell line: what follows the word, up to what ends a command. */
function findCalls(line: string): string[][] {
  const quiet = line.replace(/\$\([^)]*\)/g, 'WORD').replace(/"[^"]*"|'[^']*'/g, 'WORD');
  return [...quiet.matchAll(/(?:^|[;&|] *|\w+=\S* )orch ([^;&|#]*)/g)].map(([, words = '']) =>
    words.trim().split(/ +/),
  );
}

/** What is wrong with a call, by the commands there are; null if nothing is. */
function findMistake(words: readonly string[]): string | null {
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  const flags = own.filter((word) => word.startsWith('-')).map((word) => word.split('=')[0] ?? '');
  const at = own.findIndex((word) => !word.startsWith('-'));
  const first = own[at];
  const second = own[at + 1]?.startsWith('-') ? undefined : own[at + 1];
  const known = ['-h', '--help', '-V', '--version', ...flagsOf(globalOptions)];
  if (first !== undefined && first !== 'COMMAND') {
    const spec = specs.find(({ name }) => name === first);
    if (spec === undefined) return `there is no command ${first}`;
    const found = findSpecs(spec, second);
    if (found === null) return `there is no command ${first} ${second}`;
    known.push(...found.flatMap(({ options }) => flagsOf(options)));
  }
  const unknown = flags.find((flag) => !known.includes(flag));
  return unknown ? `orch ${first} has no option ${unknown}` : null;
}

function findSpecs(spec: Spec, second: string | undefined) {
  if (!isGroup(spec)) return [spec];
  if (second === undefined || second === '…') return spec.commands;
  const named = spec.commands.filter(({ name }) => name === second);
  return named.length > 0 ? named : null;
}

function flagsOf(options: readonly OptionSpec[]): string[] {
  return options.flatMap((option) => parseFlags(option).names);
}

describe.each(documents)('%s', (path) => {
  const text = readDocument(path);

  it('names only commands and options that exist', () => {
    const shown = parseSteps(text).flatMap((step) => (step.kind === 'shown' ? [step.command] : []));
    const inline = [...text.matchAll(/`((?:[A-Z_]+=\S+ )?orch [^`]+)`/g)].map(([, code = '']) => code);
    const bare = inline.map((code) => code.replace(/[[\]]/g, ''));
    const wrong = [...shown, ...bare].flatMap((line) =>
      findCalls(line).flatMap((words) => {
        const mistake = findMistake(words);
        return mistake === null ? [] : [`${line}: ${mistake}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('links only to what is there', () => {
    const links = [...text.matchAll(/\]\(([^)#][^)]*)\)/g)].map(([, link = '']) => link);
    const wrong = links.filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [file = '', anchor] = link.split('#');
      const target = join(dirname(path), file);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !findAnchors(readDocument(target)).includes(anchor);
    });
    expect(wrong).toEqual([]);
  });
});

/** As GitHub makes them of headings. */
function findAnchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

it('a mistake in a document is found', () => {
  const line = 'A=1 orch restart -e x && orch start --bugdet 5 -- claude --model x';
  expect(findCalls(line).map(findMistake)).toEqual([
    'there is no command restart',
    'orch start has no option --bugdet',
  ]);
});

it('docs/commands.md is what the commands say of themselves (npm run docs)', () => {
  const text = readDocument('docs/commands.md');
  const [intro = ''] = text.split(generatedMark);
  const now = `${intro}${generatedMark}\n\n${describeCommands(specs)}`;
  updateDocument('docs/commands.md', now);
  if (!isUpdate) expect(text).toBe(now);
});

it('docs/config.md explains exactly the keys there are', () => {
  const rows = [...readDocument('docs/config.md').matchAll(/^\| `([\w.]+)` \|/gm)].map(([, key]) => key);
  const keys = Object.entries(defaultConfig).flatMap(([name, value]) =>
    value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0
      ? Object.keys(value).map((key) => `${name}.${key}`)
      : [name],
  );
  expect(rows.sort()).toEqual(keys.sort());
});

it('docs/plans.md explains exactly the keys there are', () => {
  const rows = [...readDocument('docs/plans.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, key]) => key);
  const { properties } = JSON.parse(readDocument('templates/schemas/plan.schema.json'));
  const task = properties.tasks.items.properties;
  const effect = task.effects.items.properties;
  const same = ['steps', 'depends_on']; // other words for tasks and needs, in their rows
  const keys = [properties, task, effect].flatMap((part) => Object.keys(part));
  expect(rows.sort()).toEqual(keys.filter((key) => !same.includes(key)).sort());
});

/** Words in the text about the library that are not functions. */
const fields = ['code', 'hint', 'data'];

describe('docs/scripting.md', () => {
  const text = readDocument('docs/scripting.md');

  it('has every error code in the row of its exit status', () => {
    const rows = [...text.matchAll(/^\| (\d+) \|.*\| (.*) \|$/gm)].flatMap(([, status, codes = '']) =>
      [...codes.matchAll(/`([A-Z_]+)`/g)].map(([, code]) => [code, Number(status)]),
    );
    expect(Object.fromEntries(rows)).toEqual(library.exitStatuses);
  });

  it('names everything the library exports, and nothing else (npm run docs)', () => {
    const mark = '<!-- generated from what the library exports: npm run docs -->';
    const [explained = ''] = text.split(mark);
    const table = explained.slice(explained.indexOf('| for | functions |'));
    const named = [...table.matchAll(/`([a-z]\w+)(?:\([^`]*)?`/g)].map(([, name = '']) => name);
    const exported = Object.keys(library);
    expect(named.filter((name) => !exported.includes(name) && !fields.includes(name))).toEqual([]);
    const rest = exported.filter((name) => !named.includes(name) && name !== 'OrchError').sort();
    const now = `${explained}${mark}\n\n${rest.map((name) => `\`${name}\``).join(', ')}.\n`;
    updateDocument('docs/scripting.md', now);
    if (!isUpdate) expect(text).toBe(now);
  });
});

it('IMPLEMENTATION.md names only files that exist', () => {
  const files = ['src', 'test', 'bin', 'docs', 'templates'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((path) =>
      `/${folder}/${path}`.replaceAll('\\', '/'),
    ),
  );
  const named = [...readDocument('IMPLEMENTATION.md').matchAll(/`([\w./-]+\.(?:ts|mjs))`/g)].map(
    ([, name = '']) => name,
  );
  expect(named.length).toBeGreaterThan(50);
  expect(named.filter((name) => !files.some((path) => path.endsWith(`/${name}`)))).toEqual([]);
});
