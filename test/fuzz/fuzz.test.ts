import { describe, expect, it, vi } from 'vitest';
import { execute, makeInput, readSeed } from './execute.ts';
import { seeds } from './seeds.ts';
import { targets } from './targets.ts';

/* A short run of the fuzzer that is always the same. `npm run fuzz` goes on for as long as it is told to. */

vi.setConfig({ testTimeout: 120_000 });

describe.each(targets.map((target) => [target.name, target] as const))('%s', (_, target) => {
  it('takes the samples that all inputs are made of', async () => {
    const results = [];
    for (const index of target.samples.keys())
      results.push(await execute(target, makeInput(target, 1, index), index));
    expect(results.flatMap(({ finding }) => finding?.problem ?? [])).toEqual([]);
    expect(results.map(({ verdict }) => verdict)).toContain('accepted');
  });

  it('takes or refuses whatever comes, and nothing else happens', async () => {
    for (let index = 0; index < 40; index++) {
      const { finding } = await execute(target, makeInput(target, 1, index), index);
      expect(finding?.problem, `index ${index}`).toBeUndefined();
    }
  });
});

describe('an input that once found something', () => {
  it.each(seeds.map((seed) => [seed.target, seed.found, seed] as const))('%s: %s', async (name, _, seed) => {
    const target = targets.find((each) => each.name === name);
    if (target === undefined) throw new Error(`no target ${name}`);
    const { finding } = await execute(target, readSeed(seed), null);
    expect(finding?.problem).toBeUndefined();
  });
});
