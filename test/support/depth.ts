import { expect } from 'vitest';

/*
 * How much a run of the tests tries. `npm test` takes samples, by a seed that is always the same; `npm run test:deep`
 * dies at every point, tries more, and takes a new seed each time. vitest.config.ts sets both variables.
 */

export const isDeep = process.env.ORCH_TEST_DEEP === '1';

/** Name it in a failure: `ORCH_TEST_SEED` repeats the run. */
export const seed = Number(process.env.ORCH_TEST_SEED ?? 1);

/** How often to try something random. */
export function runs(usual: number): number {
  return isDeep ? usual * 10 : usual;
}

/**
 * The operations to die at, in order and without end: the caller stops at the first one that was never reached. In a
 * deep run it is every operation, otherwise the first and one of each `stride`, another one in every test.
 */
export function* crashPoints(stride: number): Generator<number> {
  const random = makeRandom(hash(expect.getState().currentTestName ?? ''));
  yield 1;
  for (let from = 2; ; from += isDeep ? 1 : stride)
    yield isDeep ? from : from + Math.floor(random() * stride);
}

/** Numbers from 0 to 1 that look random and are the same for the same seed. */
export function makeRandom(salt = 0): () => number {
  let state = (seed * 7_919 + salt) % 2_147_483_648;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

function hash(text: string): number {
  let sum = 0;
  for (const char of text) sum = (sum * 31 + char.charCodeAt(0)) % 1_000_003;
  return sum;
}
