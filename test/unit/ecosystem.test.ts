import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { detectGates, findGates } from '../../src/gates/find-gates.ts';
import { makeFolder } from '../support/repository.ts';

type Files = Record<string, string>;

function manifest(scripts: unknown, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ scripts, ...more });
}

/** The gates of a folder that has these files, as `name: command`. */
function detect(files: Files): string[] {
  const paths = Object.keys(files);
  const gates = detectGates({
    list: (path) => {
      const prefix = path === '.' ? '' : `${path}/`;
      const below = paths.filter((each) => each.startsWith(prefix));
      return [...new Set(below.map((each) => each.slice(prefix.length).split('/')[0] ?? ''))];
    },
    read: (path) => files[path] ?? null,
  });
  return gates.map(({ name, run }) => `${name}: ${run}`);
}

const all = { build: 'b', lint: 'l', typecheck: 't', test: 'x', deploy: 'd' };

describe('the gates of a folder', () => {
  it.each<[what: string, files: Files, gates: string[]]>([
    ['nothing', {}, []],
    [
      'npm',
      { 'package.json': manifest(all), 'package-lock.json': '' },
      ['test: npm run test', 'typecheck: npm run typecheck', 'lint: npm run lint', 'build: npm run build'],
    ],
    ['pnpm', { 'package.json': manifest({ test: 'x' }), 'pnpm-lock.yaml': '' }, ['test: pnpm run test']],
    ['yarn', { 'package.json': manifest({ test: 'x' }), 'yarn.lock': '' }, ['test: yarn run test']],
    ['bun', { 'package.json': manifest({ test: 'x' }), 'bun.lockb': '' }, ['test: bun run test']],
    [
      'bun with a text lock',
      { 'package.json': manifest({ test: 'x' }), 'bun.lock': '' },
      ['test: bun run test'],
    ],
    [
      'the manager a project names, whatever locks lie around',
      { 'package.json': manifest({ test: 'x' }, { packageManager: 'pnpm@9.1.0' }), 'yarn.lock': '' },
      ['test: pnpm run test'],
    ],
    [
      'a manager that is none of them',
      { 'package.json': manifest({ test: 'x' }, { packageManager: 'rm -rf@1' }) },
      ['test: npm run test'],
    ],
    [
      'another spelling',
      { 'package.json': manifest({ 'type-check': 'tsc' }) },
      ['typecheck: npm run type-check'],
    ],
    [
      'a new npm project',
      { 'package.json': manifest({ test: 'echo "Error: no test specified" && exit 1' }) },
      [],
    ],
    ['scripts that are none', { 'package.json': manifest({ test: 7, lint: '', build: null }) }, []],
    ['scripts that are a list', { 'package.json': manifest(['test']) }, []],
    ['no scripts', { 'package.json': '{}' }, []],
    [
      'a manifest with a byte order mark',
      { 'package.json': `\uFEFF${manifest({ test: 'x' })}` },
      ['test: npm run test'],
    ],
    ['a damaged manifest: npm will say so', { 'package.json': '<<<<<<< HEAD\n{' }, ['test: npm run test']],
    ['a manifest that is no object', { 'package.json': '[]' }, ['test: npm run test']],
    [
      'cargo',
      { 'Cargo.toml': '[package]\nname = "a"\n' },
      ['test: cargo test', 'typecheck: cargo check --all-targets'],
    ],
    [
      'a cargo workspace with lints',
      { 'Cargo.toml': '[workspace]\n[workspace.lints.clippy]\n' },
      [
        'test: cargo test --workspace',
        'typecheck: cargo check --workspace --all-targets',
        'lint: cargo clippy --workspace --all-targets',
      ],
    ],
    [
      'cargo with clippy settings',
      { 'Cargo.toml': '', 'clippy.toml': '' },
      ['test: cargo test', 'typecheck: cargo check --all-targets', 'lint: cargo clippy --all-targets'],
    ],
    [
      'go',
      { 'go.mod': 'module a\n' },
      ['test: go test ./...', 'lint: go vet ./...', 'build: go build ./...'],
    ],
    [
      'python with everything',
      { 'pyproject.toml': '[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\nstrict = true\n' },
      ['test: pytest', 'typecheck: mypy .', 'lint: ruff check'],
    ],
    [
      'python with uv',
      { 'pyproject.toml': '[tool.ruff.lint]\n', 'uv.lock': '', 'conftest.py': '' },
      ['test: uv run pytest', 'lint: uv run ruff check'],
    ],
    [
      'mypy that knows its files',
      { 'setup.cfg': '[tool:pytest]\n[mypy]\nfiles = src\n[other]\n' },
      ['test: pytest', 'typecheck: mypy'],
    ],
    [
      'files of another section',
      { 'setup.cfg': '[mypy]\nstrict = true\n[other]\nfiles = src\n' },
      ['typecheck: mypy .'],
    ],
    ['a folder of tests', { 'setup.py': '', 'tests/unit/test_a.py': '' }, ['test: pytest']],
    ['a folder of other tests', { 'requirements.txt': '', 'tests/a.test.js': '' }, []],
    ['python without any', { 'pyproject.toml': '[project]\n' }, []],
    [
      'make',
      {
        Makefile:
          '.PHONY: build test\nlint := no\nCHECK = a:b\ntest build: dep\n\tgo lint: x\ntypecheck::\n# check: no\n',
      },
      ['test: make test', 'typecheck: make typecheck', 'build: make build'],
    ],
    [
      'make with continued lines',
      { Makefile: 'lint \\\n  check: a\n' },
      ['check: make check', 'lint: make lint'],
    ],
    ['the makefile make takes', { GNUmakefile: 'test:\n', Makefile: 'lint:\n' }, ['test: make test']],
    [
      'just',
      {
        justfile:
          'set shell := ["sh"]\nlint := "no"\n@test *args:\n  lint: x\nbuild target="a b": test\ncheck file:\n',
      },
      ['test: just test', 'build: just build'],
    ],
  ])('%s', (_, files, gates) => {
    expect(detect(files)).toEqual(gates);
  });

  it('have unique names where several ecosystems meet, and theirs alone where not', () => {
    const files = {
      'package.json': manifest({ test: 'x', build: 'y' }),
      'Cargo.toml': '',
      Makefile: 'test:\nlint:\n',
    };
    expect(detect(files)).toEqual([
      'npm:test: npm run test',
      'cargo:test: cargo test',
      'make:test: make test',
      'typecheck: cargo check --all-targets',
      'lint: make lint',
      'build: npm run build',
    ]);
  });

  it('are found in a real folder, where what looks like a file may be none', () => {
    const folder = makeFolder();
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    write('package.json/README', '');
    write('Makefile', 'test:\n\ttrue\n');
    write('pyproject.toml', '');
    write('tests/test_a.py', '');
    expect(findGates(folder)).toEqual([
      { name: 'python:test', run: 'pytest', fix: null, timeout: 300_000 },
      { name: 'make:test', run: 'make test', fix: null, timeout: 300_000 },
    ]);
    expect(findGates(join(folder, 'missing'))).toEqual([]);
  });
});
