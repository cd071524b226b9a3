import type { Clock } from '../system/clock.ts';
import type { Millis } from '../types.ts';

/** Measures the time since it was last reset, through everything that happens to clocks. */
export type Stopwatch = { read(): Millis; reset(): void };

/**
 * The time of day goes on while a laptop sleeps, but may be set back or forward; the other clock is steady, but may
 * stand still in sleep. From look to look, whichever went further counts: a jump forward makes a checkpoint early,
 * which does no harm, and a jump back delays none.
 */
export function makeStopwatch(clock: Clock): Stopwatch {
  let passed: Millis = 0;
  let seen = { day: clock.now(), steady: clock.elapsed() };
  return {
    read: () => {
      const now = { day: clock.now(), steady: clock.elapsed() };
      passed += Math.max(0, now.day - seen.day, now.steady - seen.steady);
      seen = now;
      return passed;
    },
    reset: () => {
      passed = 0;
      seen = { day: clock.now(), steady: clock.elapsed() };
    },
  };
}
