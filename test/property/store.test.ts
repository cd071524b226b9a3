import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { epicRef, trashPrefix } from '../../src/checkpoint/document/names-in-git.ts';
import { mergeHistory } from '../../src/checkpoint/merge.ts';
import { readCommitAndDocument } from '../../src/checkpoint/read-base.ts';
import { saveAndTrashEpic } from '../../src/epic/epics.ts';
import { listCheckpoints, loadLatestCheckpoint, verifyCheckpoints } from '../../src/index.ts';
import { saveByHand } from '../../src/session/calls.ts';
import { canonicalJson } from '../../src/state/canonical.ts';
import { type Clone, fetchAndMerge, makeClone } from '../support/clones.ts';
import { cost, epic, note } from '../support/store.ts';

type Step =
  | { readonly do: 'save'; readonly clone: number; readonly at_once: number }
  | { readonly do: 'fetch'; readonly from: number; readonly to: number };

const clone = fc.integer({ min: 0, max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('save' as const),
      clone,
      at_once: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fetch' as const), from: clone, to: clone }) },
);

/** All the notes in a state; few enough to stay below its bound. */
async function notesOf({ orch }: Clone): Promise<string[]> {
  return Object.keys((await loadLatestCheckpoint(epic, orch))?.document.state.notes ?? {}).sort();
}

describe('any history of saves and merges on three clones', () => {
  it('I4 I6: ends with the same tip, the same money and every event once, whatever the clocks say', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
        const clones = [makeClone('w-a', 0), makeClone('w-b', -7_200_000), makeClone('w-c', 3_600_000)];
        const saved: string[] = [];
        const at = (index: number) => clones[index] ?? makeClone('none', 0);
        for (const next of steps) {
          if (next.do === 'fetch') await fetchAndMerge(at(next.from), at(next.to));
          else {
            const ids = Array.from({ length: next.at_once }, (_, index) => `n${saved.length + index}`);
            saved.push(...ids);
            const request = (id: string) =>
              ({ trigger: 'manual', reason: null, facts: [note(id), cost(7)], agent: null }) as const;
            await Promise.all(ids.map((id) => saveByHand(at(next.clone).orch, epic, request(id))));
          }
          for (const { orch } of clones) {
            if ((await orch.git.readRef(epicRef(epic))) === null) continue;
            expect((await verifyCheckpoints(epic, orch)).damaged).toEqual([]);
          }
        }
        // Everyone fetches from everyone until nothing moves.
        for (let round = 0; round < 3; round++) {
          for (const from of clones) for (const to of clones) await fetchAndMerge(from, to);
        }
        const tips = new Set(clones.map(({ repository }) => repository.refs.get(epicRef(epic))));
        expect(tips.size).toBe(1);
        const latest = await loadLatestCheckpoint(epic, at(0).orch);
        expect(latest?.document.costUsd ?? 0).toBe((saved.length * 7) / 1_000_000);
        expect(await notesOf(at(0))).toEqual([...saved].sort());
        // Every event is in the history once: checkpoints are never doubled by a merge.
        const listed = latest ? await listCheckpoints(epic, {}, at(0).orch) : [];
        expect(listed.filter(({ trigger }) => trigger !== 'merge')).toHaveLength(saved.length);
      }),
      { numRuns: 40 },
    );
  });

  it('I6: two clones that merge at the same moment make the same commit', async () => {
    const [a, b] = [makeClone('w-a', 0), makeClone('w-b', 500)];
    const request = (id: string) =>
      ({ trigger: 'manual', reason: null, facts: [note(id)], agent: null }) as const;
    await saveByHand(a.orch, epic, request('one'));
    await fetchAndMerge(a, b);
    await saveByHand(a.orch, epic, request('two'));
    await saveByHand(b.orch, epic, request('three'));
    const before = [a.repository.refs.get(epicRef(epic)), b.repository.refs.get(epicRef(epic))];
    for (const { repository } of [a, b])
      for (const [oid, object] of [...a.repository.objects, ...b.repository.objects])
        repository.objects.set(oid, object);
    if (!before[0] || !before[1]) throw new Error('nothing was saved');
    const [left, right] = [
      await mergeHistory(a.orch, epic, before[1]),
      await mergeHistory(b.orch, epic, before[0]),
    ];
    expect(left).toEqual(right);
    expect(left.how).toBe('merged');
    const { commit, document } = await readCommitAndDocument(a.orch.git, epic, left.tip);
    expect(commit.parents).toEqual([...before].sort());
    expect(document.seq).toBe(3);
    expect(canonicalJson(document.state.notes)).toMatch(/one.*three.*two/);
    // Containment is a fast-forward, and nothing to do the other way.
    expect((await mergeHistory(a.orch, epic, before[0])).how).toBe('contained');
  });
});

describe('deleting an epic', () => {
  it('moves all of it to the trash, and the name is free again', async () => {
    const { orch, repository } = makeClone('w-a', 0);
    const save = (id: string) =>
      saveByHand(orch, epic, { trigger: 'manual', reason: null, facts: [note(id), cost(5)], agent: null });
    await save('one');
    await save('two');
    const tip = repository.refs.get(epicRef(epic));
    const trash = await saveAndTrashEpic(orch, epic);
    expect(trash?.startsWith(`${trashPrefix}${epic}/`)).toBe(true);
    expect(repository.refs.get(trash ?? '')).toBe(tip);
    expect(await orch.git.readRef(epicRef(epic))).toBeNull();
    expect(await saveAndTrashEpic(orch, epic)).toBeNull();
    await save('new');
    const latest = await loadLatestCheckpoint(epic, orch);
    expect(latest?.document).toMatchObject({ seq: 1, costUsd: 0.000005 });
    expect(Object.keys(latest?.document.state.notes ?? {})).toEqual(['new']);
  });
});
