// usage: compile.cjs BUNDLE ARGVS: runs the bundle with each list of arguments in a scratch repository, so that what
// these need is compiled, and writes the compiled code beside it.
const { execFileSync } = require('node:child_process');
const { writeFileSync } = require('node:fs');

const [, , path, warmUp] = process.argv;

async function main() {
  const bundle = require(path);
  try {
    execFileSync('git', ['init', '--quiet', '.']);
  } catch {
    // Without git the commands below fail, which compiles nearly as much.
  }
  for (const argv of JSON.parse(warmUp)) await bundle.run(argv);
  const { script } = require.cache[require.resolve(path)];
  writeFileSync(path.replace(/\.cjs$/, '.code.bin'), script.createCachedData());
}

main();
