import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const source = fileURLToPath(new URL('../../src', import.meta.url));

const files = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => {
    const path = relative(source, join(entry.parentPath, entry.name)).replaceAll('\\', '/');
    const text = readFileSync(join(source, path), 'utf8');
    return { path, text, code: withoutComments(text) };
  });

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$|\s\/\/ .*$/gm, '');
}

/** The files of ours that a file imports, when it is loaded or later. */
function listImports(file: { readonly path: string; readonly text: string } | undefined): string[] {
  const { path, text } = file ?? { path: '', text: '' };
  return [...text.matchAll(/(?:from|import\(?)\s*'(\.[^']+)'/g)].map(([, target]) =>
    join(dirname(path), target ?? '').replaceAll('\\', '/'),
  );
}

/** The rooms inside a room that are rooms of their own here. */
const innerRooms = ['session/api'];

/** The room a file is in: its folder, or the file itself if it is at the top. */
function roomOf(path: string): string {
  const inner = innerRooms.find((room) => path.startsWith(`${room}/`));
  return inner ?? (path.includes('/') ? (path.split('/')[0] ?? '') : path);
}

/** The house, floor by floor from the ground up. A room uses only what is on the floors below it. */
const floors: readonly (readonly string[])[] = [
  ['types.ts', 'keyed.ts', 'text.ts', 'digest.ts'],
  ['errors.ts'],
  ['ids.ts', 'units.ts'],
  ['checks.ts'],
  ['cost'],
  ['state'],
  ['system'],
  ['redact', 'git', 'config'],
  ['agents', 'checkpoint'],
  ['journal'],
  ['orchestration-file'],
  ['record'],
  ['session'],
  ['gates', 'notify', 'telemetry'],
  ['epic'],
  ['sync'],
  ['restore'],
  ['witness'],
  ['hooks', 'supervise'],
  ['plan', 'bisect'],
  ['spec', 'status', 'init', 'import'],
  ['session/api', 'upkeep'],
  ['convoy'],
  ['index.ts'],
  ['cli'],
];
const floorOf = (room: string) => floors.findIndex((rooms) => rooms.includes(room));

/** Opens a repository and wires the ports: used by the functions that programs call, from session/ up. */
const wiring = ['orch.ts', 'where.ts'];

/** The command line uses the library and the vocabulary, and nothing behind them. */
const vocabulary = ['types.ts', 'errors.ts', 'ids.ts', 'units.ts', 'text.ts', 'keyed.ts'];

/** What cli/ uses of system/: the signals of its terminal, programs that take it over, files that the user named. */
const terminal = [
  'system/process/signals.ts',
  'system/process/command.ts',
  'system/process/spawn.ts',
  'system/disk.ts',
  'system/clock.ts',
  'system/process/process-tree.ts',
];

/** Imports that break these rules today. The list can only shrink. */
const exceptions: readonly string[] = [];

function isAllowed(path: string, imported: string): boolean {
  const [from, to] = [roomOf(path), roomOf(imported)];
  if (from === to || wiring.includes(from)) return true;
  if (from === 'cli') return to === 'index.ts' || vocabulary.includes(to) || terminal.includes(imported);
  if (wiring.includes(to)) return floorOf(from) >= floorOf('session');
  return floorOf(to) < floorOf(from);
}

