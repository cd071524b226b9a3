export type Verdict = 'good' | 'bad' | 'skip';

/** The code of a checkpoint, and what is known about it. */
export type Candidate = {
  /** Candidates with the same tree have the same verdict. */
  readonly tree: string;
  /** `skip`: it was tried, and cannot be judged. Null: not known yet. */
  readonly verdict: Verdict | null;
  /** Was it run, here or by an earlier call? Else the record says so. */
  readonly isRun: boolean;
};

/** What to do next. Indexes are positions in the list. */
export type Step =
  | { readonly kind: 'try'; readonly index: number }
  /** `between`: those that could not be judged; if there are any, each of them, or `bad`, may be the first bad one. */
  | {
      readonly kind: 'found';
      readonly good: number;
      readonly bad: number;
      readonly between: readonly number[];
    }
  /** The oldest is not good, or the newest not bad. */
  | { readonly kind: 'wrong bound'; readonly index: number; readonly verdict: Verdict };

/**
 * Chooses the next candidate to try. They are in order, the oldest first; the first is supposed to be good, the last to
 * be bad. The answer is always a good one and a bad one after it that were both seen, with nothing untried between them,
 * even if the history changed between good and bad several times: then it is the newest such place.
 *
 * What was run counts more than the record: a command may behave differently here. So the oldest is run before others
 * are, which shows early that something is missing here, and both sides of the answer come from the same source.
 */
export function nextStep(candidates: readonly Candidate[]): Step {
  const last = candidates.length - 1;
  const at = (index: number) => candidates[index] ?? unknown;
  for (const [index, expected] of [
    [last, 'bad'],
    [0, 'good'],
  ] as const) {
    const { verdict } = at(index);
    if (verdict === null) return { kind: 'try', index };
    if (verdict !== expected) return { kind: 'wrong bound', index, verdict };
  }
  const good = candidates.findLastIndex(({ verdict }) => verdict === 'good');
  const bad = candidates.findIndex(({ verdict }, index) => index > good && verdict === 'bad');
  const untried = listUntried(candidates, good, bad);
  const middle = untried[(untried.length - 1) >> 1];
  if (middle !== undefined) return { kind: 'try', index: at(0).isRun ? middle : 0 };
  if (at(good).isRun !== at(bad).isRun) return { kind: 'try', index: at(good).isRun ? bad : good };
  const between = candidates.flatMap((_, index) => (index > good && index < bad ? [index] : []));
  return { kind: 'found', good, bad, between };
}

const unknown: Candidate = { tree: '', verdict: null, isRun: false };

/** The first candidates of each tree without a verdict, between two. */
function listUntried(candidates: readonly Candidate[], good: number, bad: number): number[] {
  const seen = new Set<string>();
  return candidates.flatMap(({ tree, verdict }, index) => {
    if (index <= good || index >= bad || verdict !== null || seen.has(tree)) return [];
    seen.add(tree);
    return [index];
  });
}

/** Estimates how many more tries it takes, if none is skipped. */
export function estimateTries(candidates: readonly Candidate[]): number {
  const last = candidates.length - 1;
  const first = candidates[0] ?? unknown;
  const bounds = [first.isRun, (candidates[last] ?? unknown).verdict !== null].filter((isKnown) => !isKnown);
  const good = Math.max(
    0,
    candidates.findLastIndex(({ verdict }) => verdict === 'good'),
  );
  const found = candidates.findIndex(({ verdict }, index) => index > good && verdict === 'bad');
  const untried = listUntried(candidates, good, found < 0 ? last : found);
  return bounds.length + Math.ceil(Math.log2(untried.length + 1));
}
