import type { FolderReader, Found } from './ecosystem-shape.ts';

const projectFiles = ['pyproject.toml', 'setup.py', 'setup.cfg', 'requirements.txt', 'tox.ini', 'Pipfile'];

/** What runs a tool inside the project's own environment. */
const runners: readonly [lockFile: string, prefix: string][] = [
  ['uv.lock', 'uv run '],
  ['poetry.lock', 'poetry run '],
  ['pdm.lock', 'pdm run '],
  ['Pipfile.lock', 'pipenv run '],
];

/** A tool and where its settings may stand: files of its own, or a section in a shared one. */
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

/** A Python project: the tools it has settings for, and pytest also where there is a folder of tests. */
export function findPythonGates(folder: FolderReader): Found | null {
  const names = folder.list('.');
  const prefix = runners.find(([file]) => names.includes(file))?.[1] ?? '';
  const hasTests = isConfigured(folder, pytest) || (isProject(names) && hasTestFolder(folder));
  const lines = {
    ...(hasTests ? { test: `${prefix}pytest` } : {}),
    ...(isConfigured(folder, mypy) ? { typecheck: `${prefix}mypy${namesFiles(folder) ? '' : ' .'}` } : {}),
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

/** Tests in Python, directly in `tests` or one folder below: other languages use that name too. */
function hasTestFolder(folder: FolderReader): boolean {
  const isTest = (name: string) => /^test_.*\.py$|_test\.py$/.test(name);
  const names = folder.list('tests');
  return names.some(isTest) || names.some((name) => folder.list(`tests/${name}`).some(isTest));
}

/** Do mypy's settings say what to check? If not, it wants to be told. */
function namesFiles(folder: FolderReader): boolean {
  const texts = [
    ...mypy.files.map((file) => folder.read(file) ?? ''),
    ...mypy.sections.map(([file, section]) => readSection(folder.read(file) ?? '', section)),
  ];
  return texts.some((text) => /^[ \t]*(files|packages|modules)[ \t]*=/m.test(text));
}

/** What stands below a heading, up to the next. */
function readSection(text: string, heading: RegExp): string {
  const [, below = ''] = text.split(heading);
  return below.split(/^[ \t]*\[/m)[0] ?? '';
}
