import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OrchError } from '../../src/errors.ts';
import { type EffectsOutcome, performEffects } from '../../src/plan/effects/perform.ts';
import { type EffectFact, planEffects } from '../../src/plan/effects/plan-effects.ts';
import type { Effect } from '../../src/plan/plan.ts';
import { realClock, realRandom } from '../../src/system/clock.ts';

/** What befalls the next thing that happens; the process may die before it and after it. */
type Fate = 'well' | 'dies before' | 'dies after' | 'fails before' | 'fails after';

const fates: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 5, arbitrary: fc.constant('well' as const) },
  { weight: 1, arbitrary: fc.constantFrom('dies before', 'dies after', 'fails before', 'fails after') },
);

/** The outside world, the disk, and all that happens to a run between them. */
function makeWorld(ids: readonly string[], isChecked: boolean, future: readonly Fate[]) {
  const left = [...future];
  const disk: EffectFact[] = [];
  /** Each application, under its key: a world without a memory for keys. */
  const applied: { id: string; key: string }[] = [];
  const never = new Promise<never>(() => {});

  /** One session's process; its death ends it, whatever it waits for. */
  async function live(): Promise<EffectsOutcome | 'died'> {
    let die: (how: 'died') => void = () => {};
    const death = new Promise<'died'>((resolve) => {
      die = resolve;
    });
    async function happen(what: () => void): Promise<void> {
      const fate = left.shift() ?? 'well';
      if (fate === 'dies before') {
        die('died');
        await never;
      }
      if (fate === 'fails before') throw new OrchError('RESUME_NEEDED', 'not now');
      what();
      if (fate === 'dies after') {
        die('died');
        await never;
      }
      if (fate === 'fails after') throw new OrchError('RESUME_NEEDED', 'no answer');
    }
    /** A disk takes what it is given, or the process is gone; failing disks end a run as a death does. */
    const write = (fact: EffectFact) =>
      happen(() => disk.push(fact)).catch(async () => {
        die('died');
        await never;
      });
    const effects = ids.map((id): Effect => {
      const perform = (key: string) => happen(() => applied.push({ id, key }));
      const isDone = async (key: string) => applied.some((one) => one.key === key);
      const check = isChecked ? ({ kind: 'function', isDone } as const) : null;
      return { id, action: { kind: 'function', perform }, check, digest: id };
    });
    const carried = Object.fromEntries(disk.map((fact) => [fact.id, fact]));
    const { planned } = planEffects([{ id: 'publish', effects }], 'run-aaaa', {
      effects: carried,
      isElsewhere: false,
    });
    const work = async () => {
      for (const { record } of planned) await write(record);
      return performEffects(
        {
          clock: realClock,
          random: realRandom,
          cwd: '.',
          env: {},
          signal: new AbortController().signal,
          onOutput: () => {},
          onNote: () => {},
          record: write,
        },
        { env: {}, timeout: null, effectRetry: { attempts: 2, backoff: 0 } },
        planned,
      );
    };
    return Promise.race([work(), death]);
  }

  return { live, disk, applied };
}

it('for all deaths and failures: each effect is done, in order, under one key, and acknowledged once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      fc.array(fates, { maxLength: 40 }),
      async (size, isChecked, future) => {
        const ids = Array.from({ length: size }, (_, index) => `e${index}`);
        const world = makeWorld(ids, isChecked, future);
        let outcome: EffectsOutcome | 'died' = 'died';
        for (let session = 0; outcome === 'died' || outcome.kind !== 'done'; session++) {
          expect(session).toBeLessThanOrEqual(future.length + 1);
          outcome = await world.live();
        }
        const order = world.applied.map(({ id }) => id);
        expect(order, 'never out of order').toEqual([...order].sort());
        expect([...new Set(order)], 'none is forgotten').toEqual(ids);
        const keys = new Set(world.applied.map(({ id, key }) => `${id} ${key}`));
        expect(keys.size, 'the same key in every replay').toBe(size);
        if (isChecked) expect(order, 'with a check none is done twice').toEqual(ids);
        for (const id of ids) {
          const statuses = world.disk.filter((fact) => fact.id === id).map(({ status }) => status);
          const first = statuses.indexOf('acknowledged');
          expect(statuses.slice(first), 'what is acknowledged stays so').not.toContain('planned');
        }
      },
    ),
    { numRuns: 300 },
  );
});

it('for all deaths: what was acknowledged on disk is never sent again', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fates, { maxLength: 30 }), async (future) => {
      const world = makeWorld(['e0', 'e1', 'e2'], false, future);
      for (let session = 0; session <= future.length; session++) {
        const before = new Set(
          world.disk.filter(({ status }) => status === 'acknowledged').map(({ id }) => id),
        );
        const sent = world.applied.length;
        await world.live();
        expect(world.applied.slice(sent).filter(({ id }) => before.has(id))).toEqual([]);
      }
    }),
    { numRuns: 100 },
  );
});
