// Runs the fuzzer: npm run fuzz -- --minutes 60 --seed 1 [--target document] [--index 123] [--out folder]
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { readPrices } from '../../bin/prices.mjs';

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'node_modules', '.cache', 'fuzz');
mkdirSync(folder, { recursive: true });
const outfile = join(folder, `main-${process.pid}.mjs`);
await build({
  entryPoints: [join(root, 'test', 'fuzz', 'main.ts')],
  outfile,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  sourcemap: 'inline',
  // As the build does it.
  define: {
    __ORCH_VERSION__: JSON.stringify('0.0.0-fuzz'),
    __ORCH_PRICES__: JSON.stringify(readPrices(root)),
  },
  logLevel: 'warning',
});
process.setSourceMapsEnabled(true);
process.chdir(root);
// What a developer has set must not reach the repositories that are made here.
Object.assign(process.env, { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', NO_COLOR: '1' });
await import(pathToFileURL(outfile).href);
