import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mayOverlap } from '../../src/plan/schedule/claims.ts';
import {
  type Known,
  nothingKnown,
  openSchedule,
  type ScheduledTask,
  type TaskEnd,
} from '../../src/plan/schedule/schedule.ts';

const task = (id: string, needs: string[], more: Partial<ScheduledTask> = {}): ScheduledTask => ({
  id,
  needs,
  when: 'success',
  files: [],
  ...more,
});

/** Do two tasks say that they work on the same file? */
const clash = (a: ScheduledTask, b: ScheduledTask) =>
  a.files.some((mine) => b.files.some((theirs) => mayOverlap(mine, theirs)));

/** Runs a plan in which these tasks fail; returns how each task ended, and the order in which they started. */
function runThrough(
  tasks: readonly ScheduledTask[],
  failing: readonly string[],
  jobs = 1,
  done: string[] = [],
) {
  const known: Known = {
    ended: new Map(done.map((id) => [id, { status: 'succeeded' }])),
    begun: new Map(),
    before: new Map(),
  };
  const schedule = openSchedule(tasks, known, jobs);
  const ended: { [id: string]: TaskEnd } = {};
  const began: string[] = [];
  const running: ScheduledTask[] = [];
  let most = 0;
  for (;;) {
    const { ready, decisions } = schedule.next();
    for (const {
      kind,
      task: { id },
    } of decisions)
      if (kind === 'skip') ended[id] = 'skipped';
    running.push(...ready);
    began.push(...ready.map(({ id }) => id));
    most = Math.max(most, running.length);
    for (const [index, one] of running.entries())
      for (const other of running.slice(index + 1)) expect(clash(one, other)).toBe(false);
    const next = running.shift();
    if (next === undefined) break;
    ended[next.id] = failing.includes(next.id) ? 'failed' : 'succeeded';
    schedule.finish(next.id, { status: ended[next.id] ?? 'failed' });
  }
  return { ended, began, most };
}

/** The same rule, stated per task: how it ends follows from how the tasks before it ended. */
function expectedEnds(tasks: readonly ScheduledTask[], failing: readonly string[]) {
  const ends = new Map<string, TaskEnd>();
  const isBad = (id: string): boolean => {
    const needs = tasks.find((each) => each.id === id)?.needs ?? [];
    return endOf(id) === 'failed' || needs.some(isBad);
  };
  function endOf(id: string): TaskEnd {
    const known = ends.get(id);
    if (known) return known;
    const { needs, when } = tasks.find((each) => each.id === id) ?? task(id, []);
    const runs = when === 'always' || (when === 'failure') === needs.some(isBad);
    const end = !runs ? 'skipped' : failing.includes(id) ? 'failed' : 'succeeded';
    ends.set(id, end);
    return end;
  }
  return Object.fromEntries(tasks.map(({ id }) => [id, endOf(id)]));
}

/** In the order of the plan, what shares no file with the tasks at work. */
function chooseByHand(ready: readonly ScheduledTask[], running: readonly ScheduledTask[], jobs: number) {
  const start: ScheduledTask[] = [];
  for (const each of ready) {
    const others = [...running, ...start];
    if (others.length >= jobs) break;
    if (!others.some((other) => clash(each, other))) start.push(each);
  }
  return start;
}

const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const plans = fc
  .array(
    fc.record({
      needs: fc.subarray(ids),
      when: fc.constantFrom('success' as const, 'failure' as const, 'always' as const),
      files: fc.subarray(['x', 'y/**', 'y/z', 'w']),
    }),
    { minLength: 1, maxLength: 8 },
  )
  // Each needs only earlier tasks; the graph's own test shows that the order of the file does not matter.
  .map((parts) =>
    parts.map(({ needs, when, files }, index) =>
      task(
        ids[index] ?? '',
        needs.filter((need) => ids.indexOf(need) < index),
        { when, files },
      ),
    ),
  );

