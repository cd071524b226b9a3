import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openClaims } from '../../src/plan/claims.ts';
import { mayOverlap, shareFiles } from '../../src/plan/files.ts';
import {
  findCycles,
  type GraphStatus,
  listBatches,
  nextBatch,
  orderTasks,
  readyTasks,
} from '../../src/plan/graph.ts';

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
  it('is that of the file, where that will do', () => {
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
  it('are found where a task can be reached from itself, and nowhere else', () => {
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

describe('what is ready', () => {
  it('is what nobody began, and whose needs have all ended', () => {
    const statuses = fc.dictionary(
      fc.constantFrom(...ids),
      fc.constantFrom('running', 'succeeded', 'failed'),
    );
    fc.assert(
      fc.property(soundGraph, statuses, (tasks, given) => {
        const known = new Map(Object.entries(given) as [string, GraphStatus][]);
        const expected = tasks.filter(
          ({ id, needs }) =>
            given[id] === undefined && needs.every((need) => given[need] && given[need] !== 'running'),
        );
        expect(readyTasks(tasks, known)).toEqual(expected);
      }),
    );
  });
});

describe('a batch', () => {
  it('has only tasks that are ready, and no two of them share a file', () => {
    fc.assert(
      fc.property(soundGraph, fc.subarray(ids), (tasks, done) => {
        const finished = new Set(done);
        const ready = tasks.filter(
          ({ id, needs }) => !finished.has(id) && needs.every((need) => finished.has(need)),
        );
        const batch = nextBatch(tasks, finished);
        expect(batch.length > 0).toBe(ready.length > 0);
        expect(ready).toEqual(expect.arrayContaining(batch));
        for (const [index, task] of batch.entries())
          for (const other of batch.slice(index + 1)) expect(shareFiles(task.files, other.files)).toBe(false);
        // None was left out that would have fitted, but for the sake of one that is alone.
        if (batch[0]?.files.length !== 0)
          for (const task of ready.filter((each) => !batch.includes(each)))
            expect(batch.some((other) => shareFiles(task.files, other.files))).toBe(true);
      }),
    );
  });

  it('is never longer than was asked', () => {
    const tasks = ['p', 'q', 'r'].map((id) => ({ id, needs: [], files: [`${id}.ts`] }));
    expect(nextBatch(tasks, new Set(), { most: 2 }).map(({ id }) => id)).toEqual(['p', 'q']);
  });

  it('follows batch, until every task was in one', () => {
    fc.assert(
      fc.property(soundGraph, (tasks) => {
        const batches = listBatches(tasks);
        const done = new Set<string>();
        for (const batch of batches) {
          expect(batch).toEqual(nextBatch(orderTasks(tasks), done));
          for (const { id } of batch) done.add(id);
        }
        const all = batches.flat();
        expect(all.map(({ id }) => id).sort()).toEqual(tasks.map(({ id }) => id).sort());
      }),
    );
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
