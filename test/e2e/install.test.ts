import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { cleanEnvironment, makeFolder } from '../support/repository.ts';

// It builds all of orch once more.
vi.setConfig({ testTimeout: 300_000 });

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A fresh clone: what git has, and nothing that was installed or built. */
function makeFreshClone(): string {
  const folder = join(makeFolder(), 'clone');
  const { stdout } = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const path of stdout.split('\0').filter((name) => /^(?!test\/)./.test(name))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  return folder;
}

const run = (program: string, args: readonly string[], cwd: string) =>
  spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: cleanEnvironment(dirname(cwd), { npm_config_offline: 'true' }),
  });

describe.skipIf(process.platform === 'win32')('a fresh clone', () => {
  it('says in one line how to build orch', () => {
    const clone = makeFreshClone();
    expect(run(process.execPath, [join(clone, 'bin', 'orch.js'), 'status'], clone)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `error: orch is not built yet. Build it: npm run build --prefix ${JSON.stringify(clone)}\n`,
    });
  });

  it('is built and installed by npm install -g .', () => {
    const clone = makeFreshClone();
    // The packages themselves come from here: tests need no network.
    cpSync(join(root, 'node_modules'), join(clone, 'node_modules'), {
      recursive: true,
      verbatimSymlinks: true,
    });
    rmSync(join(clone, 'node_modules', '.orch-installed'), { force: true });
    const prefix = join(dirname(clone), 'prefix');
    const installed = run('npm', ['install', '-g', '.', '--prefix', prefix], clone);
    expect({ status: installed.status, stderr: installed.stderr }).toMatchObject({ status: 0 });
    const version = run(join(prefix, 'bin', 'orch'), ['--version'], dirname(clone));
    expect(version).toMatchObject({ status: 0, stdout: '0.1.0\n', stderr: '' });
  });
});
