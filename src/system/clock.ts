import { idAlphabet } from '../ids.ts';
import type { Millis } from '../types.ts';

/** Time and randomness: tests replace both. */
export type Clock = {
  /** The time of day, which may stop or jump. */
  now(): Millis;
  /** For durations: never jumps back. */
  elapsed(): Millis;
};
export type Random = { id(length: number): string };

export const realClock: Clock = { now: () => Date.now(), elapsed: () => process.uptime() * 1_000 };

/** Drawn in batches, because a call costs more than the bytes. */
let pool: Buffer = Buffer.alloc(0);

function nextByte(): number {
  if (pool.length === 0) pool = process.getBuiltinModule('node:crypto').randomBytes(128);
  const [byte = 0] = pool;
  pool = pool.subarray(1);
  return byte;
}

export const realRandom: Random = {
  id: (length) => {
    let id = '';
    while (id.length < length) {
      const byte = nextByte();
      // 248 is the largest multiple of 31 that fits a byte: beyond it, letters would not be equally likely.
      if (byte < 248) id += idAlphabet[byte % idAlphabet.length];
    }
    return id;
  },
};

/** Draws a number from 0 up to, but not including, 1. */
export function drawFraction(random: Random): number {
  const digits = [...random.id(6)].map((letter) => Math.max(0, idAlphabet.indexOf(letter)));
  return digits.reduce((value, digit) => (value + digit) / idAlphabet.length, 0);
}

/** Lets all other pending work run first, until it waits for something. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function sleep(duration: Millis): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration));
}

/** Sleeps until the time is up or the signal aborts. */
export function sleepUnlessAborted(duration: Millis, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, duration);
    signal.addEventListener('abort', finish);
  });
}
