import { emptyRow, isAhead, type LedgerRow, reconcileRow } from '../cost/ledger.ts';
import { hasCode } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { readCommit } from '../git/objects/read-objects.ts';
import { lookUp } from '../keyed.ts';
import { join } from '../state/join.ts';
import { type Entry, emptyState, type State } from '../state/lists.ts';
import type { EpicId, Oid } from '../types.ts';
import { readEnd, type Saved } from './read-base.ts';

/*
 * A clone that was restored from a backup continues under its old id, and counts again from the time of the backup. It
 * notices when another clone has more in this clone's ledger rows than it ever wrote.
 */

/** The ledger rows of an epic that only this clone writes. */
export type OwnRows = {
  /** The ids it writes under. */
  readonly writers: ReadonlySet<string>;
  /** Adds everything this clone's journals hold to a state: a copy of this clone may have counted that too. */
  readonly complete: (state: State) => State;
};

export const noRows: OwnRows = { writers: new Set(), complete: (state) => state };

/**
 * The corrected ledger rows of this clone's writers for which the other line has more than this clone ever wrote: what
 * was counted before the restore and after it.
 */
export async function reconcileOwn(
  git: GitEngine,
  epic: EpicId,
  { mine, other, own }: { readonly mine: Saved; readonly other: Saved; readonly own: OwnRows },
): Promise<State['ledger']> {
  const rows: [writer: string, entry: Entry<LedgerRow>][] = [];
  let base: State | null = null;
  const written = own.complete(mine.document.state);
  for (const writer of [...own.writers].sort()) {
    const entry = lookUp(other.document.state.ledger, writer);
    const ours = rowOf(mine.document.state, writer);
    if (entry === undefined || !mayBeAhead(entry.value, rowOf(written, writer))) continue;
    base ??= await readFork(git, epic, mine.commit.oid, other.commit.oid);
    const before = rowOf(base, writer);
    // After the fork, only this clone can have added to its row.
    if (isAhead(entry.value, before))
      rows.push([writer, { ...entry, value: reconcileRow(before, ours, entry.value) }]);
  }
  return Object.fromEntries(rows);
}

function rowOf({ ledger }: State, writer: string): LedgerRow {
  return lookUp(ledger, writer)?.value ?? emptyRow;
}

/** After a row was compacted, its parts no longer tell whether another has more. */
function mayBeAhead(theirs: LedgerRow, ours: LedgerRow): boolean {
  return isAhead(theirs, ours) || theirs.generation < ours.generation;
}

/** What was known where two lines forked; empty if they share no history, or it can no longer be read. */
async function readFork(git: GitEngine, epic: EpicId, ours: Oid, theirs: Oid): Promise<State> {
  let known = emptyState;
  try {
    for (const oid of await findForks(git, ours, theirs))
      known = join(known, (await readEnd(git, epic, oid)).document.state);
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
  }
  return known;
}

/** The commits of our history that the other line builds on. */
async function findForks(git: GitEngine, ours: Oid, theirs: Oid): Promise<Oid[]> {
  const known = new Set<Oid>();
  for await (const { oid } of git.walk(ours)) known.add(oid);
  const forks: Oid[] = [];
  const [seen, left] = [new Set([theirs]), [theirs]];
  for (let oid = left.pop(); oid !== undefined; oid = left.pop()) {
    if (known.has(oid)) {
      forks.push(oid);
      continue;
    }
    const fresh = (await readCommit(git, oid)).parents.filter((parent) => !seen.has(parent));
    for (const parent of fresh) seen.add(parent);
    left.push(...fresh);
  }
  return forks;
}
