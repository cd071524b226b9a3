import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const top = realpathSync(mkdtempSync(join(tmpdir(), 'orch-bench-')));
process.on('exit', () => rmSync(top, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** How large the runs of a benchmark are; read before the environment is cleaned. */
export const sizes = {
  /** Full size: 10000. */
  tasks: Number(process.env.BENCH_TASKS ?? 1_000),
  items: Number(process.env.BENCH_ITEMS ?? 100_000),
};

/** PATH and HOME only: a single NODE_* variable can make node start three times slower. */
export const environment = { PATH: process.env.PATH ?? '', HOME: top };

// What the library starts inherits from this process, so this process is cleaned too.
for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name];
Object.assign(process.env, environment);
writeFileSync(join(top, '.gitconfig'), '[user]\n\tname = A User\n\temail = user@example.com\n');

export const orchBin = fileURLToPath(new URL('../../bin/orch.js', import.meta.url));

let made = 0;

/** A folder that is gone when the benchmark ends. */
export function makeFolder() {
  const folder = join(top, `folder-${++made}`);
  mkdirSync(folder);
  return folder;
}

/** Runs git to its end, untimed; its output without the last newline. */
export function git(folder, ...args) {
  const output = execFileSync('git', args, { cwd: folder, env: environment, encoding: 'utf8' });
  return output.replace(/\n$/, '');
}

/** A repository with a commit, and with every object folder a repository in use has. */
export function makeRepository() {
  const folder = makeFolder();
  git(folder, 'init', '--quiet', '--initial-branch=main');
  // Nothing may be packed behind the back of a measurement.
  git(folder, 'config', 'gc.auto', '0');
  for (let first = 0; first < 256; first++) {
    mkdirSync(join(folder, '.git', 'objects', first.toString(16).padStart(2, '0')));
  }
  writeFileSync(join(folder, 'README'), 'hello\n');
  git(folder, 'add', '.');
  git(folder, 'commit', '--quiet', '--message', 'first');
  return folder;
}

/** Throws away what a group no longer needs: the long histories are large. */
export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
