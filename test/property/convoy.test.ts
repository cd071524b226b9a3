import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../support/depth.ts';
import { type Behaviour, type PlayedTask, playConvoy, type Story } from '../support/simulated-convoy.ts';

const anything = fc.constantFrom<Behaviour>(
  'succeeds',
  'fails',
  'conflicts',
  'red',
  'asks',
  'dies',
  'spends',
);
/** What the next worker makes up for. */
const harmless = fc.constantFrom<Behaviour>('succeeds', 'conflicts', 'red', 'asks', 'dies');

function storyOf(behaviour: fc.Arbitrary<Behaviour>, isLimited: boolean): fc.Arbitrary<Story> {
  const money = (most: number) =>
    isLimited ? fc.option(fc.integer({ min: 1, max: most })) : fc.constant(null);
  const task = fc.record({
    needs: fc.array(fc.nat({ max: 11 }), { maxLength: 3 }),
    files: fc.subarray(['a.ts', 'b.ts', 'c.ts'], { maxLength: 2 }),
    mostAttempts: isLimited ? fc.integer({ min: 1, max: 3 }) : fc.constant(99),
    budget: money(60),
    cost: fc.nat({ max: 30 }),
    behaviours: fc.array(behaviour, { maxLength: 5 }),
  });
  return fc.record({
    tasks: fc.array(task, { minLength: 1, maxLength: 12 }).map((tasks) =>
      tasks.map((each, index): PlayedTask => {
        const needs = [...new Set(each.needs)].filter((need) => need < index).map((need) => `t${need}`);
        return { ...each, id: `t${index}`, needs, when: 'success' };
      }),
    ),
    workers: fc.integer({ min: 1, max: 5 }),
    batch: fc.integer({ min: 1, max: 4 }),
    budget: money(200),
    choices: fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 40 }),
    deaths: fc.array(fc.nat({ max: 150 }), { maxLength: 5 }),
  });
}

describe('a convoy, decision by decision', () => {
  it('C3, C4, C6, C8: whatever workers do and whenever its scheduler dies, nothing is merged twice, red or unpaid for', () => {
    fc.assert(
      fc.property(storyOf(anything, true), (story) => {
        const played = playConvoy(story, false);
        const { merged, states, leases, mostWorkers, overpromised, beside, wrong } = played;
        expect(new Set(merged).size).toBe(merged.length);
        expect(
          Object.keys(states)
            .filter((id) => states[id] === 'done')
            .sort(),
        ).toEqual([...merged].sort());
        expect(wrong).toEqual([]);
        expect(mostWorkers).toBeLessThanOrEqual(story.workers);
        expect(overpromised).toBe(0);
        expect(beside).toEqual([]);
        for (const own of Object.values(leases)) expect(own).toEqual(own.map((_, index) => index + 1));
        // None is left at work: each is done, has failed, waits for a person, or for another task that is not done.
        for (const { id, needs, files } of story.tasks) {
          expect(states[id]).toBeOneOf(['done', 'failed', 'held', 'needs_input', 'waiting', 'ready']);
          const isHolding = (other: PlayedTask) =>
            ['held', 'needs_input'].includes(states[other.id] ?? '') &&
            other.files.some((file) => files.includes(file));
          if (states[id] === 'waiting')
            expect(needs.some((need) => states[need] !== 'done') || story.tasks.some(isHolding)).toBe(true);
          for (const need of merged.includes(id) ? needs : [])
            expect(merged.indexOf(need)).toBeLessThan(merged.indexOf(id));
        }
        // C8: the same events give the same decisions.
        expect(playConvoy(story, false)).toEqual(played);
      }),
      { numRuns: runs(500) },
    );
  });

  it('C3, C8: no work is forgotten: with people who answer, and attempts enough, everything is merged in every order', () => {
    fc.assert(
      fc.property(storyOf(harmless, false), (story) => {
        const { merged, states } = playConvoy(story, true);
        const ids = story.tasks.map(({ id }) => id);
        expect(Object.fromEntries(ids.map((id) => [id, states[id]]))).toEqual(
          Object.fromEntries(ids.map((id) => [id, 'done'])),
        );
        expect([...merged].sort()).toEqual([...ids].sort());
      }),
      { numRuns: runs(500) },
    );
  });

  it('C6, C8: with people who raise the budget, money alone keeps nothing from being merged', () => {
    const story = storyOf(fc.constantFrom<Behaviour>('succeeds', 'spends', 'red'), false);
    const budgets = fc.integer({ min: 1, max: 60 });
    fc.assert(
      fc.property(story, budgets, (calm, budget) => {
        const { states, overpromised } = playConvoy({ ...calm, budget }, true);
        expect(new Set(Object.values(states))).toEqual(new Set(['done']));
        expect(overpromised).toBe(0);
      }),
      { numRuns: runs(500) },
    );
  });
});
