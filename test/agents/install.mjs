// Fetches the pinned agents into the cache, once. Where that cannot be done the tests are skipped, so it
// never fails by itself: it says what is missing and why.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { agents, cache, folderOf, programOf } from './versions.mjs';

/** Installs into a folder beside the final one and renames, so that half an agent is never taken for one. */
function install(agent) {
  mkdirSync(cache, { recursive: true });
  const partial = mkdtempSync(join(cache, 'partial-'));
  try {
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retry-mintimeout=1000'];
    const args = ['install', '--prefix', partial, '--no-save', '--no-package-lock', '--ignore-scripts'];
    const npm = spawnSync('npm', [...args, ...quiet, agents[agent].spec], {
      cwd: partial,
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
      timeout: 15 * 60_000,
    });
    if (npm.status !== 0) return (npm.stderr || npm.error?.message || 'npm failed').trim();
    const program = spawnSync(join(partial, agents[agent].program), ['--version'], { encoding: 'utf8' });
    if (program.status !== 0) return `it does not run here: ${program.error?.message ?? program.stderr}`;
    rmSync(folderOf(agent), { recursive: true, force: true });
    renameSync(partial, folderOf(agent));
    return null;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

for (const [agent, { name, version, spec }] of Object.entries(agents)) {
  if (programOf(agent)) continue;
  process.stderr.write(`fetching ${name} ${version} (once, a big download) …\n`);
  const fault = install(agent);
  if (fault) process.stderr.write(`${spec} cannot be had, its tests will be SKIPPED:\n${fault}\n`);
}
