import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OrchError } from '../../src/errors.ts';
import { shortDigestOf } from '../../src/plan/digests.ts';
import { performEffects } from '../../src/plan/effects/perform.ts';
import { type EarlierEffects, type EffectFact, planRunEffects } from '../../src/plan/effects/plan-effects.ts';
import type { EffectChoice } from '../../src/plan/effects/replan.ts';
import type { Effect } from '../../src/plan/plan.ts';
import { realClock, realRandom } from '../../src/system/clock.ts';

/** One process that works on the run: whose it is, what the plan has by then, what the user says, and when it dies. */
type Session = {
  readonly writer: 'a' | 'b';
  readonly version: number;
  readonly choice: EffectChoice | null;
  /** After so many things that happen, it is gone. */
  readonly livesFor: number;
  /** Which effects fail in it, so that another attempt is needed. */
  readonly failing: readonly string[];
};

const ids = ['one', 'two'];
const sessions: fc.Arbitrary<Session> = fc.record({
  writer: fc.constantFrom('a', 'b'),
  version: fc.nat({ max: 2 }),
  choice: fc.constantFrom(null, null, null, 'replan', 'as_planned', 'done'),
  livesFor: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constant(100)),
  failing: fc.subarray(ids),
});

type Applied = { readonly id: string; readonly key: string; readonly version: unknown };

/** The world, and what is on disk of the run. */
function makeWorld() {
  const disk = new Map<string, EffectFact>();
  const applied: Applied[] = [];
  let last: Session['writer'] | null = null;

  async function live({ writer, version, choice, livesFor, failing }: Session): Promise<void> {
    let left = livesFor;
    const happen = (what: () => void) => {
      if (left-- <= 0) throw new Error('died');
      what();
    };
    // As the fold does it: what an effect sends is said once.
    const write = (fact: EffectFact) => {
      const content = fact.content ?? disk.get(fact.id)?.content;
      disk.set(fact.id, { ...fact, ...(content !== undefined && { content }) });
      last = writer;
    };
    const effects = ids.map((id): Effect => {
      const content = { id, version };
      const perform = async (key: string, sent: unknown) => {
        if (failing.includes(id)) throw new OrchError('RESUME_NEEDED', 'not now');
        happen(() => applied.push({ id, key, version: (sent as typeof content).version }));
      };
      return {
        id,
        action: { kind: 'function', content, perform },
        check: null,
        digest: shortDigestOf(content),
      };
    });
    const carried: EarlierEffects = {
      effects: Object.fromEntries(disk),
      isElsewhere: last !== null && last !== writer,
      isOwn: () => true,
      choices: new Map(choice === null ? [] : ids.map((id) => [id, choice])),
    };
    const { planned, facts } = planRunEffects([{ id: 'publish', effects, env: {} }], 'run-aaaa', carried, {});
    // What a session begins with is written together, or not at all.
    happen(() => facts.forEach(write));
    await performEffects(
      {
        clock: realClock,
        random: realRandom,
        cwd: '.',
        env: {},
        signal: new AbortController().signal,
        onOutput: () => {},
        onNote: () => {},
        record: async (fact) => happen(() => write(fact)),
      },
      { env: {}, timeout: null, effectRetry: { attempts: 1, backoff: 0 } },
      planned,
    );
  }

  const takesOver = ({ writer }: Session) => last !== null && last !== writer;
  return { live, disk, applied, takesOver };
}

it('for all edits, deaths, take-overs and choices: what may have been sent is never sent otherwise, or again, unasked', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(sessions, { maxLength: 8 }), async (all) => {
      const world = makeWorld();
      /** What another clone may have done, and nobody said anything about since. */
      const unknown = new Set<string>();
      for (const session of all) {
        const before = new Map(world.disk);
        const sent = world.applied.length;
        const isOpen = (id: string) => before.has(id) && before.get(id)?.status !== 'acknowledged';
        if (world.takesOver(session)) for (const id of ids.filter(isOpen)) unknown.add(id);
        if (session.choice !== null) unknown.clear();
        await world.live(session).catch(() => {});
        for (const { id, version } of world.applied.slice(sent)) {
          const known = before.get(id);
          expect(known?.status, 'what is acknowledged is not sent again').not.toBe('acknowledged');
          expect(known !== undefined && session.choice === 'done', 'nor what counts as done').toBe(false);
          if (session.choice !== null || known === undefined) continue;
          expect(unknown.has(id), 'nor what another clone may have done').toBe(false);
          const planned: { version: number } = JSON.parse(known.content ?? 'null');
          if (known.tried !== 'no') expect(version, 'it is sent as it was tried').toBe(planned.version);
          else expect(version, 'never tried, it is sent as the plan has it').toBe(session.version);
        }
      }
      const versions = new Map<string, unknown>();
      for (const { key, version } of world.applied) {
        expect(versions.get(key) ?? version, 'a key stands for one content').toBe(version);
        versions.set(key, version);
      }
    }),
    { numRuns: 2_000 },
  );
});
