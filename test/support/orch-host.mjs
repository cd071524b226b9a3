// Runs one `orch` after another in one process: starting node takes longer than most commands. Each gets fresh modules
// of the built program, its own environment and folder, and files as stdout and stderr, which its caller empties.
import { createReadStream, openSync, readSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';

const [requests, answers, bin] = process.argv.slice(2);
const require = createRequire(bin);
const root = dirname(dirname(bin));
const events = ['exit', 'uncaughtException', 'uncaughtExceptionMonitor', 'SIGINT', 'SIGTERM', 'SIGHUP'];
const exit = process.exit;
const unread = Buffer.alloc(65_536);
const longest = 110_000;

function replaceEnvironment(env) {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}

function run({ args, cwd, env }) {
  replaceEnvironment(env);
  process.chdir(cwd);
  process.argv = [process.execPath, bin, ...args];
  // Whoever required a module keeps it, and the more memory a process has, the longer it takes to start another.
  const before = require.cache[bin];
  if (before?.parent) before.parent.children = [];
  for (const path of Object.keys(require.cache)) if (path.startsWith(root)) delete require.cache[path];
  return new Promise((resolve) => {
    process.exit = resolve;
    require(bin);
  });
}

const lines = createInterface({ input: createReadStream('', { fd: openSync(requests, 'r') }) });
const answer = openSync(answers, 'w');
for await (const line of lines) {
  // The test waits for the answer without an event loop, so nothing of its own would end it.
  const deadline = setTimeout(() => exit(1), longest);
  const status = await run(JSON.parse(line));
  clearTimeout(deadline);
  process.emit('exit', status);
  for (const event of events) process.removeAllListeners(event);
  process.chdir('/');
  while (readSync(0, unread) > 0); // the next command must not find what this one left
  writeSync(answer, `${status}\n`);
}
exit();
