import type { Claim } from '../config.ts';
import type { OrchCommand } from '../integration/orch-command.ts';
import type { UserFolders } from '../session/init-facts.ts';
import type { SessionSettings } from '../session/settings.ts';
import type { WriterId } from '../types.ts';
import type { CleanupPorts } from './cleanup-facts.ts';

/** What only the program that was started can know. */
export type Caller = {
  /** The version of node that runs this. */
  readonly node: string;
  /** How orch was started. */
  readonly command: OrchCommand;
  /** The writer id that the environment pins, where it does. */
  readonly pinnedWriter: WriterId | null;
  readonly folders: UserFolders;
};

export type DoctorPorts = CleanupPorts & {
  readonly caller: Caller;
  readonly readSettings: () => Promise<SessionSettings>;
  /** The settings of the repository that wait for the user's yes. */
  readonly listUnapproved: () => Promise<readonly Claim[]>;
};

/** What a check found. */
export type Finding = {
  readonly status: 'ok' | 'warn' | 'fail';
  /** What was seen: numbers, paths, ids. */
  readonly evidence: string;
  /** What to do about it, where something is to be done. */
  readonly fix?: string;
  /** Does it, and loses nothing; only where orch can. */
  readonly mend?: () => Promise<void>;
};

/** One question, asked of this clone. Asking it changes nothing. */
export type Check = {
  readonly name: string;
  readonly look: (ports: DoctorPorts) => Promise<Finding> | Finding;
};

export const ok = (evidence: string): Finding => ({ status: 'ok', evidence });
export const warn = (evidence: string, fix: string, mend?: Finding['mend']): Finding => ({
  status: 'warn',
  evidence,
  fix,
  ...(mend && { mend }),
});
export const fail = (evidence: string, fix: string, mend?: Finding['mend']): Finding => ({
  ...warn(evidence, fix, mend),
  status: 'fail',
});

/** `a, b, c and 4 more`. */
export function listSome(names: readonly string[], most = 5): string {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
}
