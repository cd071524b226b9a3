import { join } from 'node:path';
import { isRecord } from '../checks.ts';
import { defaultGateTimeout, type Gate } from '../config/load.ts';
import { listFolder, readIfThere, statIfThere } from '../system/disk.ts';

/** Reads a folder; paths are relative to it. */
export type FolderReader = {
  /** The names in a subfolder; none if it does not exist. */
  list(path: string): readonly string[];
  /** A file's text, if it exists. */
  read(path: string): string | null;
};

/** In the order they are shown and started. */
const gateNames = ['test', 'check', 'typecheck', 'lint', 'build'] as const;
type GateName = (typeof gateNames)[number];

/** The gates of one ecosystem: shell lines by name. */
type EcosystemGates = {
  readonly ecosystem: string;
  readonly lines: { readonly [name in GateName]?: string };
};

const finders: readonly ((folder: FolderReader) => EcosystemGates | null)[] = [
  findNodeGates,
  findCargoGates,
  findGoGates,
  findPythonGates,
  findMakeGates,
  findJustGates,
];

/** Finds a folder's gates by the conventions of its ecosystems. */
export function findGates(folder: string): Gate[] {
  return detectGates(openFolder(folder));
}

/** Names the ecosystems of a folder: `npm`, `cargo`. */
export function findEcosystems(folder: string): string[] {
  const reader = openFolder(folder);
  return finders.flatMap((find) => find(reader)?.ecosystem ?? []);
}

/** Far more than a manifest or a makefile needs. */
const mostBytes = 1024 * 1024;

function openFolder(folder: string): FolderReader {
  return {
    list: (path) => listFolder(join(folder, path)),
    read: (path) => {
      const found = statIfThere(join(folder, path));
      const isRead = found?.isFile() === true && found.size <= mostBytes;
      return isRead ? (readIfThere(join(folder, path))?.toString('utf8') ?? null) : null;
    },
  };
}

/** Finds the gates through a reader. A name that several ecosystems use gets the ecosystem as a prefix. */
export function detectGates(folder: FolderReader): Gate[] {
  const all = finders.flatMap((find) => find(folder) ?? []);
  return gateNames.flatMap((name) => {
    const having = all.filter(({ lines }) => lines[name] !== undefined);
    return having.flatMap(({ ecosystem, lines }) => {
      const run = lines[name];
      if (run === undefined) return [];
      const unique = having.length === 1 ? name : `${ecosystem}:${name}`;
      return [{ name: unique, run, fix: null, timeout: defaultGateTimeout }];
    });
  });
}

const lockFiles: readonly [file: string, manager: string][] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
];

/** The names projects use for the same script. */
const scripts: readonly [name: GateName, spellings: readonly string[]][] = [
  ['test', ['test']],
  ['typecheck', ['typecheck', 'type-check', 'check-types', 'check:types']],
  ['lint', ['lint']],
  ['build', ['build']],
];

/** The scripts of a `package.json`, run by the package manager the project uses. */
function findNodeGates(folder: FolderReader): EcosystemGates | null {
  const text = folder.read('package.json');
  if (text === null) return null;
  const names = folder.list('.');
  const manifest = parseManifest(text);
  const manager = manifest?.manager ?? lockFiles.find(([file]) => names.includes(file))?.[1] ?? 'npm';
  // The scripts of a damaged manifest are unknown: the test gate runs anyway, fails, and shows what is wrong.
  const has = (name: string) => (manifest === null ? name === 'test' : isReal(manifest.scripts[name]));
  const lines = scripts.flatMap(([name, spellings]) => {
    const script = spellings.find(has);
    return script === undefined ? [] : [[name, `${manager} run ${script}`]];
  });
  return { ecosystem: manager, lines: Object.fromEntries(lines) };
}

/** False for the placeholder npm puts into every new project. */
function isReal(script: unknown): boolean {
  return typeof script === 'string' && script.trim() !== '' && !script.includes('no test specified');
}

type Manifest = { readonly scripts: { readonly [name: string]: unknown }; readonly manager: string | null };

function parseManifest(text: string): Manifest | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return null; // the caller runs the manager, which reports it
  }
  if (!isRecord(parsed)) return null;
  const { scripts, packageManager } = parsed;
  const named = typeof packageManager === 'string' ? packageManager : '';
  const [, manager = null] = /^(npm|pnpm|yarn|bun)@/.exec(named) ?? [];
  return { scripts: isRecord(scripts) ? scripts : {}, manager };
}

