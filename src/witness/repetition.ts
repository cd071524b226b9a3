import type { RecentStep } from '../agents/transcript/recent-steps.ts';
import type { Millis } from '../types.ts';

/* Whether an agent does the same again and again. */

export type Repetition = {
  readonly times: number;
  /** For people, such as `it did “Bash: npm test” 8 times in a row, with the same result`. */
  readonly words: string;
};

/** A loop has at most so many different steps: run the tests, read the file, run the tests … */
const longestCycle = 4;

/** Who does the same no more often than this polls, and waits for something. */
const pollsEvery: Millis = 45_000;

/** Finds how often the newest steps repeat the same one, or the same few in the same order. Null if they do not. */
export function findRepetition(steps: readonly RecentStep[]): Repetition | null {
  let best: { readonly length: number; readonly times: number } | null = null;
  for (let length = 1; length <= longestCycle; length++) {
    const times = countCycles(steps, length);
    if (times >= 2 && (best === null || times > best.times)) best = { length, times };
  }
  if (best === null) return null;
  const cycles = steps.slice(-best.length * best.times);
  const [first, last] = [cycles[0]?.at ?? null, cycles.at(-1)?.at ?? null];
  if (first !== null && last !== null && (last - first) / (best.times - 1) >= pollsEvery) return null;
  const names = [...new Set(cycles.slice(-best.length).map(({ what }) => `“${what}”`))];
  const words = `it did ${names.join(', then ')} ${best.times} times in a row, with the same result`;
  return { times: best.times, words };
}

/** Counts how often the last `length` steps stand there in a row. */
function countCycles(steps: readonly RecentStep[], length: number): number {
  let same = 0;
  while (same + length < steps.length) {
    const at = steps.length - 1 - same;
    if (steps[at]?.key !== steps[at - length]?.key) break;
    same++;
  }
  return steps.length < length ? 0 : 1 + Math.floor(same / length);
}
