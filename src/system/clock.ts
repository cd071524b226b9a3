import { closeSync, openSync, readSync } from 'node:fs';
import { idAlphabet } from '../ids.ts';
import type { Millis } from '../types.ts';

/** Time and chance, the two things no test can do without replacing. */
export type Clock = {
  /** The time of day. It may stand still or jump. */
  now(): Millis;
  /** For durations: only ever goes on. */
  elapsed(): Millis;
};
export type Random = { id(length: number): string };

export const realClock: Clock = { now: () => Date.now(), elapsed: () => process.uptime() * 1_000 };

/** Random bytes are fetched a few at a time: each fetch costs more than the bytes. */
let pool: Buffer = Buffer.alloc(0);

function nextByte(): number {
  if (pool.length === 0) pool = drawBytes(128);
  const [byte = 0] = pool;
  pool = pool.subarray(1);
  return byte;
}

/** From where node's own crypto has them too, without loading that; elsewhere from it. */
function drawBytes(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  return readFrom('/dev/urandom', bytes) === count
    ? bytes
    : process.getBuiltinModule('node:crypto').randomBytes(count);
}

function readFrom(path: string, bytes: Buffer): number {
  try {
    const fd = openSync(path, 'r');
    try {
      return readSync(fd, bytes);
    } finally {
      closeSync(fd);
    }
  } catch {
    return 0; // not every system has it
  }
}

export const realRandom: Random = {
  id: (length) => {
    let id = '';
    while (id.length < length) {
      const byte = nextByte();
      // 248 is the largest multiple of 31 that fits a byte: past it, letters would not be equally likely.
      if (byte < 248) id += idAlphabet[byte % idAlphabet.length];
    }
    return id;
  },
};

/** A number from 0 up to, but not including, 1. */
export function drawFraction(random: Random): number {
  const digits = [...random.id(6)].map((letter) => Math.max(0, idAlphabet.indexOf(letter)));
  return digits.reduce((value, digit) => (value + digit) / idAlphabet.length, 0);
}

/** Lets everything that can go on do so first, up to where it waits. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function sleep(duration: Millis): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration));
}

/** Sleeps, but not past the signal. */
export function sleepUnlessAborted(duration: Millis, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const timer = setTimeout(wake, duration);
    signal.addEventListener('abort', wake);
  });
}
