import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldShards, mergeShards } from '../../src/checkpoint/shards/edit-shards.ts';
import { type RunFolders, readRunRecords, readShardHead } from '../../src/checkpoint/shards/read-shards.ts';
import { parseSessionId, parseWriterId } from '../../src/ids.ts';
import { canonicalJson } from '../../src/state/canonical.ts';
import {
  countAgain,
  foldRecord,
  joinRecords,
  noCounts,
  noRecords,
  type RecordEvent,
  type RunRecords,
} from '../../src/state/run-records.ts';
import { makeMemoryRepository, openMemoryEngine } from '../support/memory-engine.ts';

const run = 'run-aaaa';
const clock = 1_000;
const numRuns = 300;

// Few tasks, so that several clones write to the same ones, and enough to share and to split shards.
const task = fc.constantFrom(...Array.from({ length: 12 }, (_, n) => `t${n}`));
const taskFact = fc.record({
  kind: fc.constant('task' as const),
  id: task,
  status: fc.constantFrom('pending', 'running', 'succeeded', 'failed', 'skipped', 'undoing', 'undone'),
});
const effectFact = fc.record({
  kind: fc.constant('effect' as const),
  task,
  id: fc.constantFrom('mail', 'tag'),
  status: fc.constantFrom('planned', 'acknowledged', 'blocked', 'undoing', 'undone'),
  turn: fc.nat({ max: 2 }),
});

function makeEvents(depth: number): fc.Arbitrary<RecordEvent[]> {
  const drafts = fc.array(
    fc.tuple(fc.oneof(taskFact, effectFact), fc.nat({ max: 5 }), fc.constantFrom('w1', 'w2', 'w3')),
    { maxLength: 30 },
  );
  return drafts.map((all) =>
    all.map(([fact, at, by], offset): RecordEvent => {
      const about =
        fact.kind === 'task'
          ? { attempts: 1, digest: 'd', artifacts: [] }
          : { key: 'k', reason: null, digest: 'd', what: 'sends' };
      const session = parseSessionId('sess-aaaa');
      const place = { at, by: parseWriterId(by), session, offset, end: offset + 1 };
      return { ...place, fact: { ...fact, ...about, run, shards: depth } } as RecordEvent; // all fields are there
    }),
  );
}

const depth = fc.constantFrom(0, 1, 2, 3);
const history = depth.chain(makeEvents);
const shuffled = history.chain((events) =>
  fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
);
const foldAll = (events: readonly RecordEvent[]) => events.reduce(foldRecord, noRecords);
const same = (a: unknown, b: unknown) => expect(canonicalJson(a)).toBe(canonicalJson(b));

describe('I6: the records of a run', () => {
  it('join the same whichever comes first, in any grouping, and once', () => {
    const records = makeEvents(0).map(foldAll);
    fc.assert(
      fc.property(records, records, records, (a, b, c) => {
        same(joinRecords(a, b), joinRecords(b, a));
        same(joinRecords(joinRecords(a, b), c), joinRecords(a, joinRecords(b, c)));
        same(joinRecords(a, a), a);
      }),
      { numRuns },
    );
  });

  it('are the same in whatever order their events are folded, and only an undo takes back an acknowledged effect', () => {
    fc.assert(
      fc.property(shuffled, ([events, others]) => {
        same(foldAll(events), foldAll(others));
        for (const { fact } of events) {
          if (fact.kind !== 'effect' || fact.status !== 'acknowledged') continue;
          const { turn = 0 } = fact;
          const now = foldAll(events).effects[`${fact.task}/${fact.id}`]?.value;
          // Only undoing it takes it back, and only its next turn does it again.
          if ((now?.turn ?? 0) === turn) expect(now?.status).toMatch(/^(acknowledged|undoing|undone)$/);
          else expect(now?.turn ?? 0).toBeGreaterThan(turn);
        }
      }),
      { numRuns },
    );
  });
});

/** A store of shards, and what they hold. */
function openShards() {
  const git = openMemoryEngine(makeMemoryRepository());
  return {
    async fold(folders: RunFolders, events: readonly RecordEvent[]): Promise<RunFolders> {
      const edits = await foldShards(git, folders, events, clock);
      await git.writeObjects(edits.objects);
      return edits.folders;
    },
    async merge(a: RunFolders, b: RunFolders): Promise<RunFolders> {
      const edits = await mergeShards(git, a, b, clock);
      await git.writeObjects(edits.objects);
      return edits.folders;
    },
    async read(folders: RunFolders): Promise<RunRecords> {
      const folder = folders.get(run);
      if (folder === undefined) return noRecords;
      const { records, damaged } = await readRunRecords(git, folder, run, clock);
      expect(damaged).toEqual([]);
      const head = await readShardHead(git, folder, run);
      expect(head?.counts).toEqual(countAgain(noCounts, noRecords, records));
      return records;
    },
  };
}

describe('the shards of a run', () => {
  it('hold what the list without shards does, however the events are spread over checkpoints', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.array(fc.nat({ max: 6 }), { minLength: 31 }), async (events, sizes) => {
        const shards = openShards();
        let folders: RunFolders = new Map();
        let left = events;
        for (const size of sizes) {
          folders = await shards.fold(folders, left.slice(0, size));
          left = left.slice(size);
        }
        folders = await shards.fold(folders, left);
        same(await shards.read(folders), foldAll(events));
        // Folding again what was folded before a crash changes nothing.
        expect(await shards.fold(folders, events)).toEqual(folders);
      }),
      { numRuns },
    );
  });

  it('of two clones merge into the same tree on both, with everything either knows', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat({ max: 30 }), fc.nat({ max: 30 }), async (events, start, split) => {
        const shards = openShards();
        const common = await shards.fold(new Map(), events.slice(0, start));
        const [mine, theirs] = [
          await shards.fold(common, events.slice(start, start + split)),
          await shards.fold(common, events.slice(start + split)),
        ];
        const merged = await shards.merge(mine, theirs);
        expect(await shards.merge(theirs, mine)).toEqual(merged);
        same(await shards.read(merged), foldAll(events));
      }),
      { numRuns },
    );
  });
});
