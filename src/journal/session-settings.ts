import { defaultPolicy, type Policy } from '../checkpoint/policy.ts';
import type { Config } from '../config/load.ts';
import type { Micros, Millis } from '../types.ts';

/** The settings of a session, fixed at its start: a changed config applies to the next one. */
export type SessionSettings = {
  readonly policy: Policy;
  /** How many documents stay in the tree. */
  readonly keep: number;
  /** Does each checkpoint save the working tree? */
  readonly snapshot: boolean;
  /** Larger files are left out of snapshots. */
  readonly maxFileBytes: number;
  /** How long a command may take to react to each stop signal. */
  readonly stopGrace: Millis;
  /** The budget of a new epic, unless another is given. */
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

/** The session settings from a repository's config. */
export function settingsOf({ budget, checkpoint, context }: Config): SessionSettings {
  const { interval, on, cost, keep, snapshot, maxFileSize, stopGrace } = checkpoint;
  const { critical, emergency } = context;
  const policy = { interval, on, cost, context: { critical, emergency } };
  return { policy, keep, snapshot, maxFileBytes: maxFileSize, stopGrace, newEpicBudget: budget };
}
