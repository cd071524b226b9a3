import { parseSharedRef } from '../checkpoint/document/names-in-git.ts';
import type { RaisedBudget } from '../checkpoint/local-budget.ts';
import type { ErrorCode, OrchError } from '../errors.ts';
import { countCommits } from '../git/objects/reachable.ts';
import type { Repository } from '../git/repository.ts';
import type { EpicId, Oid } from '../types.ts';
import type { JoinedEpic } from './join-epic.ts';
import type { Difference, Skipped } from './plan-sync.ts';
import type { Sending } from './send-refs.ts';

/** An epic that was pushed or fetched, and how much of it. */
type MovedEpic = { readonly epicId: EpicId; readonly commit: Oid; readonly checkpoints: number };

type SyncProblem = {
  readonly epicId: EpicId | null;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string | null;
};

export type SyncResult = {
  readonly remote: string;
  readonly pushed: readonly MovedEpic[];
  readonly fetched: readonly MovedEpic[];
  /** Both sides had something new, and this commit joins them. */
  readonly merged: readonly { readonly epicId: EpicId; readonly commit: Oid }[];
  /** How many sessions' snapshots went each way. */
  readonly snapshots: { readonly pushed: number; readonly fetched: number };
  /** Deleted here earlier, but back because others continued them. */
  readonly returned: readonly EpicId[];
  /** Budgets that others raised: they apply here once the user agrees. */
  readonly raised: readonly RaisedBudget[];
  readonly skipped: readonly Skipped[];
  readonly errors: readonly SyncProblem[];
};

type Arrival = { readonly before: Oid | null; readonly theirs: readonly Oid[]; readonly tip: Oid };

export type Tally = {
  skipped(skipped: readonly Skipped[]): void;
  fetched(refs: readonly Difference[]): void;
  joined(
    joined: JoinedEpic & { readonly epic: EpicId; readonly before: Oid | null; readonly theirs: Oid },
  ): void;
  returned(refs: readonly string[]): void;
  sent(refs: readonly Sending[]): void;
  failed(error: OrchError, epic: EpicId | null): void;
  finish(repository: Repository, remote: string): Promise<SyncResult>;
};

/** Collects what the rounds of a sync do. Each epic counts once. */
export function openTally(): Tally {
  const arrivals = new Map<EpicId, Arrival>();
  const merged = new Map<EpicId, Oid>();
  const departures = new Map<EpicId, { readonly from: Oid[]; readonly to: Oid }>();
  const snapshots = { pushed: new Set<string>(), fetched: new Set<string>() };
  const returning = new Set<EpicId>();
  const raised = new Map<EpicId, RaisedBudget>();
  const skips = new Map<string, Skipped>();
  const errors = new Map<string, SyncProblem>();
  return {
    skipped: (all) => {
      for (const one of all) skips.set(one.ref, one);
    },
    fetched: (refs) => {
      for (const { ref, session } of refs) if (session !== null) snapshots.fetched.add(ref);
    },
    joined: ({ epic, before, theirs, tip, how, raised: budget }) => {
      if (budget !== null) raised.set(epic, budget);
      if (how === 'contained') return;
      const known = arrivals.get(epic);
      arrivals.set(epic, {
        before: known ? known.before : before,
        theirs: [...(known?.theirs ?? []), theirs],
        tip,
      });
      if (how === 'merged') merged.set(epic, tip);
      else merged.delete(epic); // another clone made the same join, or one on top of it
    },
    returned: (refs) => {
      for (const ref of refs) {
        const named = parseSharedRef(ref);
        if (named?.session === null) returning.add(named.epic);
      }
    },
    sent: (refs) => {
      for (const { ref, epic, session, ours, theirs } of refs) {
        if (session !== null) snapshots.pushed.add(ref);
        else departures.set(epic, { from: theirs === null ? [] : [theirs], to: ours });
      }
    },
    failed: ({ code, message, hint }, epicId) => {
      errors.set(`${epicId} ${message}`, { epicId, code, message, hint });
    },
    finish: async (repository, remote) => {
      const fetched: MovedEpic[] = [];
      for (const [epicId, { before, theirs, tip: commit }] of arrivals) {
        const without = before === null ? [] : [before];
        fetched.push({
          epicId,
          commit,
          checkpoints: await countCommits(repository, { from: theirs, without }),
        });
      }
      const pushed: MovedEpic[] = [];
      for (const [epicId, { from: without, to: commit }] of departures)
        pushed.push({
          epicId,
          commit,
          checkpoints: await countCommits(repository, { from: [commit], without }),
        });
      return {
        remote,
        pushed,
        fetched,
        merged: [...merged].map(([epicId, commit]) => ({ epicId, commit })),
        snapshots: { pushed: snapshots.pushed.size, fetched: snapshots.fetched.size },
        returned: [...returning],
        raised: [...raised.values()],
        skipped: [...skips.values()],
        errors: [...errors.values()],
      };
    },
  };
}
