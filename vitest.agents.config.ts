import { defineConfig } from 'vitest/config';
import fast from './vitest.config.ts';

// The end-to-end tests with the real agents; `npm run test:agents` fetches those first.
export default defineConfig({
  ...fast,
  test: {
    ...fast.test,
    include: [process.env.ORCH_RECORD_FIXTURES ? 'test/agents/*.record.ts' : 'test/agents/*.test.ts'],
    exclude: [],
    testTimeout: 120_000,
    isolate: true,
  },
});
