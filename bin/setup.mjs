// Installs the packages and builds dist, each only when what it depends on has changed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Every file below a folder, in a fixed order. */
function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function digest(files, ...extra) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update('\0').update(readFileSync(file)).update('\0');
  return hash.update(extra.join('\0')).digest('hex');
}

/** Runs a step unless its stamp says that it ran on exactly this input. */
async function unlessDone(stamp, input, step) {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === input) return false;
  await step();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, input);
  return true;
}

function install() {
  // Not `npm ci`: it refuses a lock file made where a package for some other platform could not be had.
  // --ignore-scripts: nothing we depend on needs its install script, and ours must not run inside itself.
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const args = ['install', '--no-save', '--include=dev', '--ignore-scripts', ...quiet];
  const windows = process.platform === 'win32';
  // `npm install -g .` runs this too, and would have the packages installed where it installs orch.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_config_(global|prefix|location)$/i.test(name)),
  );
  const { status } = spawnSync(windows ? 'npm.cmd' : 'npm', args, {
    cwd: root,
    env,
    stdio: ['ignore', 2, 2],
    shell: windows,
  });
  if (status !== 0)
    throw new Error(
      'npm install failed; its output is above. Run the same command again once that is mended.',
    );
}

/** Makes the checkout ready to run: packages, then dist. */
export async function setUp() {
  const started = performance.now();
  const lock = join(root, 'package-lock.json');
  const installInput = digest([lock], process.version, process.platform, process.arch);
  const installStamp = join(root, 'node_modules', '.orch-installed');
  if (!existsSync(installStamp)) process.stderr.write('first run: setting up (once) …\n');
  const installed = await unlessDone(installStamp, installInput, install);
  const sources = [...filesBelow(join(root, 'src')), ...filesBelow(join(root, 'bin'))];
  const prices = join(root, 'templates', 'pricing.yaml');
  const others = ['package.json', 'tsconfig.json'].map((name) => join(root, name));
  const buildInput = digest([...sources, prices, ...others, lock]);
  const built = await unlessDone(join(root, 'dist', '.built'), buildInput, async () => {
    const { build } = await import('./build.mjs');
    await build(root);
  });
  if (installed || built) {
    process.stderr.write(`set up in ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await setUp();
