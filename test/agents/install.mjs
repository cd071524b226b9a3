// Fetches the pinned programs into the cache, once. Where that cannot be done the tests are skipped, so it
// never fails by itself: it says what is missing and why.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cache, folderOf, programOf, programs } from './versions.mjs';

/** Installs into a folder beside the final one and renames, so that half a program is never taken for one. */
function install(name) {
  mkdirSync(cache, { recursive: true });
  const partial = mkdtempSync(join(cache, 'partial-'));
  try {
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retry-mintimeout=1000'];
    const args = ['install', '--prefix', partial, '--no-save', '--no-package-lock', '--ignore-scripts'];
    const npm = spawnSync('npm', [...args, ...quiet, programs[name].spec], {
      cwd: partial,
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
      timeout: 15 * 60_000,
    });
    if (npm.status !== 0) return (npm.stderr || npm.error?.message || 'npm failed').trim();
    const program = join(partial, programs[name].program);
    if (!existsSync(program)) return `it has no ${programs[name].program}`;
    chmodSync(program, 0o755); // not every package says that it is one
    const version = spawnSync(program, ['--version'], { encoding: 'utf8' });
    if (version.status !== 0) return `it does not run here: ${version.error?.message ?? version.stderr}`;
    rmSync(folderOf(name), { recursive: true, force: true });
    renameSync(partial, folderOf(name));
    return null;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

for (const [key, { name, version, spec }] of Object.entries(programs)) {
  if (programOf(key)) continue;
  process.stderr.write(`fetching ${name} ${version} (once; agents are big downloads) …\n`);
  const fault = install(key);
  if (fault) process.stderr.write(`${spec} cannot be had, its tests will be SKIPPED:\n${fault}\n`);
}
