import type { ErrorCode, OrchError } from '../errors.ts';
import { countCommits } from '../git/reachable.ts';
import type { Repository } from '../git/repository.ts';
import type { EpicId, Oid } from '../types.ts';
import type { RaisedBudget } from './held-budgets.ts';
import { parseSharedRef } from './remote-refs.ts';
import type { JoinedEpic } from './sync-join.ts';
import type { Difference, Skipped } from './sync-plan.ts';
import type { Sending } from './sync-send.ts';

/** An epic that went one way, and how much of it. */
export type MovedEpic = { readonly epicId: EpicId; readonly commit: Oid; readonly checkpoints: number };

export type SyncProblem = {
  readonly epicId: EpicId | null;
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string | null;
};

/** What came of a sync. */
export type SyncResult = {
  readonly remote: string;
  readonly pushed: readonly MovedEpic[];
  readonly fetched: readonly MovedEpic[];
  /** Both sides had something new; the commit joins them. */
  readonly merged: readonly { readonly epicId: EpicId; readonly commit: Oid }[];
  /** How many sessions' snapshots went each way. */
  readonly snapshots: { readonly pushed: number; readonly fetched: number };
  /** Deleted here once, and back because others went on with them. */
  readonly returned: readonly EpicId[];
  /** Budgets that others raised: they count here once the user agrees. */
  readonly raised: readonly RaisedBudget[];
  readonly skipped: readonly Skipped[];
  readonly errors: readonly SyncProblem[];
};

type Arrival = { readonly before: Oid | null; readonly theirs: readonly Oid[]; readonly tip: Oid };

export type Tally = {
  skip(skipped: readonly Skipped[]): void;
  fetched(refs: readonly Difference[]): void;
  joined(
    joined: JoinedEpic & { readonly epic: EpicId; readonly before: Oid | null; readonly theirs: Oid },
  ): void;
  return(refs: readonly string[]): void;
  sent(refs: readonly Sending[]): void;
  fail(error: OrchError, epic: EpicId | null): void;
  finish(repository: Repository, remote: string): Promise<SyncResult>;
};

/** Adds up what the rounds of a sync do; each epic counts once. */
export function openTally(): Tally {
  const arrivals = new Map<EpicId, Arrival>();
  const merged = new Map<EpicId, Oid>();
  const departures = new Map<EpicId, { readonly from: Oid[]; readonly to: Oid }>();
  const snapshots = { pushed: new Set<string>(), fetched: new Set<string>() };
  const returned = new Set<EpicId>();
  const raised = new Map<EpicId, RaisedBudget>();
  const skipped = new Map<string, Skipped>();
  const errors = new Map<string, SyncProblem>();
  return {
    skip: (all) => {
      for (const one of all) skipped.set(one.ref, one);
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
    return: (refs) => {
      for (const ref of refs) {
        const named = parseSharedRef(ref);
        if (named?.session === null) returned.add(named.epic);
      }
    },
    sent: (refs) => {
      for (const { ref, epic, session, ours, theirs } of refs) {
        if (session !== null) snapshots.pushed.add(ref);
        else departures.set(epic, { from: theirs === null ? [] : [theirs], to: ours });
      }
    },
    fail: ({ code, message, hint }, epicId) => {
      errors.set(`${epicId} ${message}`, { epicId, code, message, hint });
    },
    finish: async (repository, remote) => {
      const fetched: MovedEpic[] = [];
      for (const [epicId, { before, theirs, tip }] of arrivals) {
        const without = before === null ? [] : [before];
        fetched.push({
          epicId,
          commit: tip,
          checkpoints: await countCommits(repository, { from: theirs, without }),
        });
      }
      const pushed: MovedEpic[] = [];
      for (const [epicId, { from, to }] of departures)
        pushed.push({
          epicId,
          commit: to,
          checkpoints: await countCommits(repository, { from: [to], without: from }),
        });
      return {
        remote,
        pushed,
        fetched,
        merged: [...merged].map(([epicId, commit]) => ({ epicId, commit })),
        snapshots: { pushed: snapshots.pushed.size, fetched: snapshots.fetched.size },
        returned: [...returned],
        raised: [...raised.values()],
        skipped: [...skipped.values()],
        errors: [...errors.values()],
      };
    },
  };
}
