import { defaultPolicy, type Policy } from '../checkpoint/policy.ts';
import type { Millis } from '../types.ts';

/** How a session is kept; fixed at its start, so that an edited config changes the next one. */
export type SessionSettings = {
  readonly policy: Policy;
  /** Is the working tree kept with each checkpoint? */
  readonly snapshot: boolean;
  /** Larger files are left out of snapshots. */
  readonly maxFileBytes: number;
  /** How long a command that is told to stop has for each signal. */
  readonly stopGrace: Millis;
};

export const defaultSettings: SessionSettings = {
  policy: defaultPolicy,
  snapshot: true,
  maxFileBytes: 10_000_000,
  stopGrace: 5_000,
};
