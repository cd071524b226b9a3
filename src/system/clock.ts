import { randomBytes } from 'node:crypto';
import { idAlphabet } from '../ids.ts';
import type { Millis } from '../types.ts';

/** Time and chance, the two things no test can do without replacing. */
export type Clock = { now(): Millis };
export type Random = { id(length: number): string };

export const realClock: Clock = { now: () => Date.now() };

export const realRandom: Random = {
  id: (length) => {
    let id = '';
    while (id.length < length) {
      for (const byte of randomBytes(length)) {
        // 248 is the largest multiple of 31 that fits a byte: past it, letters would not be equally likely.
        if (byte < 248 && id.length < length) id += idAlphabet[byte % idAlphabet.length];
      }
    }
    return id;
  },
};

export function sleep(duration: Millis): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration));
}