describe('the schedule', () => {
  it('does what one would work out by hand, whatever fails, however many run at once', () => {
    fc.assert(
      fc.property(plans, fc.subarray(ids), fc.integer({ min: 1, max: 4 }), (tasks, failing, jobs) => {
        const { ended, began, most } = runThrough(tasks, failing, jobs);
        expect(ended).toEqual(expectedEnds(tasks, failing));
        expect(most).toBeLessThanOrEqual(jobs);
        for (const { id, needs } of tasks)
          for (const need of needs.filter((each) => began.includes(each) && began.includes(id)))
            expect(began.indexOf(need)).toBeLessThan(began.indexOf(id));
      }),
      { numRuns: 500 },
    );
  });

  it('starts at each step what a full comparison would choose', () => {
    fc.assert(
      fc.property(
        plans,
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat()),
        (given, jobs, chances) => {
          const tasks = given.map((each): ScheduledTask => ({ ...each, when: 'success' }));
          const schedule = openSchedule(tasks, nothingKnown, jobs);
          const begun = new Set<string>();
          const ended = new Set<string>();
          const running: ScheduledTask[] = [];
          while (ended.size < tasks.length) {
            const ready = tasks.filter(
              ({ id, needs }) => !begun.has(id) && needs.every((need) => ended.has(need)),
            );
            const expected = chooseByHand(ready, running, jobs);
            const { ready: started } = schedule.next();
            expect(started).toEqual(expected);
            for (const { id } of started) begun.add(id);
            running.push(...started);
            const [over] = running.splice((chances.next().value ?? 0) % running.length, 1);
            ended.add(over?.id ?? '');
            schedule.finish(over?.id ?? '', { status: 'succeeded' });
          }
          expect(schedule.next()).toEqual({ ready: [], decisions: [] });
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('continues with the tasks that are not done', () => {
    const tasks = [task('a', []), task('b', ['a']), task('c', ['b'])];
    expect(runThrough(tasks, [], 1, ['a', 'b']).began).toEqual(['c']);
  });

  it('runs no task after a failure that a handler took care of', () => {
    const tasks = [
      task('build', []),
      task('tell', ['build'], { when: 'failure' }),
      task('deploy', ['tell']),
      task('clean', ['deploy'], { when: 'always' }),
    ];
    expect(runThrough(tasks, ['build']).ended).toEqual({
      build: 'failed',
      tell: 'succeeded',
      deploy: 'skipped',
      clean: 'succeeded',
    });
    expect(runThrough(tasks, []).ended).toMatchObject({ tell: 'skipped', deploy: 'succeeded' });
  });

  it('runs side by side what shares no files, and what names none beside anything, as make does', () => {
    const tasks = [
      task('a', [], { files: ['a/**'] }),
      task('b', [], { files: ['b/**'] }),
      task('c', [], { files: ['a/x'] }),
      task('any', []),
      task('other', []),
    ];
    const schedule = openSchedule(tasks, nothingKnown, 4);
    const startNext = () => schedule.next().ready.map(({ id }) => id);
    expect(startNext(), 'c shares a file with a').toEqual(['a', 'b', 'any', 'other']);
    schedule.finish('b', { status: 'succeeded' });
    expect(startNext()).toEqual([]);
    schedule.finish('a', { status: 'succeeded' });
    expect(startNext()).toEqual(['c']);
  });

  it('takes 10,000 tasks', () => {
    const chain = Array.from({ length: 10_000 }, (_, n) => task(`t${n}`, n === 0 ? [] : [`t${n - 1}`]));
    const wide = Array.from({ length: 10_000 }, (_, n) =>
      task(`t${n}`, n < 100 ? [] : [`t${n - 100}`, `t${n % 100}`], { files: [`f${n}`] }),
    );
    // All want the same files, or one of a few.
    const same = Array.from({ length: 10_000 }, (_, n) => task(`t${n}`, [], { files: ['src/**', `f${n}`] }));
    const few = Array.from({ length: 10_000 }, (_, n) => task(`t${n}`, [], { files: [`d${n % 50}/*.ts`] }));
    for (const tasks of [chain, wide, same, few]) {
      let reads = 0;
      const counted = tasks.map((task) => ({
        ...task,
        get needs() {
          reads += 1;
          return task.needs;
        },
        get files() {
          reads += 1;
          return task.files;
        },
      }));
      expect(runWithoutLooking(counted, 8)).toBe(10_000);
      expect(reads, 'no task is looked at for every other one').toBeLessThan(20 * 10_000);
    }
  });
});

function runWithoutLooking(tasks: readonly ScheduledTask[], jobs: number): number {
  const schedule = openSchedule(tasks, nothingKnown, jobs);
  const running: string[] = [];
  for (let count = 0; ; count++) {
    running.push(...schedule.next().ready.map(({ id }) => id));
    const id = running.shift();
    if (id === undefined) return count;
    schedule.finish(id, { status: 'succeeded' });
  }
}
