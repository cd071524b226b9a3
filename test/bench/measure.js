import fs from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './scratch.js';

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Both medians, and the median of the ratios round by round: what else the machine did in a round hit both alike,
 * so their ratio is far steadier than either of them.
 */
export function compare(ours, theirs) {
  const ratio = median(ours.map((value, round) => value / theirs[round]));
  return { ours: median(ours), theirs: median(theirs), ratio };
}

const settleFile = join(makeFolder(), 'settle');

/** Makes the file system finish what the side before left behind, or the next side would pay for it. */
function settle() {
  const fd = fs.openSync(settleFile, 'a');
  fs.writeSync(fd, '.');
  fs.fsyncSync(fd);
  fs.closeSync(fd);
}

/**
 * Runs all sides in turn, round after round, and gives the times of each in milliseconds. Every other round goes
 * backwards, so that none is always behind the same one.
 * A side is a function, or `{ prepare, run }`, of which only `run` is timed and gets what `prepare` gave.
 */
export async function measure(sides, { rounds, warmUp = 3, settled = true }) {
  const names = Object.keys(sides);
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -warmUp; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const side = sides[name];
      const { prepare = () => undefined, run = side } = side;
      const input = await prepare(round);
      if (settled) settle();
      const started = performance.now();
      await run(input);
      const elapsed = performance.now() - started;
      if (round >= 0) times[name].push(elapsed);
    }
  }
  return times;
}