const projectFiles = ['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'tox.ini', 'Pipfile'];

/** Prefixes that run a tool inside the project's own environment. */
const runners: readonly [lockFile: string, prefix: string][] = [
  ['uv.lock', 'uv run '],
  ['poetry.lock', 'poetry run '],
  ['pdm.lock', 'pdm run '],
  ['Pipfile.lock', 'pipenv run '],
];

/** Where a tool's settings may be: in its own files, or in a section of a shared one. */
type Tool = {
  readonly files: readonly string[];
  readonly sections: readonly [file: string, section: RegExp][];
};

const pytest: Tool = {
  files: ['pytest.ini', '.pytest.ini', 'conftest.py'],
  sections: [
    ['pyproject.toml', /^[ \t]*\[tool\.pytest\b/m],
    ['setup.cfg', /^[ \t]*\[tool:pytest\]/m],
    ['tox.ini', /^[ \t]*\[pytest\]/m],
  ],
};
const ruff: Tool = {
  files: ['ruff.toml', '.ruff.toml'],
  sections: [['pyproject.toml', /^[ \t]*\[tool\.ruff\b/m]],
};
const mypy: Tool = {
  files: ['mypy.ini', '.mypy.ini'],
  sections: [
    ['pyproject.toml', /^[ \t]*\[tool\.mypy\]/m],
    ['setup.cfg', /^[ \t]*\[mypy\]/m],
  ],
};

/** A Python project: the tools it has settings for, and pytest also if there is a folder of tests. */
function findPythonGates(folder: FolderReader): EcosystemGates | null {
  const names = folder.list('.');
  const prefix = runners.find(([file]) => names.includes(file))?.[1] ?? '';
  const hasTests = isConfigured(folder, pytest) || (isProject(names) && hasTestFolder(folder));
  const lines = {
    ...(hasTests ? { test: `${prefix}pytest` } : {}),
    ...(isConfigured(folder, mypy)
      ? { typecheck: `${prefix}mypy${namesMypyFiles(folder) ? '' : ' .'}` }
      : {}),
    ...(isConfigured(folder, ruff) ? { lint: `${prefix}ruff check` } : {}),
  };
  return Object.keys(lines).length === 0 ? null : { ecosystem: 'python', lines };
}

function isProject(names: readonly string[]): boolean {
  return projectFiles.some((file) => names.includes(file));
}

function isConfigured(folder: FolderReader, { files, sections }: Tool): boolean {
  const names = folder.list('.');
  return (
    files.some((file) => names.includes(file)) ||
    sections.some(([file, section]) => section.test(folder.read(file) ?? ''))
  );
}

/** Python tests in `tests` or one folder below; other languages use that folder too. */
function hasTestFolder(folder: FolderReader): boolean {
  const isTest = (name: string) => /^test_.*\.py$|_test\.py$/.test(name);
  const names = folder.list('tests');
  return names.some(isTest) || names.some((name) => folder.list(`tests/${name}`).some(isTest));
}

/** Do mypy's settings say what to check? If not, it needs an argument. */
function namesMypyFiles(folder: FolderReader): boolean {
  const texts = [
    ...mypy.files.map((file) => folder.read(file) ?? ''),
    ...mypy.sections.map(([file, section]) => readSection(folder.read(file) ?? '', section)),
  ];
  return texts.some((text) => /^[ \t]*(files|packages|modules)[ \t]*=/m.test(text));
}

/** The text below a heading, up to the next. */
function readSection(text: string, heading: RegExp): string {
  const [, below = ''] = text.split(heading);
  return below.split(/^[ \t]*\[/m)[0] ?? '';
}

/** A Rust project: tests and a check, and clippy if the project has settings for it. */
function findCargoGates(folder: FolderReader): EcosystemGates | null {
  const manifest = folder.read('Cargo.toml');
  if (manifest === null) return null;
  const everything = /^[ \t]*\[workspace\b/m.test(manifest) ? ' --workspace' : '';
  const hasLints =
    /^[ \t]*\[(workspace\.)?lints\b/m.test(manifest) ||
    folder.list('.').some((name) => name === 'clippy.toml' || name === '.clippy.toml');
  return {
    ecosystem: 'cargo',
    lines: {
      test: `cargo test${everything}`,
      typecheck: `cargo check${everything} --all-targets`,
      ...(hasLints ? { lint: `cargo clippy${everything} --all-targets` } : {}),
    },
  };
}

/** A Go module: what every module supports. */
function findGoGates(folder: FolderReader): EcosystemGates | null {
  if (folder.read('go.mod') === null) return null;
  return {
    ecosystem: 'go',
    lines: { test: 'go test ./...', lint: 'go vet ./...', build: 'go build ./...' },
  };
}

/** The targets of a makefile, under the first name that make looks for. */
function findMakeGates(folder: FolderReader): EcosystemGates | null {
  const text = readFirst(folder, ['GNUmakefile', 'makefile', 'Makefile']);
  return text === null ? null : pickGates('make', listTargets(text));
}

/** The recipes of a justfile. */
function findJustGates(folder: FolderReader): EcosystemGates | null {
  const text = readFirst(folder, ['justfile', 'Justfile', '.justfile', 'JUSTFILE']);
  return text === null ? null : pickGates('just', listRecipes(text));
}

function readFirst(folder: FolderReader, files: readonly string[]): string | null {
  // By the listing: a case-insensitive file system would find one file under several names.
  const name = files.find((file) => folder.list('.').includes(file));
  return name === undefined ? null : folder.read(name);
}

function pickGates(ecosystem: string, targets: ReadonlySet<string>): EcosystemGates {
  const names = gateNames.filter((name) => targets.has(name));
  return { ecosystem, lines: Object.fromEntries(names.map((name) => [name, `${ecosystem} ${name}`])) };
}

/** The names before the colon of a rule, which may have several. */
function listTargets(makefile: string): Set<string> {
  const rules = makefile.replace(/\\\r?\n/g, ' ').matchAll(/^([^\s#:=][^#:=\n]*)::?(?![:=])/gm);
  return new Set([...rules].flatMap(([, names = '']) => names.split(/\s+/)));
}

/** The recipes that can be called without arguments. */
function listRecipes(justfile: string): Set<string> {
  const recipes = justfile.matchAll(/^@?([A-Za-z_][\w-]*)((?:[ \t][^:\n]*)?):(?!=)/gm);
  return new Set(
    [...recipes].flatMap(([, name = '', parameters = '']) => (needsNoArguments(parameters) ? [name] : [])),
  );
}

/** Does every parameter have a default, or may it be omitted? */
function needsNoArguments(parameters: string): boolean {
  const words = parameters
    .replace(/\s+/g, ' ')
    .replace(/ ?= ?("[^"]*"|'[^']*'|\S+)/g, '=')
    .split(/\s+/)
    .filter(Boolean);
  return words.every((word) => word.endsWith('=') || word.startsWith('*'));
}
