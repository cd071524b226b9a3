import type { Verdict } from '../checkpoint/policy.ts';
import type { RunFile } from '../checkpoint/run-files.ts';
import type { Stored } from '../checkpoint/store.ts';
import type { StorePorts } from '../checkpoint/tip.ts';
import type { Prices } from '../cost/pricing.ts';
import type { CodeDifference, CodeRequest } from '../git/code-changes.ts';
import type { Redact } from '../redact.ts';
import type { Event } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, SessionId, Trigger, WriterId } from '../types.ts';
import type { SnapshotRequest, TakenSnapshot } from './keep-tree.ts';
import type { SessionSettings } from './settings.ts';

/* What the pump takes and gives; the pump itself is `record.ts`. */

export type SessionPorts = StorePorts & {
  /** Asked for only when something is to be written. */
  readonly identifyWriter: () => Promise<WriterId>;
  readonly redact: Redact;
  /** What this machine is called; sessions that begin here say so. */
  readonly host?: string;
  /** The top of the user's working tree, where there is one. */
  readonly worktree?: string | null;
  /** The prices the user set, for what agents use. */
  readonly readPrices?: () => Promise<Prices>;
  /** Joins what other clones did on an epic; one that is not here is asked for at the remote. */
  readonly bringEpic?: (epic: EpicId, isKnown: boolean) => Promise<void>;
  /** Null where there is no working tree, or no git to read it with. */
  readonly takeSnapshot: ((request: SnapshotRequest) => Promise<TakenSnapshot>) | null;
  /** How the code differs from a commit; null under the same conditions. */
  readonly readCode: ((request: CodeRequest) => Promise<CodeDifference>) | null;
};

/** A session in this clone that facts go to. */
export type Target = {
  readonly epic: EpicId;
  readonly session: SessionId;
  readonly settings: SessionSettings;
};

/** A checkpoint that is made whatever the policy says. */
export type Ask = {
  readonly trigger: Trigger;
  readonly reason: string | null;
  /** The reason is only how the session began or ended: what happened in it makes the better title. */
  readonly isRoutine?: true | undefined;
  /** Not if nothing happened and no file changed since the one before. */
  readonly onlyIfChanged?: true;
  /** Where it cannot be made now, the next call makes it: what was recorded is safe in the journal. */
  readonly orLater?: true;
  /** Files that an unfinished run needs: they go into its tree. */
  readonly runFiles?: readonly RunFile[];
};

export type Outcome = {
  readonly session: SessionId;
  /** What was recorded, in its place. */
  readonly events: readonly Event[];
  readonly state: State;
  readonly verdict: Pick<Verdict, 'warn' | 'stop'>;
  readonly stored: Stored | null;
};
