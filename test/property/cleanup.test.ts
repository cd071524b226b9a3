import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEpicId, parseOid, parseSessionId } from '../../src/ids.ts';
import type { SessionCondition } from '../../src/record/sessions.ts';
import {
  type CleanupItem,
  type EpicFacts,
  planCleanup,
  type Retention,
  retentionFloor,
} from '../../src/upkeep/cleanup/plan-cleanup.ts';

const now = 1_800_000_000_000;
const oid = parseOid('1'.repeat(40));
const epics = ['a', 'b'].map(parseEpicId);
const sessions = ['sess-aaaa', 'sess-bbbb', 'sess-cccc', 'sess-dddd'].map(parseSessionId);
const fates: readonly SessionCondition[] = [
  'running',
  'interrupted',
  'elsewhere',
  'paused',
  'completed',
  'failed',
];

const time = fc.integer({ min: 0, max: 100 * 24 }).map((hours) => now - hours * 3_600_000);
const keptFor = fc.option(fc.integer({ min: 0, max: 60 }).map((days) => days * 86_400_000));
const retention: fc.Arbitrary<Retention> = fc.record({
  failed: keptFor,
  snapshots: keptFor,
  trash: keptFor,
  archive: keptFor,
});

const epicFacts: fc.Arbitrary<EpicFacts> = fc.record({
  tip: fc.constant(oid),
  problem: fc.option(fc.constant('it is damaged'), { freq: 5 }),
  sessions: fc
    .array(
      fc.tuple(fc.constantFrom(...sessions), fc.record({ condition: fc.constantFrom(...fates), at: time })),
    )
    .map((entries) => new Map(entries)),
  isComplete: fc.boolean(),
  pending: fc.nat(1),
  green: fc.option(fc.constantFrom(...sessions)),
  latest: fc.option(fc.constantFrom(...sessions)),
  completedAt: fc.option(time),
});

const file = time.map((at) => ({ path: '/x', mark: 'm', bytes: 1, at }));
const item: fc.Arbitrary<CleanupItem> = fc.oneof(
  fc
    .record({ epic: fc.constantFrom(...epics), session: fc.constantFrom(...sessions), at: time })
    .map((of) => ({
      kind: 'snapshots' as const,
      ...of,
      ref: `refs/orchestration/snapshots/${of.epic}/${of.session}`,
      oid,
    })),
  fc.constantFrom(...epics).map((epic) => ({ kind: 'epic' as const, epic, ref: 'r', oid })),
  fc.constantFrom(...epics).map((epic) => ({ kind: 'completed' as const, epic })),
  fc.record({ epic: fc.constantFrom(...epics), at: time }).map((of) => ({
    kind: 'trash' as const,
    ...of,
    ref: 't',
    oid,
  })),
  fc.record({ sessions: fc.subarray([...sessions]), file }).map((of) => ({ kind: 'log' as const, ...of })),
  file.map((one) => ({ kind: 'damaged' as const, file: one })),
);

it('whatever the settings say: nothing that is open, green, newest or of the last day goes, and going on changes nothing', () => {
  fc.assert(
    fc.property(
      fc.tuple(epicFacts, epicFacts),
      fc.uniqueArray(item, { selector: (one) => JSON.stringify(one), maxLength: 12 }),
      retention,
      ([a, b], items, rules) => {
        const known = new Map(epics.map((epic, at) => [epic, at === 0 ? a : b] as const));
        const facts = { epics: known, items };
        const judged = planCleanup(facts, rules, now);
        expect(judged.map((one) => one.item)).toEqual(items);
        const removed = judged.filter(({ isRemoved }) => isRemoved).map((one) => one.item);
        for (const gone of removed) {
          if ('at' in gone && gone.kind === 'trash')
            expect(now - gone.at).toBeGreaterThanOrEqual(retentionFloor);
          if (gone.kind !== 'snapshots') continue;
          const epic = known.get(gone.epic);
          const session = epic?.sessions.get(gone.session);
          expect(epic?.problem).toBe(null);
          expect([epic?.green, epic?.latest]).not.toContain(gone.session);
          expect(['running', 'interrupted', 'elsewhere']).not.toContain(session?.condition);
          expect(now - (session?.at ?? gone.at)).toBeGreaterThanOrEqual(retentionFloor);
          const others = items.filter((one) => one.kind === 'snapshots' && one.epic === gone.epic);
          expect(
            others.some((one) => one.kind === 'snapshots' && one.at > gone.at && !removed.includes(one)),
          ).toBe(true);
        }
        // What is left after it is left again: the second run has nothing to do but what the trash sets free.
        const left = items.filter((one) => !removed.includes(one));
        const again = planCleanup({ ...facts, items: left }, rules, now).filter(({ isRemoved }) => isRemoved);
        expect(again).toEqual([]);
      },
    ),
  );
});
