import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Candidate, nextStep, type Step, type Verdict } from '../../src/bisect/next-step.ts';

type Searched = { readonly end: Exclude<Step, { kind: 'try' }>; readonly runs: readonly string[] };

/** Searches a history of which each tree has one verdict; `recorded` is known without a try. */
function search(
  trees: readonly string[],
  verdictOf: (tree: string) => Verdict,
  recorded: ReadonlyMap<string, Verdict> = new Map(),
): Searched {
  const runs: string[] = [];
  for (;;) {
    const candidates = trees.map((tree): Candidate => {
      const isRun = runs.includes(tree);
      return { tree, verdict: isRun ? verdictOf(tree) : (recorded.get(tree) ?? null), isRun };
    });
    const step = nextStep(candidates);
    if (step.kind !== 'try') return { end: step, runs };
    const tree = trees[step.index] ?? '';
    if (runs.includes(tree)) throw new Error(`${tree} was tried again`);
    runs.push(tree);
  }
}

const verdicts = fc.constantFrom<Verdict>('good', 'bad', 'skip');
/** How many checkpoints in a row have the same code. */
const repeats = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 300 });

const repeat = (counts: readonly number[]) =>
  counts.flatMap((count, version) => Array<string>(count).fill(`tree ${version}`));

it('the break of any history that broke once is found, in as few tries as halving allows', () => {
  fc.assert(
    fc.property(repeats, fc.nat(), (counts, choice) => {
      const versions = counts.length;
      const broken = 1 + (choice % (versions - 1));
      const trees = repeat(counts);
      const isBad = (tree: string) => Number(tree.slice(5)) >= broken;
      const { end, runs } = search(trees, (tree) => (isBad(tree) ? 'bad' : 'good'));
      const bad = trees.findIndex(isBad);
      expect(end).toEqual({ kind: 'found', good: bad - 1, bad, between: [] });
      // Both ends, and the halving between them.
      expect(runs.length).toBeLessThanOrEqual(2 + Math.ceil(Math.log2(Math.max(1, versions - 1))));
    }),
    { numRuns: 500 },
  );
});

it('versions that cannot be judged leave the break among those named', () => {
  fc.assert(
    fc.property(repeats, fc.nat(), fc.func(fc.boolean()), (counts, choice, isSkipped) => {
      const versions = counts.length;
      const broken = 1 + (choice % (versions - 1));
      const trees = repeat(counts);
      const verdictOf = (tree: string): Verdict => {
        const version = Number(tree.slice(5));
        const isBound = version === 0 || version === versions - 1;
        if (!isBound && isSkipped(version)) return 'skip';
        return version >= broken ? 'bad' : 'good';
      };
      const { end } = search(trees, verdictOf);
      if (end.kind !== 'found') throw new Error(end.kind);
      const first = trees.findIndex((tree) => Number(tree.slice(5)) >= broken);
      expect([...end.between, end.bad]).toContain(first);
      expect(end.between.every((index) => verdictOf(trees[index] ?? '') === 'skip')).toBe(true);
    }),
    { numRuns: 300 },
  );
});

it('in any history at all, code that came back included, the answer is a good one and a bad one that were seen', () => {
  const someTrees = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 40 });
  const byTree = fc.array(verdicts, { minLength: 13, maxLength: 13 });
  const records = fc.array(fc.option(fc.constantFrom<Verdict>('good', 'bad')), {
    minLength: 13,
    maxLength: 13,
  });
  fc.assert(
    fc.property(someTrees, byTree, records, (numbers, all, known) => {
      const trees = numbers.map((number) => `tree ${number}`);
      const verdictOf = (tree: string) => all[Number(tree.slice(5))] ?? 'skip';
      const recorded = new Map<string, Verdict>();
      for (const [tree, each] of known.entries()) if (each) recorded.set(`tree ${tree}`, each);
      const { end, runs } = search(trees, verdictOf, recorded);
      const seen = (index: number) => {
        const tree = trees[index] ?? '';
        return runs.includes(tree) ? verdictOf(tree) : (recorded.get(tree) ?? null);
      };
      expect(runs.length).toBeLessThanOrEqual(new Set(trees).size);
      if (end.kind === 'wrong bound') {
        expect([0, trees.length - 1]).toContain(end.index);
        expect(seen(end.index)).toBe(end.verdict);
        return;
      }
      expect(end.good).toBeLessThan(end.bad);
      expect([seen(end.good), seen(end.bad)]).toEqual(['good', 'bad']);
      const isRun = (index: number) => runs.includes(trees[index] ?? '');
      expect(isRun(end.good)).toBe(isRun(end.bad));
      const inside = trees.map((_, index) => index).slice(end.good + 1, end.bad);
      expect(inside).toEqual(end.between);
      expect(inside.map(seen)).toEqual(inside.map(() => 'skip'));
    }),
    { numRuns: 1_000 },
  );
});
