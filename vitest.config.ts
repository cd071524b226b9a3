import { defineConfig } from 'vitest/config';

export default defineConfig({
  define: { __ORCH_VERSION__: JSON.stringify('0.0.0-test') },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    // A developer's own settings must not reach the repositories the tests make.
    env: {
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      NO_COLOR: '1',
      NODE_EXTRA_CA_CERTS: '',
    },
  },
});
