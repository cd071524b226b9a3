// Runs the tests with the real agents, in a network namespace that has only the loopback where the system
// allows one: then nothing they do can reach anybody. Elsewhere plainly.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { programOf, programs } from './versions.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const loopbackUp = 'ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null';
const isolated = spawnSync('unshare', ['-rn', 'sh', '-c', loopbackUp]).status === 0;
if (!isolated)
  process.stderr.write('no network namespace of our own here: the agents run with the network\n');

const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const args = ['run', '--config', 'vitest.agents.config.ts', ...process.argv.slice(2)];
const { status } = isolated
  ? run('unshare', ['-rn', 'sh', '-c', `${loopbackUp}; exec "$@"`, 'sh', process.execPath, vitest, ...args])
  : run(process.execPath, [vitest, ...args]);

for (const [key, { name, version }] of Object.entries(programs)) {
  if (!programOf(key)) process.stderr.write(`SKIPPED, not passed: the tests with ${name} ${version}\n`);
}
process.exitCode = status ?? 1;

function run(program, words) {
  return spawnSync(program, words, { cwd: root, stdio: 'inherit' });
}
