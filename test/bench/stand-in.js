import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { makeFolder } from './scratch.js';

const noTests = { name: 'no-tests', setup: (bundle) => replaceVitest(bundle) };

/** The stand-in closes its server after each test; a benchmark ends by itself. */
function replaceVitest(bundle) {
  bundle.onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'none' }));
  bundle.onLoad({ filter: /.*/, namespace: 'none' }, () => ({
    contents: 'export const afterEach = () => {};',
  }));
}

/** The stand-in for Anthropic's model that the tests with the real agents use. */
export async function loadStandIn() {
  const outfile = join(makeFolder(), 'stand-in.mjs');
  const entry = fileURLToPath(new URL('../agents/support/anthropic.ts', import.meta.url));
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    plugins: [noTests],
    logLevel: 'warning',
  });
  return import(pathToFileURL(outfile).href);
}
