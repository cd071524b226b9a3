import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { makeFolder } from './scratch.js';

const wanted = `
export { startAnthropicModel } from './anthropic.ts';
export { endTest } from 'vitest';
`;

/** Its parts end with the test they are in; here the benchmark says when that is. */
const vitest = `
const works = [];
export const afterEach = (work) => works.push(work);
export const endTest = () => Promise.all(works.map((work) => work()));
`;

const withoutVitest = {
  name: 'without-vitest',
  setup(bundle) {
    bundle.onResolve({ filter: /^vitest$/ }, () => ({ path: 'vitest', namespace: 'bench' }));
    bundle.onLoad({ filter: /./, namespace: 'bench' }, () => ({ contents: vitest }));
  },
};

/** The stand-in for Anthropic's model that the tests with the real agents use, and what ends it. */
export async function loadStandIn() {
  const outfile = join(makeFolder(), 'stand-in.mjs');
  const resolveDir = fileURLToPath(new URL('../agents/support', import.meta.url));
  await build({
    stdin: { contents: wanted, resolveDir, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    plugins: [withoutVitest],
    logLevel: 'warning',
  });
  return import(pathToFileURL(outfile).href);
}
