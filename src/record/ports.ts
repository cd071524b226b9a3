import type { Prices } from '../cost/pricing.ts';
import type { CodeDifference, CodeRequest } from '../git/worktree/code-changes.ts';
import type { SessionSettings } from '../journal/session-settings.ts';
import type { OrchestrationPorts } from '../orchestration-file/orchestration-file.ts';
import type { Redact } from '../redact/redactor.ts';
import type { EpicId, Millis, Oid, SessionId, WriterId } from '../types.ts';

/** Everything outside that sessions use; `orch.ts` wires it. */
export type SessionPorts = OrchestrationPorts & {
  /** Called only when something is about to be written. */
  readonly identifyWriter: () => Promise<WriterId>;
  readonly redact: Redact;
  /** The name of this machine, recorded with the sessions that start here. */
  readonly host?: string;
  /** The user's own model prices. */
  readonly readPrices?: () => Promise<Prices>;
  /** Merges what other clones did on an epic; fetches an epic that is not here yet. */
  readonly bringEpic?: (epic: EpicId, isKnown: boolean) => Promise<void>;
  /** Null without a working tree, or without a git that can read it. */
  readonly takeSnapshot: ((request: SnapshotRequest) => Promise<TakenSnapshot>) | null;
  /** How the code differs from a commit; null under the same conditions. */
  readonly readCode: ((request: CodeRequest) => Promise<CodeDifference>) | null;
};

export type SnapshotRequest = {
  readonly epic: EpicId;
  readonly session: SessionId;
  readonly at: Millis;
  readonly maxFileBytes: number;
};

/** The saved working tree. */
export type TreeSnapshot = {
  readonly commit: Oid;
  /** Without orch's own changes to the user's files. */
  readonly tree: Oid;
  /** Paths that are not in it, each with the reason. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  /** False if the session's previous snapshot is the same. */
  readonly isNew: boolean;
};

/** A snapshot, and the tree of the previous one on the same HEAD. */
type TakenSnapshot = TreeSnapshot & { readonly before: Oid | null };

/** A session of this clone that has started. */
export type RunningSession = {
  readonly kind: 'running';
  readonly epic: EpicId;
  readonly session: SessionId;
  readonly settings: SessionSettings;
};

/** A session that starts with the given facts. */
export type NewSession = {
  readonly kind: 'new';
  readonly epic: EpicId;
  readonly session: SessionId;
  /** The journal of this call, if it joins a session that an earlier call started. */
  readonly journal?: SessionId;
  readonly agent: string | null;
  readonly parentSessionId: SessionId | null;
  readonly settings: SessionSettings;
  /** How it ends right after these facts, if it lasts for one call only. */
  readonly endsWith: {
    readonly kind: 'session_paused' | 'session_completed';
    readonly reason: string | null;
  } | null;
};

/** The session that facts are recorded in. */
export type Target = RunningSession | NewSession;
