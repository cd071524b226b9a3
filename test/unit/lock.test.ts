import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { realClock, realRandom } from '../../src/system/clock.ts';
import { realDisk } from '../../src/system/disk.ts';
import { withLock } from '../../src/system/lock.ts';
import { identifyThisProcess } from '../../src/system/process/identity.ts';
import { makeFolder } from '../support/repository.ts';

it('callers in one process get the lock in the order they asked', async () => {
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
      // A failure does not block the others.
      if (number % 7 === 0) throw new Error('failed');
    }).catch(() => {}),
  );
  await Promise.all(all);
  expect(order).toEqual(numbers);
});

it('waits while the lock changes hands, but not forever for one holder', async () => {
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

it.each([
  ['died', { pid: 4_194_999 }],
  ['died, and whose number another got', { startedAt: '1' }],
  ['ran before the machine was started again', { boot: 'another' }],
])('does not wait for the lock of a process that %s', async (_, differing) => {
  const path = join(makeFolder(), 'e.lock');
  writeFileSync(path, `${JSON.stringify({ ...identifyThisProcess(), ...differing })}\nabcdefgh`);
  let looks = 0;
  const elapsed = () => 1_000 * looks++;
  const ports = { disk: realDisk, clock: { ...realClock, elapsed }, random: realRandom };
  expect(await withLock(ports, path, async () => 'in')).toBe('in');
  expect(looks, 'ten of them are as long as a living process may take').toBeLessThan(5);
});
