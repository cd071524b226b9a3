import { join } from 'node:path';
import { expect, it } from 'vitest';
import { realClock, realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/files.ts';
import { withLock } from '../../src/system/lock.ts';
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
