import type { Fate } from '../session/fate.ts';
import type { RunHead } from '../state/run.ts';
import type { EpicId, Millis, Oid, SessionId } from '../types.ts';

/** What is known of an epic's sessions. */
export type EpicFacts = {
  readonly tip: Oid | null;
  /** Why its state cannot be relied on; null where it can. */
  readonly problem: string | null;
  readonly sessions: ReadonlyMap<SessionId, { readonly fate: Fate; readonly at: Millis }>;
  /** Is every session it ever had among them? The oldest leave a long list. */
  readonly isComplete: boolean;
  /** Recorded, and in no checkpoint yet. */
  readonly pending: number;
  /** The session whose code was the last to pass all gates. */
  readonly green: SessionId | null;
  /** The session whose code is the newest in the history. */
  readonly latest: SessionId | null;
  /** When it was completed; null while it is not, or where it is archived already. */
  readonly completedAt: Millis | null;
};

/** A file, or a folder with what is in it, as it was seen: it is removed only while it is still so. */
export type FileFacts = {
  readonly path: string;
  readonly mark: string;
  readonly bytes: number;
  /** When it was last touched. */
  readonly at: Millis;
};

/** Something that may be removed, with what that depends on. */
export type Thing =
  | {
      readonly kind: 'snapshots';
      readonly epic: EpicId;
      readonly session: SessionId;
      readonly ref: string;
      readonly oid: Oid;
      /** When the newest of them was taken. */
      readonly at: Millis;
    }
  | { readonly kind: 'epic'; readonly epic: EpicId; readonly ref: string; readonly oid: Oid }
  /** An epic that is done: it is not removed, but archived. */
  | { readonly kind: 'completed'; readonly epic: EpicId }
  | {
      readonly kind: 'trash';
      readonly epic: EpicId;
      readonly ref: string;
      readonly oid: Oid;
      readonly at: Millis;
    }
  /** What a restore replaced in a working tree; null is the main one. */
  | {
      readonly kind: 'undo';
      readonly worktree: string | null;
      readonly isGone: boolean;
      /** Is it what `orch restore --undo` brings back there? */
      readonly isNewest: boolean;
      readonly ref: string;
      readonly oid: Oid;
      readonly at: Millis;
    }
  | { readonly kind: 'trashed_journal'; readonly epic: EpicId | null; readonly file: FileFacts }
  | {
      readonly kind: 'journal';
      readonly session: SessionId;
      readonly size: number;
      readonly file: FileFacts;
    }
  /** What a session or a run printed; `sessions` are those that wrote it. */
  | { readonly kind: 'log'; readonly sessions: readonly SessionId[]; readonly file: FileFacts }
  /** What a run keeps in the newest checkpoint: what it planned and did, and its artifacts as long as it may need them. */
  | {
      readonly kind: 'run';
      readonly epic: EpicId;
      readonly run: string;
      readonly plan: string;
      readonly status: RunHead['status'];
      readonly files: number;
      /** When it ended. */
      readonly at: Millis;
      /** When it last said how it stands: it is cleaned up only while that is so. */
      readonly seen: Millis;
    }
  | { readonly kind: 'damaged'; readonly file: FileFacts }
  /** What can be made again or is of no use to anybody: caches, briefs, what a crash left half-written. */
  | {
      readonly kind: 'leftover';
      readonly what: string;
      readonly session: SessionId | null;
      readonly file: FileFacts;
    };

export type CleanupFacts = {
  readonly epics: ReadonlyMap<EpicId, EpicFacts>;
  readonly things: readonly Thing[];
};
