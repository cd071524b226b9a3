import { configDefaults, defineConfig } from 'vitest/config';
// @ts-expect-error: the build's own scripts are plain JavaScript.
import { assembleDigest } from './bin/digest.mjs';
// @ts-expect-error: the same
import { readPrices } from './bin/prices.mjs';

export default defineConfig({
  // As the build does it.
  define: {
    __ORCH_VERSION__: JSON.stringify('0.0.0-test'),
    __ORCH_PRICES__: JSON.stringify(readPrices(import.meta.dirname)),
    __ORCH_DIGEST__: JSON.stringify(await assembleDigest(import.meta.dirname)),
  },
  test: {
    include: ['test/**/*.test.ts'],
    // Those with the real agents need big downloads: `npm run test:agents`.
    exclude: [...configDefaults.exclude, 'test/agents/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // Real processes race with timers; on a machine that others load, one may lose. What fails twice is broken.
    retry: process.env.CI ? 1 : 0,
    // A developer's own settings must not reach the repositories the tests make.
    env: {
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      NO_COLOR: '1',
      NODE_EXTRA_CA_CERTS: '',
    },
  },
});
