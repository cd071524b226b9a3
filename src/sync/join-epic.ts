import { join } from 'node:path';
import { formatDocument, maxJoinedBytes } from '../checkpoint/document/document.ts';
import { keepLocalBudget, type RaisedBudget } from '../checkpoint/local-budget.ts';
import { type Merged, mergeHistory } from '../checkpoint/merge.ts';
import { readBase } from '../checkpoint/read-base.ts';
import { readTip, remember } from '../checkpoint/tip.ts';
import { OrchError } from '../errors.ts';
import { nameFile } from '../ids.ts';
import type { State } from '../state/lists.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
import type { SyncPorts } from './sync-facts.ts';

export type JoinedEpic = Merged & { readonly raised: RaisedBudget | null };

/**
 * Joins another clone's history of an epic into ours. History that this orch cannot read is refused: on our ref, it
 * would keep running sessions from saving anything.
 */
export async function joinEpic(ports: SyncPorts, epic: EpicId, theirs: Oid): Promise<JoinedEpic> {
  const { saved, state, seq, damage } = await readBase(ports.git, epic, theirs);
  const problem = damage[0]?.problem ?? (saved === null ? 'it contains no checkpoint' : null);
  if (problem !== null || saved === null) throw joinRefused(epic, theirs, problem ?? '');
  const own = await ports.readOwnRows(epic);
  const lock = join(ports.home, 'locks', nameFile(epic, '.lock'));
  return withLock(ports, lock, async () => {
    const ours = await readTip(ports, epic);
    const leap = findLeap(ours.seq, seq, state, ports.clock.now());
    if (leap !== null) throw joinRefused(epic, theirs, leap);
    if (formatDocument(saved.document).length > maxJoinedBytes)
      throw joinRefused(epic, theirs, 'it is too large to build on');
    const isHeld = (await ports.readConfig()).sync.budgets === 'ask';
    const raised = isHeld ? await keepLocalBudget(ports, epic, own.complete(ours.state), state) : null;
    const merged = await mergeHistory(ports, epic, theirs, own);
    remember(ports, epic, [merged.tip], ours);
    // This clone's row counts again, but the clone it was copied from may still be running under the same name.
    if (merged.setBack.length > 0) await renameRestoredClone(ports, epic);
    return { ...merged, raised };
  });
}

/** How far an epic may be ahead of ours. Anything beyond that is forged. */
const mostAhead = { seq: 10_000_000, time: 20 * 365 * 86_400_000, generation: 1_000_000 };

/** Numbers and times continue from what is joined, so one forged checkpoint could use up all that are left. */
function findLeap(ourSeq: number, seq: number, { clock, ledger }: State, now: Millis): string | null {
  if (seq > ourSeq + mostAhead.seq) return `its checkpoint number ${seq} is millions ahead of ours`;
  const isSummed = Object.values(ledger).some(({ value }) => value.generation > mostAhead.generation);
  if (isSummed) return 'a row of its ledger was added up more than a million times';
  return clock > now + mostAhead.time ? 'its clock is decades ahead' : null;
}

/** Gives a clone that was restored from a backup a new name. */
async function renameRestoredClone(ports: SyncPorts, epic: EpicId): Promise<void> {
  const writer = await ports.renewWriter();
  const name = writer === null ? 'its name stays, because it is pinned' : `it now writes as ${writer}`;
  ports.report(
    `${epic}: the remote has costs under this clone's name that this clone does not know. Either this clone was restored from an older copy, or another clone changed the record. Both are counted, and ${name}.`,
  );
}

function joinRefused(epic: EpicId, commit: Oid, problem: string): OrchError {
  return new OrchError('INTEGRITY', `the remote's copy of ${epic} is damaged: ${problem}`, {
    hint: 'Your copy did not change. To repair it, create a checkpoint and sync in a clone that has an intact copy.',
    data: { epicId: epic, commit },
  });
}
