import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { realClock, realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/files.ts';
import { withLock } from '../../src/system/lock.ts';
import { identifyThisProcess } from '../../src/system/process.ts';
import { makeFolder } from '../support/repository.ts';

it('those of one process take the lock one after the other, as they came', async () => {
  const ports = { disk: realDisk, clock: realClock, random: realRandom };
  const path = join(makeFolder(), 'locks', 'e.lock');
  const order: number[] = [];
  let inside = 0;
  const numbers = Array.from({ length: 100 }, (_, number) => number);
  const all = numbers.map((number) =>
    withLock(ports, path, async () => {
      inside += 1;
      expect(inside).toBe(1);
      order.push(number);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      // One that fails is in nobody's way.
      if (number % 7 === 0) throw new Error('failed');
    }).catch(() => {}),
  );
  await Promise.all(all);
  expect(order).toEqual(numbers);
});

it('waits as long as others hand the lock on, and not for ever for one', async () => {
  const path = join(makeFolder(), 'e.lock');
  const alive = JSON.stringify(identifyThisProcess());
  let seconds = 0;
  let holders = 30;
  /** Each look at the time takes a second, in which the lock has another holder. */
  const clock = {
    ...realClock,
    elapsed: () => {
      seconds += 1;
      if (holders-- > 0) writeFileSync(path, `${alive}\n${holders}`);
      else if (holders === -1) rmSync(path);
      return 1_000 * seconds;
    },
  };
  const ports = { disk: realDisk, clock, random: realRandom };
  const held = () => readFileSync(path, 'utf8').startsWith(alive);
  expect(await withLock(ports, path, async () => held())).toBe(true);
  expect(seconds).toBeGreaterThan(25);
  writeFileSync(path, `${alive}\nfor ever`);
  seconds = 0;
  expect(await withLock(ports, path, async () => readFileSync(path, 'utf8'))).toContain('for ever');
  expect(seconds).toBeLessThan(20);
});
