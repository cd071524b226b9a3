import { defaultPolicy, type Policy } from '../checkpoint/policy.ts';
import type { Config } from '../config.ts';
import type { Micros, Millis } from '../types.ts';

/** How a session is kept; fixed at its start, so that an edited config changes the next one. */
export type SessionSettings = {
  readonly policy: Policy;
  /** How many documents stay in the tree. */
  readonly keep: number;
  /** Is the working tree kept with each checkpoint? */
  readonly snapshot: boolean;
  /** Larger files are left out of snapshots. */
  readonly maxFileBytes: number;
  /** How long a command that is told to stop has for each signal. */
  readonly stopGrace: Millis;
  /** What an epic gets that is new, where nobody says otherwise. */
  readonly newEpicBudget: Micros | null;
};

export const defaultSettings: SessionSettings = {
  policy: defaultPolicy,
  keep: 5,
  snapshot: true,
  maxFileBytes: 10 * 1024 * 1024,
  stopGrace: 5_000,
  newEpicBudget: null,
};

/** What a repository's config says of its sessions. */
export function settingsOf({ budget, checkpoint, context }: Config): SessionSettings {
  const { interval, on, cost, keep, snapshot, maxFileSize, stopGrace } = checkpoint;
  const { critical, emergency } = context;
  const policy = { interval, on, cost, context: { critical, emergency } };
  return { policy, keep, snapshot, maxFileBytes: maxFileSize, stopGrace, newEpicBudget: budget };
}
