import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextMergeStep, type Verdict } from '../../src/convoy/merge/next-merge-step.ts';
import { runs } from '../support/depth.ts';

type Task = {
  readonly id: number;
  /** Red on its own. */
  readonly isCulprit: boolean;
  /** Red together with this one. */
  readonly redWith: number;
  /** In conflict with this one. */
  readonly conflictsWith: number;
  /** How many steps the queue has taken when it comes. */
  readonly comesAt: number;
  /** Is it cancelled after so many steps? */
  readonly leavesAt: number | null;
};

type Story = {
  readonly tasks: readonly Task[];
  readonly batch: number;
  /** Which runs of gates on a green tree are red by chance, unless the one before was. */
  readonly flaky: readonly boolean[];
};

type Link = { readonly task: Task; verdict: Verdict };

/** What the queue does, with trees that are sets of tasks. */
function play({ tasks, batch, flaky }: Story) {
  const merged: Task[] = [];
  const sentBack: { readonly task: Task; readonly why: 'red' | 'conflict' }[] = [];
  const cancelled: Task[] = [];
  const seenGreen = new Set<string>();
  const tips: string[] = [];
  const coming = [...tasks];
  const waiting: Task[] = [];
  let chain: Link[] = [];
  let isBlocked = false;
  let tests = 0;
  const nameOf = (tree: readonly Task[]) => tree.map(({ id }) => id).join(' ');
  const conflicts = (tree: readonly Task[], task: Task) =>
    tree.some(({ id, conflictsWith }) => id === task.conflictsWith || conflictsWith === task.id);
  const isRed = (tree: readonly Task[]) =>
    tree.some(({ isCulprit, redWith }) => isCulprit || tree.some(({ id }) => id === redWith));
  for (let at = 0; ; at++) {
    if (at > 5_000) throw new Error('it does not end');
    for (const task of coming.filter(({ comesAt }) => comesAt <= at)) {
      coming.splice(coming.indexOf(task), 1);
      waiting.push(task);
    }
    for (const task of waiting.filter(({ leavesAt }) => leavesAt !== null && leavesAt <= at)) {
      const index = waiting.indexOf(task);
      waiting.splice(index, 1);
      cancelled.push(task);
      if (index <= chain.length) isBlocked = false;
      chain = chain.slice(0, index);
    }
    const verdicts = chain.map(({ verdict }) => verdict);
    const step = nextMergeStep({ waiting: waiting.length, chain: verdicts, isBlocked, batch });
    const before = [...merged, ...chain.map(({ task }) => task)];
    const next = waiting[chain.length];
    if (step.kind === 'idle' && coming.length === 0) break;
    if (step.kind === 'add') {
      if (next === undefined) throw new Error('there is none to add');
      if (conflicts(merged, next)) {
        sentBack.push({ task: next, why: 'conflict' });
        waiting.splice(chain.length, 1);
      } else if (conflicts(before, next)) isBlocked = true;
      else chain.push({ task: next, verdict: 'unknown' });
    }
    if (step.kind === 'test') {
      const link = chain[step.count - 1];
      if (link === undefined) throw new Error('there is none to test');
      const tree = before.slice(0, merged.length + step.count);
      const isLuckless = flaky[tests++ % flaky.length] === true && !step.isAgain;
      const hasFailed = isRed(tree) || isLuckless;
      if (!hasFailed) seenGreen.add(nameOf(tree));
      link.verdict = hasFailed ? (step.isAgain ? 'red' : 'red once') : 'green';
    }
    if (step.kind === 'land') {
      merged.push(...chain.slice(0, step.count).map(({ task }) => task));
      tips.push(nameOf(merged));
      waiting.splice(0, step.count);
      chain = chain.slice(step.count);
      isBlocked = false;
    }
    if (step.kind === 'send back') {
      const [task] = waiting.splice(0, 1);
      if (task) sentBack.push({ task, why: 'red' });
      chain = [];
      isBlocked = false;
    }
  }
  return { merged, sentBack, cancelled, seenGreen, tips, tests, isRed, conflicts };
}

const ids = fc.integer({ min: 0, max: 30 });

function storyOf(
  comes: fc.Arbitrary<number>,
  leaves: fc.Arbitrary<number | null>,
  other: fc.Arbitrary<number>,
) {
  const task = fc.record({
    isCulprit: fc.integer({ min: 0, max: 4 }).map((draw) => draw === 0),
    redWith: ids,
    conflictsWith: other,
    comesAt: comes,
    leavesAt: leaves,
  });
  return fc.record({
    tasks: fc.array(task, { maxLength: 20 }).map((tasks) =>
      tasks.map((each, id) => ({
        ...{ ...each, id },
        // Red together with an older one, or with none.
        redWith: each.redWith < id ? each.redWith : -1,
        conflictsWith: each.conflictsWith < id ? each.conflictsWith : -1,
      })),
    ),
    batch: fc.integer({ min: 1, max: 9 }),
    flaky: fc.array(fc.boolean(), { minLength: 1, maxLength: 10 }),
  });
}

it('C3, C5, C8: whatever happens, only green trees land, in order, once, and nothing is forgotten or blamed for others', () => {
  const leaves = fc.option(fc.integer({ min: 0, max: 60 }), { freq: 3 });
  fc.assert(
    fc.property(storyOf(fc.integer({ min: 0, max: 60 }), leaves, ids), (story) => {
      const { merged, sentBack, cancelled, seenGreen, tips, isRed, conflicts } = play(story);
      for (const tip of tips) expect(seenGreen).toContain(tip);
      const came = [...story.tasks].sort((a, b) => a.comesAt - b.comesAt || a.id - b.id);
      expect(merged).toEqual(came.filter((task) => merged.includes(task)));
      const ended = [...merged, ...sentBack.map(({ task }) => task), ...cancelled];
      expect(ended.map(({ id }) => id).sort((a, b) => a - b)).toEqual(story.tasks.map(({ id }) => id));
      // Each goes back for what it does to work that landed before it.
      for (const { task, why } of sentBack) {
        const landed = merged.filter((other) => came.indexOf(other) < came.indexOf(task));
        expect(why === 'red' ? isRed([...landed, task]) : conflicts(landed, task)).toBe(true);
      }
    }),
    { numRuns: runs(2_000) },
  );
});

it('the runs of gates are bounded', () => {
  fc.assert(
    fc.property(storyOf(fc.constant(0), fc.constant(null), fc.constant(99)), (story) => {
      const { sentBack, tests } = play(story);
      const { batch, tasks } = story;
      const bound =
        2 * Math.ceil(tasks.length / batch) + 2 * sentBack.length * (1 + Math.ceil(Math.log2(batch)));
      expect(tests).toBeLessThanOrEqual(bound);
    }),
    { numRuns: runs(2_000) },
  );
});
