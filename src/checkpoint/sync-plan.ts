import type { EpicId, Oid, SessionId } from '../types.ts';
import { parseSharedRef } from './remote-refs.ts';
import { epicRef } from './tree.ts';

/** Refs below refs/orchestration, and where they stand. */
export type Refs = ReadonlyMap<string, Oid>;

export type SyncFacts = {
  readonly ours: Refs;
  readonly theirs: Refs;
  /** The remote's, as this clone has them already. */
  readonly tracked: Refs;
  /** Let go of here, and not gone on with by anybody since. */
  readonly keptAway: ReadonlySet<string>;
};

export type SyncWish = {
  /** Only this one. */
  readonly epic: EpicId | null;
  readonly snapshots: boolean;
};

/** A ref that is not the same on both sides. */
export type Difference = {
  readonly ref: string;
  readonly epic: EpicId;
  /** Whose snapshots it holds; null for an epic's checkpoints. */
  readonly session: SessionId | null;
  readonly ours: Oid | null;
  readonly theirs: Oid | null;
};

export type Skipped = { readonly ref: string; readonly reason: string };

export type SyncPlan = {
  /** Theirs, and not here yet. */
  readonly fetch: readonly Difference[];
  /** Epics of which they have something else than we do; once fetched, theirs is brought into ours. */
  readonly join: readonly Difference[];
  /** Here, and not there at all, or not as it is here. Of an epic in `join` that is known only afterwards. */
  readonly send: readonly Difference[];
  /** The same on both sides, which this clone did not know yet. */
  readonly seen: readonly Difference[];
  readonly skipped: readonly Skipped[];
};

/** Decides what becomes of each ref. Nothing is ever taken away, here or there. */
export function planSync(facts: SyncFacts, wish: SyncWish): SyncPlan {
  const plan = { fetch: [], join: [], send: [], seen: [], skipped: [] } as {
    [K in keyof SyncPlan]: SyncPlan[K][number][]; // empty lists have no type of their own
  };
  const spelling = chooseSpellings(facts);
  for (const ref of [...new Set([...facts.ours.keys(), ...facts.theirs.keys()])].sort()) {
    const named = parseSharedRef(ref);
    const ours = facts.ours.get(ref) ?? null;
    const theirs = facts.theirs.get(ref) ?? null;
    if (named === null) {
      if (ours !== theirs && wish.epic === null) plan.skipped.push({ ref, reason: 'not a name orch gives' });
      continue;
    }
    if (wish.epic !== null && named.epic !== wish.epic) continue;
    if (named.session !== null && !wish.snapshots) continue;
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
    // The snapshots of an epic that was deleted here stay until its trash is emptied, and go nowhere.
    const isWanted = named.session === null || facts.ours.has(epicRef(named.epic));
    if (ours !== null && isWanted && (theirs === null || named.session !== null)) plan.send.push(difference);
  }
  return plan;
}

/** Is there anything of the epic that is meant, on either side? */
export function isAnywhere({ ours, theirs }: SyncFacts, { epic }: SyncWish): boolean {
  return epic === null || ours.has(epicRef(epic)) || theirs.has(epicRef(epic));
}

/** Deleted here: neither it nor the snapshots of its sessions come back by themselves. */
function isKeptAway({ keptAway }: SyncFacts, { ref, epic, ours }: Difference): boolean {
  return ours === null && (keptAway.has(ref) || keptAway.has(epicRef(epic)));
}

/** Of epics that differ only by case one goes on, on every system: the one that is here, else the first. */
function chooseSpellings({ ours, theirs }: SyncFacts): ReadonlyMap<string, EpicId> {
  const chosen = new Map<string, EpicId>();
  for (const ref of [...[...ours.keys()].sort(), ...[...theirs.keys()].sort()]) {
    const named = parseSharedRef(ref);
    if (named === null || named.session !== null || chosen.has(named.epic.toLowerCase())) continue;
    chosen.set(named.epic.toLowerCase(), named.epic);
  }
  return chosen;
}
