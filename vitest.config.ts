import { configDefaults, defineConfig } from 'vitest/config';
// @ts-expect-error: the build's own scripts are plain JavaScript.
import { readPrices } from './bin/prices.mjs';
import { LongestFirst } from './test/support/sequencer.ts';

// See test/support/depth.ts.
const isDeep = process.env.ORCH_TEST_DEEP === '1';
const seed = process.env.ORCH_TEST_SEED ?? String(isDeep ? Math.floor(Math.random() * 1_000_000) : 1);
if (isDeep) console.log(`ORCH_TEST_SEED=${seed} repeats this run`);
process.env.ORCH_TEST_SEED = seed; // the configuration may be loaded more than once

export default defineConfig({
  // As the build does it.
  define: {
    __ORCH_VERSION__: JSON.stringify('0.0.0-test'),
    __ORCH_PRICES__: JSON.stringify(readPrices(import.meta.dirname)),
  },
  test: {
    include: ['test/**/*.test.ts'],
    // Those with the real agents need big downloads: `npm run test:agents`.
    exclude: [...configDefaults.exclude, 'test/agents/**'],
    globalSetup: ['test/support/scratch.ts'],
    setupFiles: ['test/support/setup.ts'],
    testTimeout: isDeep ? 0 : 120_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // Node takes the longer to start a process the more memory it has.
    execArgv: ['--max-semi-space-size=4'],
    // Files share a worker and its modules: loading them anew for each file took longer than many tests.
    isolate: false,
    // One more than the cores of a small machine: many tests wait for timers of the product.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Real processes race with timers; on a machine that others load, one may lose. What fails twice is broken.
    retry: process.env.CI ? 1 : 0,
    // A developer's own settings must not reach the repositories the tests make.
    env: {
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      NO_COLOR: '1',
      NODE_EXTRA_CA_CERTS: '',
      ORCH_TEST_SEED: seed,
    },
  },
});
