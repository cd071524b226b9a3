import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayOverlap, openClaims } from '../../src/plan/schedule/claims.ts';

import { findCycles, listBatches, orderTasks } from '../../src/plan/schedule/graph.ts';
import { shareFiles } from '../support/files.ts';

type Small = { readonly id: string; readonly needs: readonly string[]; readonly files: readonly string[] };

const ids = ['a', 'b', 'c', 'd', 'e'];
/** Any graph of five tasks, circles included. */
const anyGraph: fc.Arbitrary<Small[]> = fc
  .array(fc.tuple(fc.subarray(ids), fc.subarray(['x', 'y/**', 'y/z', 'w'])), { minLength: 1, maxLength: 5 })
  .map((parts) =>
    parts.map(([needs, files], index) => ({
      id: ids[index] ?? '',
      needs: needs.filter((need) => ids.indexOf(need) < parts.length),
      files,
    })),
  );
/** Without circles, and not in the order of the file. */
const soundGraph = anyGraph.filter((tasks) => findCycles(tasks).length === 0);

/** Can a task be reached from itself? Tried out along every path. */
function isInCircle(tasks: readonly Small[], from: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop())
    for (const need of tasks.find((task) => task.id === id)?.needs ?? []) {
      if (need === from) return true;
      if (!seen.has(need)) open.push(need);
      seen.add(need);
    }
  return false;
}

describe('the order of tasks', () => {
  it('keeps the order of the file if possible', () => {
    const tasks = [
      { id: 'deploy', needs: ['build'] },
      { id: 'lint', needs: [] },
      { id: 'build', needs: ['lint'] },
    ];
    expect(orderTasks(tasks).map(({ id }) => id)).toEqual(['lint', 'build', 'deploy']);
  });

  it('has each task once, after all it needs', () => {
    fc.assert(
      fc.property(soundGraph, (tasks) => {
        const order = orderTasks(tasks).map(({ id }) => id);
        expect(order.toSorted()).toEqual(tasks.map(({ id }) => id).sort());
        for (const { id, needs } of tasks)
          for (const need of needs) expect(order.indexOf(need)).toBeLessThan(order.indexOf(id));
      }),
    );
  });
});

describe('circles', () => {
  it('are found exactly if a task can be reached from itself', () => {
    fc.assert(
      fc.property(anyGraph, (tasks) => {
        const cycles = findCycles(tasks);
        expect(cycles.length > 0).toBe(tasks.some(({ id }) => isInCircle(tasks, id)));
        for (const cycle of cycles) {
          expect(cycle[0]).toBe(cycle.at(-1));
          for (const [index, id] of cycle.slice(0, -1).entries())
            expect(tasks.find((task) => task.id === id)?.needs).toContain(cycle[index + 1]);
        }
      }),
    );
  });
});

describe('batches', () => {
  it('hold only tasks that are ready and share no files, as many as fit, until every task was in one', () => {
    fc.assert(
      fc.property(soundGraph, (tasks) => {
        const done = new Set<string>();
        for (const batch of listBatches(tasks)) {
          const ready = tasks.filter(
            ({ id, needs }) => !done.has(id) && needs.every((need) => done.has(need)),
          );
          expect(batch.length).toBeGreaterThan(0);
          expect(ready).toEqual(expect.arrayContaining(batch));
          for (const [index, task] of batch.entries())
            for (const other of batch.slice(index + 1))
              expect(shareFiles(task.files, other.files)).toBe(false);
          // None was left out that would have fitted, but for the sake of one that is alone.
          if (batch[0]?.files.length !== 0)
            for (const task of ready.filter((each) => !batch.includes(each)))
              expect(batch.some((other) => shareFiles(task.files, other.files))).toBe(true);
          for (const { id } of batch) done.add(id);
        }
        expect([...done].sort()).toEqual(tasks.map(({ id }) => id).sort());
      }),
    );
  });

  it('are never longer than asked', () => {
    const tasks = ['p', 'q', 'r'].map((id) => ({ id, needs: [], files: [`${id}.ts`] }));
    const batches = listBatches(tasks, { most: 2 });
    expect(batches.map((batch) => batch.map(({ id }) => id))).toEqual([['p', 'q'], ['r']]);
  });
});

describe('globs', () => {
  it.each([
    ['src/a.ts', 'src/a.ts', true],
    ['src/a.ts', 'src/b.ts', false],
    ['src/**', 'src/deep/a.ts', true],
    ['src/**', 'test/**', false],
    ['src/*.ts', 'src/*.md', false],
    ['src/*.ts', 'src/login.ts', true],
    ['src/auth*', 'src/bill*', false],
    ['src', 'src/a.ts', true],
    ['./src/a.ts', 'src/a.ts', true],
    ['src/A.ts', 'src/a.ts', true],
    ['{a/b,c}', 'c', true],
    ['a/../b', 'b', true],
    ['**', 'anything/at/all', true],
  ])('%s and %s', (a, b, expected) => {
    expect(mayOverlap(a, b)).toBe(expected);
    expect(mayOverlap(b, a)).toBe(expected);
  });
});

it('claims say the same as comparing each with each', () => {
  const name = fc.constantFrom('a', 'b', 'A', 'a.ts', '*', '**', 'a*', '..', '.', '{a,b}');
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
  const files = fc.array(path, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(
      fc.array(files, { maxLength: 4 }),
      fc.array(files, { maxLength: 3 }),
      files,
      (others, gone, mine) => {
        const claims = openClaims<readonly string[]>();
        for (const other of [...others, ...gone]) claims.add(other, other);
        for (const other of gone) claims.release(other);
        const conflict = claims.findConflict(mine);
        expect(conflict === null).toBe(others.every((other) => !shareFiles(mine, other)));
        if (conflict === null) return;
        expect(others).toContain(conflict.holder);
        expect(mine).toContain(conflict.file);
        expect(shareFiles([conflict.file], conflict.holder)).toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});
