// `npm start`: sets up, then runs `orch` with the arguments given; without any, the demo.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';

await setUp();
const orch = fileURLToPath(new URL('orch.js', import.meta.url));
const given = process.argv.slice(2);
const { status, signal } = spawnSync(process.execPath, [orch, ...(given.length > 0 ? given : ['demo'])], {
  stdio: 'inherit',
});
if (signal) process.kill(process.pid, signal);
process.exitCode = status ?? 1;