describe('the house', () => {
  it('has only rooms that are in the plan', () => {
    const unknown = files.map(({ path }) => roomOf(path)).filter((room) => floorOf(room) < 0);
    expect(unknown.filter((room) => !wiring.includes(room))).toEqual([]);
  });

  it('is used from above only', () => {
    const wrong = files.flatMap((file) =>
      listImports(file)
        .filter((imported) => !isAllowed(file.path, imported))
        .map((imported) => `${file.path} → ${imported}`),
    );
    expect([...new Set(wrong)].sort()).toEqual([...exceptions].sort());
  });

  it('has a pump that nothing it uses leads back to', () => {
    const reachable = (path: string) => {
      const reached = new Set(listImports(files.find((file) => file.path === path)));
      for (const next of reached)
        for (const imported of listImports(files.find((file) => file.path === next))) reached.add(imported);
      return reached;
    };
    const pump = files.map(({ path }) => path).filter((path) => roomOf(path) === 'record');
    expect(pump.filter((path) => reachable(path).has(path))).toEqual([]);
  });

  it.each<[rule: string, pattern: RegExp, rooms: readonly string[]]>([
    [
      'only cli/ and system/ touch the process',
      /(?<![/-])\bprocess\.(?!getBuiltinModule)/,
      ['cli', 'system'],
    ],
    ['modules of node are loaded late where it saves time', /\bgetBuiltinModule\b/, ['system', 'digest.ts']],
    ['crypto is loaded late', /from 'node:crypto'/, []],
    ['only cli/ writes to the terminal', /\bconsole\.|process\.std(out|err)|writeSync\([12],/, ['cli']],
    ['only cli/ reads settings from the environment', /(?<!\$\{?|\\\{)\bORCH_[A-Z]+\b(?![=:])/, ['cli']],
    ['only system/ knows the time', /\bDate\.now\b|\bnew Date\(\)/, ['system']],
    ['only system/ is random', /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b/, ['system']],
    ['only git/ knows isomorphic-git', /from 'isomorphic-git'/, ['git']],
    ['only cli/ knows commander', /from 'commander'/, ['cli']],
    ['only config/, spec/ and import/ know yaml', /from 'yaml'/, ['config', 'spec', 'import']],
    ['only redact/ knows secretlint', /from '@secretlint\//, ['redact']],
    ['nobody uses a shell', /shell: true|\bexecSync\b|(?<!\.)\bexec\(/, []],
    [
      'nothing is written past the disk port',
      /\b(write|append|rename|unlink|rm|mkdir|truncate|copy)\w*Sync\(/,
      ['system', 'cli'],
    ],
    ['nothing is swallowed without a word', /catch( *\([^)]*\))? *\{\s*\}/, []],
  ])('%s', (_, pattern, rooms) => {
    const found = files.filter(({ path, code }) => !rooms.includes(roomOf(path)) && pattern.test(code));
    // A hint may name a variable to the user; setting it is the user's part.
    const real = found.filter(({ code }) =>
      code.split('\n').some((line) => pattern.test(line) && !line.includes('hint:')),
    );
    expect(real.map(({ path }) => path)).toEqual([]);
  });

  it('starts processes in one place, which answers for what goes wrong before anything is read from them', () => {
    const starters = files.filter(({ code }) => code.includes('child_process'));
    expect(starters.map(({ path }) => path)).toEqual(['system/process/spawn.ts']);
  });

  it('writes checkpoints from the pump and from merging, and from nowhere else', () => {
    const savers = files.filter(({ text }) => /import[^;]*\bsaveOn\b[^;]*from '[^']*store\.ts'/.test(text));
    expect(savers.map(({ path }) => path)).toEqual(['record/save.ts']);
    const appenders = files.filter(({ text }) =>
      /import[^;]*\bappend\b[^;]*from '[^']*append-commits\.ts'/.test(text),
    );
    expect(appenders.map(({ path }) => path).sort()).toEqual([
      'checkpoint/merge.ts',
      'checkpoint/store.ts',
      'epic/rename-epic.ts',
    ]);
  });

  it('makes file names of ids in one place', () => {
    // What is digested or drawn by chance here is a plain word by itself, and git names the locks of its refs.
    const own = /\$\{(?:hash\(|random\.id\(|name\}|place\})/;
    const found = files.flatMap(({ path, code }) =>
      [...code.matchAll(/`[^`\n]*\$\{[^`\n]*\.(?:jsonl?|lock|log|md|meter|request)`/g)]
        .filter(([name]) => !own.test(name) && roomOf(path) !== 'git')
        .map(([name]) => `${path}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  it('has no module that only tests import', () => {
    const reached = new Set(['index.ts', 'cli/main.ts']);
    for (const path of reached)
      for (const imported of listImports(files.find((file) => file.path === path))) reached.add(imported);
    expect(files.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
  });

  it('has at most 15 files in a folder', () => {
    const counts = new Map<string, number>();
    for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([, count]) => count > 15)).toEqual([]);
  });
});
