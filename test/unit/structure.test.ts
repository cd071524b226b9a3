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

/** The room a file is in: its folder, or the file itself where it stands at the top. */
function roomOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? '') : path;
}

const words = [
  'types.ts',
  'errors.ts',
  'ids.ts',
  'units.ts',
  'keyed.ts',
  'text.ts',
  'spelling.ts',
  'digest.ts',
  'checks.ts',
];
/** Reading the files that people write. */
const yaml = ['yaml.ts', 'yaml-values.ts', 'yaml-taken.ts', 'yaml-mistakes.ts'];
const below = (...rooms: string[]) => [...rooms, ...words];

/** Who may use whom. What is not here may not be. */
const allowed: { readonly [room: string]: readonly string[] } = {
  'types.ts': [],
  'errors.ts': ['types.ts'],
  'ids.ts': ['types.ts', 'errors.ts'],
  'units.ts': ['types.ts', 'errors.ts'],
  'keyed.ts': [],
  'text.ts': [],
  'spelling.ts': [],
  'digest.ts': [],
  'checks.ts': ['ids.ts', 'keyed.ts', 'units.ts'],
  'yaml.ts': [],
  'yaml-taken.ts': [],
  'yaml-values.ts': below('yaml-taken.ts'),
  'yaml-mistakes.ts': below('yaml.ts', 'yaml-values.ts'),
  cost: below(),
  state: below('cost'),
  system: below(),
  git: below('system'),
  // Leaves: they turn outside formats into facts and back, and know nothing of who uses them.
  integration: below('system', 'state', 'cost', ...yaml),
  redact: below(),
  'redact.ts': below('redact'),
  config: below('cost', ...yaml),
  'config.ts': below('config', 'system'),
  checkpoint: below('git', 'system', 'state', 'cost'),
  session: below('checkpoint', 'git', 'integration', 'system', 'state', 'cost', 'config.ts', 'redact.ts'),
  upkeep: below('session', 'checkpoint', 'git', 'integration', 'system', 'state', 'cost', 'config.ts'),
  plan: below('session', 'checkpoint', 'git', 'integration', 'system', 'state', 'cost', 'redact.ts', ...yaml),
  'orch.ts': below('session', 'checkpoint', 'git', 'system', 'config.ts', 'redact.ts'),
  library: below(
    'orch.ts',
    'config.ts',
    'plan',
    'session',
    'checkpoint',
    'integration',
    'state',
    'cost',
    'upkeep',
    'system',
  ),
  'index.ts': below('library', 'orch.ts', 'plan', 'session', 'checkpoint', 'integration', 'state', 'cost'),
  cli: below(
    'index.ts',
    'library',
    'orch.ts',
    'config.ts',
    'plan',
    'upkeep',
    'session',
    'checkpoint',
    'integration',
    'git',
    'system',
    'state',
    'cost',
  ),
};

describe('the house', () => {
  it('has only rooms that are in the plan', () => {
    expect(files.map(({ path }) => roomOf(path)).filter((room) => !(room in allowed))).toEqual([]);
  });

  it('is entered from above only', () => {
    const wrong = files.flatMap(({ path, text }) =>
      [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].flatMap(([, target]) => {
        const imported = join(dirname(path), target ?? '').replaceAll('\\', '/');
        const [from, to] = [roomOf(path), roomOf(imported)];
        return from === to || allowed[from]?.includes(to) ? [] : [`${path} → ${imported}`];
      }),
    );
    expect(wrong).toEqual([]);
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
    ['only cli/ reads settings from the environment', /\bORCH_[A-Z]+\b(?!=)/, ['cli']],
    ['only system/ knows the time', /\bDate\.now\b|\bnew Date\(\)/, ['system']],
    ['only system/ is random', /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b/, ['system']],
    ['only git/ knows isomorphic-git', /from 'isomorphic-git'/, ['git']],
    ['only cli/ knows commander', /from 'commander'/, ['cli']],
    ['only yaml.ts and integration/ know yaml', /from 'yaml'/, ['yaml.ts', 'integration']],
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
    expect(starters.map(({ path }) => path)).toEqual(['system/spawn.ts']);
  });

  it('writes checkpoints from the pump and from merging, and from nowhere else', () => {
    const savers = files.filter(({ text }) => /import[^;]*\bsave\b[^;]*from '[^']*store\.ts'/.test(text));
    expect(savers.map(({ path }) => path)).toEqual(['session/save-draft.ts']);
    const appenders = files.filter(({ text }) =>
      /import[^;]*\bappend\b[^;]*from '[^']*append\.ts'/.test(text),
    );
    expect(appenders.map(({ path }) => path).sort()).toEqual([
      'checkpoint/merge.ts',
      'checkpoint/move.ts',
      'checkpoint/store.ts',
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

  it('keeps its files short', () => {
    expect(files.filter(({ text }) => text.split('\n').length > 251).map(({ path }) => path)).toEqual([]);
  });
});
