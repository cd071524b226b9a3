import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chooseTasks, findPosition, layOutBatches } from '../../src/spec/batches.ts';
import { markTasks } from '../../src/spec/evidence.ts';
import { parseSpec } from '../../src/spec/read-spec.ts';
import type { Situation } from '../../src/spec/situation.ts';

import { shareFiles } from '../support/files.ts';

/** Tasks that depend on earlier ones only, in either file, written down in any order. */
const graphs = fc
  .array(
    fc.record({
      needs: fc.array(fc.nat(), { maxLength: 4 }),
      needsInTasks: fc.array(fc.nat(), { maxLength: 2 }),
      files: fc.subarray(['a', 'b', 'c/d', 'c/**', 'e']),
      rank: fc.nat(),
    }),
    { minLength: 1, maxLength: 24 },
  )
  .map((nodes) => {
    const earlier = (numbers: readonly number[], index: number) =>
      index === 0 ? [] : [...new Set(numbers.map((number) => `T${number % index}`))];
    const rows = nodes.map(({ needs, needsInTasks, files, rank }, index) => ({
      rank,
      task: { id: `T${index}`, content: `task ${index}`, depends_on: earlier(needsInTasks, index) },
      order: { id: `T${index}`, file: files, depends_on: earlier(needs, index) },
    }));
    const inAnyOrder = rows.toSorted((a, b) => a.rank - b.rank);
    return {
      tasks: JSON.stringify({ tasks: inAnyOrder.map(({ task }) => task) }),
      dependencies: JSON.stringify({ phases: [{ tasks: rows.map(({ order }) => order) }] }),
    };
  });

function begin(texts: { tasks: string; dependencies: string }): Situation {
  const read = parseSpec({ folder: 'specs/active/x', ...texts });
  const batches = layOutBatches(read);
  const nothing = { path: '', bytes: Buffer.alloc(0) };
  return {
    folder: 'specs/active/x',
    spec: read.spec,
    batches,
    position: findPosition(batches),
    checkpoint: null,
    files: { tasks: nothing, checkpoint: null },
    head: { commit: null, branch: null },
  };
}

/** What the next call finds once a batch is committed. */
function commit(situation: Situation): Situation {
  const completed = situation.spec.tasks.filter(({ status }) => status === 'completed').map(({ id }) => id);
  const checkpoint = {
    branch: null,
    lastBatch: situation.position.lastBatch,
    lastCommit: null,
    completed,
    deferred: [],
    reviewConfig: null,
    others: {},
  };
  return { ...situation, checkpoint };
}

it('batch after batch completes all tasks, none before what it depends on, and none beside one that shares its files', () => {
  fc.assert(
    fc.property(graphs, fc.infiniteStream(fc.nat()), (texts, chances) => {
      let situation = begin(texts);
      const done = new Set<string>();
      let calls = 0;
      for (let { batch } = situation.position; batch !== null; { batch } = situation.position) {
        const { number, tasks } = batch;
        // Now and then only a part of a batch, by name, as if the work had stopped in the middle of it.
        const some = tasks.filter(() => (chances.next().value ?? 0) % 3 > 0);
        const names = some.length > 0 && some.length < tasks.length ? some.map(({ id }) => id) : null;
        const { newly } = chooseTasks(situation, done, names);
        expect(newly.length).toBeGreaterThan(0);
        for (const [index, task] of newly.entries()) {
          expect(done.has(task.id)).toBe(false);
          expect(task.needs.every((need) => done.has(need))).toBe(true);
          for (const other of newly.slice(0, index)) expect(shareFiles(task.files, other.files)).toBe(false);
        }
        for (const { id } of newly) done.add(id);
        const after = markTasks(situation, newly, 'completed');
        // The same call again, before it is committed, is about the same tasks and completes nothing more.
        expect(chooseTasks(after, new Set(), null).newly).toEqual([]);
        situation = commit(after);
        expect(situation.position.lastBatch).toBe(names === null ? number : number - 1);
        calls += 1;
        expect(calls).toBeLessThanOrEqual(situation.spec.tasks.length);
      }
      expect(done.size).toBe(situation.spec.tasks.length);
      expect(situation.position).toMatchObject({ lastBatch: situation.position.total, blocked: [] });
    }),
    { numRuns: 100 },
  );
});

it('a task whose dependencies are open is refused, and one that is done is done', () => {
  fc.assert(
    fc.property(graphs, (texts) => {
      const situation = begin(texts);
      const [first] = situation.position.batch?.tasks ?? [];
      if (first === undefined) return;
      const after = markTasks(situation, [first], 'completed');
      expect(chooseTasks(after, new Set(), [first.id])).toEqual({ newly: [], already: [first.id] });
      for (const { task, waitsFor } of situation.position.blocked)
        expect(() => chooseTasks(situation, new Set(), [task.id])).toThrow(
          `${task.id} depends on ${waitsFor.join(', ')}, which is not completed`,
        );
    }),
    { numRuns: 50 },
  );
});
