// Gives a bundle its compiled code: node then loads it in a fraction of the time. Where the code does not fit (another
// node, other flags), node compiles the bundle as always.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What node itself puts around a CommonJS module. */
const wrapper = ['(function (exports, require, module, __filename, __dirname) { ', '\n});'];

function loaderOf(name) {
  return `const { readFileSync } = require('node:fs');
const { Script } = require('node:vm');
const file = __dirname + ${JSON.stringify(`/${name}.code.js`)};
let cachedData;
try { cachedData = readFileSync(__dirname + ${JSON.stringify(`/${name}.code.bin`)}); } catch {}
const source = ${JSON.stringify(wrapper[0])} + readFileSync(file, 'latin1') + ${JSON.stringify(wrapper[1])};
const script = new Script(source, { filename: file, cachedData });
script.runInThisContext().call(exports, exports, require, module, file, __dirname);
module.script = script;
`;
}

function addLoader(path) {
  renameSync(path, path.replace(/\.cjs$/, '.code.js'));
  writeFileSync(path, loaderOf(basename(path, '.cjs')));
}

/**
 * Turns `<path>.cjs` into a loader, its code, and its compiled code, as it is after the calls of `warmUp`; and so with the
 * bundles it loads on the way.
 */
export function addCodeCache(path, warmUp, loaded = []) {
  for (const bundle of [path, ...loaded]) addLoader(bundle);
  const folder = mkdtempSync(join(tmpdir(), 'orch-build-'));
  try {
    const compile = fileURLToPath(new URL('compile.cjs', import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [compile, path, JSON.stringify(warmUp)], {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${basename(path)} could not be compiled: ${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
