import type { ProviderLimit } from '../integration/provider-limit.ts';
import type { Millis } from '../types.ts';

/** Providers' clocks, and what they take to count again. */
const margin: Millis = 1_000;
const firstPause: Millis = 60_000;
const longestPause: Millis = 30 * 60_000;
/** The longest limit there is starts anew after a week; what lies beyond is no time of a limit. */
const longestLimit: Millis = 8 * 24 * 3_600_000;
/** So often it is tried without the agent getting anywhere. */
export const mostWaits = 8;

/** Until when to wait at a provider's limit: its reset, or longer each time; null when it was tried often enough. */
export function decideWait({ resetsAt }: ProviderLimit, now: Millis, waits: number): Millis | null {
  if (waits >= mostWaits) return null;
  const isTrue = resetsAt !== null && Math.abs(resetsAt - now) <= longestLimit;
  if (isTrue && resetsAt > now) return resetsAt + margin;
  // It was over by the time we heard of it. Where that was in vain, the time it gave was no help.
  if (isTrue && waits === 0) return now + margin;
  return now + Math.min(firstPause * 2 ** waits, longestPause);
}
