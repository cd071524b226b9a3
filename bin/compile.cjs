// usage: compile.cjs BUNDLE ARGVS: runs the bundle with each list of arguments in a scratch repository, so that what
// these need is compiled, and writes the compiled code beside it and beside the bundles it loaded.
const { execFileSync } = require('node:child_process');
const { writeFileSync } = require('node:fs');
const { join } = require('node:path');

const [, , path, warmUp] = process.argv;

/** A repository with an epic, and the session that what is recorded goes to. */
function prepare() {
  execFileSync('git', ['init', '--quiet', '.']);
  const create = [join(__dirname, 'orch.js'), 'checkpoint', 'create', '--epic', 'e', '--json'];
  const { checkpoint } = JSON.parse(execFileSync(process.execPath, create, { encoding: 'utf8' }));
  process.env.ORCH_SESSION = checkpoint.sessionId;
}

async function main() {
  const bundle = require(path);
  try {
    prepare();
  } catch {
    // Without git the commands below fail, which compiles nearly as much.
  }
  for (const [turn, argv] of JSON.parse(warmUp).entries()) {
    writeFileSync('file', `changed ${turn} times`); // so that there is something new to save
    await bundle.run(argv);
  }
  for (const { filename, script } of Object.values(require.cache)) {
    if (script) writeFileSync(filename.replace(/\.cjs$/, '.code.bin'), script.createCachedData());
  }
}

main();
