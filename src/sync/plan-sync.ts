import { epicRef, parseSharedRef } from '../checkpoint/document/names-in-git.ts';
import type { EpicId, Oid, SessionId } from '../types.ts';

/** Refs below refs/orchestration, and their commits. */
export type Refs = ReadonlyMap<string, Oid>;

export type SyncFacts = {
  readonly ours: Refs;
  readonly theirs: Refs;
  /** The remote's refs as this clone last saw them. */
  readonly tracked: Refs;
  /** Deleted here, and not continued by others since. */
  readonly keptAway: ReadonlySet<string>;
};

export type SyncScope = {
  /** Only this epic; null for all. */
  readonly epic: EpicId | null;
  readonly snapshots: boolean;
};

/** A ref, on both sides. */
export type Difference = {
  readonly ref: string;
  readonly epic: EpicId;
  /** The session whose snapshots it holds; null for an epic's checkpoints. */
  readonly session: SessionId | null;
  readonly ours: Oid | null;
  readonly theirs: Oid | null;
};

export type Skipped = { readonly ref: string; readonly reason: string };

export type SyncPlan = {
  /** New on the remote. */
  readonly fetch: readonly Difference[];
  /** Epics that differ: theirs is fetched, then joined into ours. */
  readonly join: readonly Difference[];
  /** Missing or different on the remote. Whether an epic in `join` has to be sent is known only after joining it. */
  readonly send: readonly Difference[];
  /** The same on both sides, but this clone did not know that yet. */
  readonly seen: readonly Difference[];
  readonly skipped: readonly Skipped[];
};

/** Decides what to do with each ref. Nothing is ever deleted, here or on the remote. */
export function planSync(facts: SyncFacts, scope: SyncScope): SyncPlan {
  const plan = { fetch: [], join: [], send: [], seen: [], skipped: [] } as {
    [K in keyof SyncPlan]: SyncPlan[K][number][]; // empty lists have no type of their own
  };
  const spelling = chooseSpellings(facts);
  for (const ref of [...new Set([...facts.ours.keys(), ...facts.theirs.keys()])].sort()) {
    const named = parseSharedRef(ref);
    const ours = facts.ours.get(ref) ?? null;
    const theirs = facts.theirs.get(ref) ?? null;
    if (named === null) {
      if (ours !== theirs && scope.epic === null)
        plan.skipped.push({ ref, reason: 'not a name that orch uses' });
      continue;
    }
    if (scope.epic !== null && named.epic !== scope.epic) continue;
    if (named.session !== null && !scope.snapshots) continue;
    const difference = { ref, ...named, ours, theirs };
    if (ours === theirs) {
      if (facts.tracked.get(ref) !== theirs) plan.seen.push(difference);
      continue;
    }
    const chosen = spelling.get(named.epic.toLowerCase());
    if (chosen !== undefined && chosen !== named.epic) {
      plan.skipped.push({ ref, reason: `it differs from ${chosen} only by case` });
      continue;
    }
    if (isKeptAway(facts, difference)) continue;
    const isArriving = theirs !== null && (named.session === null || ours === null);
    if (isArriving && facts.tracked.get(ref) !== theirs) plan.fetch.push(difference);
    if (isArriving && named.session === null) plan.join.push(difference);
    // The snapshots of an epic that was deleted here stay until its trash is emptied, but they are not sent.
    const isWanted = named.session === null || facts.ours.has(epicRef(named.epic));
    if (ours !== null && isWanted && (theirs === null || named.session !== null)) plan.send.push(difference);
  }
  return plan;
}

/** Does either side have the epic? */
export function isAnywhere({ ours, theirs }: SyncFacts, { epic }: SyncScope): boolean {
  return epic === null || ours.has(epicRef(epic)) || theirs.has(epicRef(epic));
}

/** A deleted epic does not come back, and neither do the snapshots of its sessions. */
function isKeptAway({ keptAway }: SyncFacts, { ref, epic, ours }: Difference): boolean {
  return ours === null && (keptAway.has(ref) || keptAway.has(epicRef(epic)));
}

/** Of epics whose names differ only by case, one is synced, on every system: the one that is here, else the first. */
function chooseSpellings({ ours, theirs }: SyncFacts): ReadonlyMap<string, EpicId> {
  const chosen = new Map<string, EpicId>();
  for (const ref of [...[...ours.keys()].sort(), ...[...theirs.keys()].sort()]) {
    const named = parseSharedRef(ref);
    if (named === null || named.session !== null || chosen.has(named.epic.toLowerCase())) continue;
    chosen.set(named.epic.toLowerCase(), named.epic);
  }
  return chosen;
}
