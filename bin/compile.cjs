// usage: compile.cjs BUNDLE WARM-UP: runs the bundle with each call of the warm-up in a scratch repository, so that what
// these need is compiled, and writes the compiled code beside it and beside the bundles it loaded.
const { execFileSync } = require('node:child_process');
const { closeSync, openSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');

const [, , path, warmUp] = process.argv;
const { before, calls } = JSON.parse(warmUp);
// This process stands for the agent's, which lives as long as the calls are made.
process.env.CLAUDE_PID = String(process.pid);
const hookEnvironment = { ...process.env, ORCH_EPIC: 'e' };

/** A repository with an epic; gives a session whose journal is there. */
function prepare() {
  execFileSync('git', ['init', '--quiet', '.']);
  const create = [join(__dirname, 'orch.js'), 'checkpoint', 'create', '--epic', 'e', '--json'];
  const { checkpoint } = JSON.parse(execFileSync(process.execPath, create, { encoding: 'utf8' }));
  return checkpoint.sessionId;
}

/** Gives this process a stdin from which it can read that: the lowest free number is what a file gets. */
function putOnStdin(input) {
  writeFileSync('stdin', input);
  closeSync(0);
  openSync('stdin');
}

/** Runs a call in the bundle: what agents call takes it as it is, a command is told by which words it is called. */
function runIn({ run, command, commands }, { path, argv }) {
  if (run) return run(argv);
  return (command ?? commands[path.at(-1)]).start(argv, { path, isInitial: false });
}

async function main() {
  const bundle = require(path);
  const sessions = [''];
  try {
    sessions.push(prepare());
    for (const { argv, input } of before) {
      execFileSync(process.execPath, [join(__dirname, 'orch.js'), ...argv], { input, env: hookEnvironment });
    }
  } catch {
    // Without git the commands below fail, which compiles nearly as much.
  }
  // Outside of a session and in one: they go different ways.
  for (const session of sessions) {
    process.env.ORCH_SESSION = session;
    for (const [turn, call] of calls.entries()) {
      putOnStdin(call.input);
      writeFileSync('file', `changed ${session} ${turn} times`); // so that there is something new to save
      await runIn(bundle, call);
    }
  }
  for (const { filename, script } of Object.values(require.cache)) {
    if (script) writeFileSync(filename.replace(/\.cjs$/, '.code.bin'), script.createCachedData());
  }
}

main();
