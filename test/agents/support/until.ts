import { setTimeout as wait } from 'node:timers/promises';

/** Waits for a condition, and fails with what is known when it does not come true. */
export async function until(
  holds: () => boolean,
  describe: () => string,
  milliseconds = 30_000,
): Promise<void> {
  const end = Date.now() + milliseconds;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited in vain: ${describe()}`);
    await wait(50);
  }
}
