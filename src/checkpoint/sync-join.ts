import { join } from 'node:path';
import { hasCode, OrchError } from '../errors.ts';
import { waitForRefLock } from '../git/ref-wait.ts';
import { nameFile } from '../ids.ts';
import type { State } from '../state/lists.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
import { formatDocument, maxJoinedBytes } from './document.ts';
import { holdIfRaised, type RaisedBudget } from './held-budgets.ts';
import { type Merged, mergeHistory } from './merge.ts';
import { readBase } from './read.ts';
import type { OwnRows } from './set-back.ts';
import type { SyncPorts } from './sync-facts.ts';
import { readTip, remember } from './tip.ts';

export type JoinedEpic = Merged & { readonly raised: RaisedBudget | null };

/**
 * Brings what another clone has of an epic into ours. What this orch cannot read is not taken: with it on our ref,
 * sessions that run here could save nothing more.
 */
export async function joinEpic(ports: SyncPorts, epic: EpicId, theirs: Oid): Promise<JoinedEpic> {
  const { saved, state, seq, damage } = await readBase(ports.git, epic, theirs);
  const problem = damage[0]?.problem ?? (saved === null ? 'there is no checkpoint in it' : null);
  if (problem !== null || saved === null) throw notTaken(epic, theirs, problem ?? '');
  const own = await ports.readOwnRows(epic);
  const lock = join(ports.home, 'locks', nameFile(epic, '.lock'));
  return withLock(ports, lock, async () => {
    const ours = await readTip(ports, epic);
    const leap = findLeap(ours.seq, seq, state, ports.clock.now());
    if (leap !== null) throw notTaken(epic, theirs, leap);
    if (formatDocument(saved.document).length > maxJoinedBytes)
      throw notTaken(epic, theirs, 'it is too large to build on');
    const isHeld = (await ports.readConfig()).sync.budgets === 'ask';
    const raised = isHeld ? await holdIfRaised(ports, epic, own.complete(ours.state), state) : null;
    const merged = await mergePatiently(ports, epic, theirs, own);
    remember(ports, epic, [merged.tip], ours);
    // Its row counts again from now on; but its former life may still run somewhere, under the same name.
    if (merged.setBack.length > 0) await tellSetBack(ports, epic);
    return { ...merged, raised };
  });
}

/** How far an epic may be ahead of what is known here: more checkpoints, or a later clock, were made up. */
const farthest = { seq: 10_000_000, time: 20 * 365 * 86_400_000, generation: 1_000_000 };

/**
 * Numbers and times are counted on from what is joined. Taken as they come, one forged checkpoint could use up all
 * that are left.
 */
function findLeap(ourSeq: number, seq: number, { clock, ledger }: State, now: Millis): string | null {
  if (seq > ourSeq + farthest.seq) return `its number ${seq} is millions past ours`;
  const isSummed = Object.values(ledger).some(({ value }) => value.generation > farthest.generation);
  if (isSummed) return 'a row of its ledger was summed up more than a million times';
  return clock > now + farthest.time ? 'its clock is decades ahead' : null;
}

/** A clone that was restored from a backup goes on under a new name. */
async function tellSetBack(ports: SyncPorts, epic: EpicId): Promise<void> {
  const writer = await ports.renewWriter();
  const name = writer === null ? 'its name is pinned' : `it now writes as ${writer}`;
  ports.report(
    `${epic}: the remote has costs under this clone's name that are not here: this clone was restored from an older copy, or another clone changed the record. Both are added up, and ${name}.`,
  );
}

async function mergePatiently(ports: SyncPorts, epic: EpicId, theirs: Oid, own: OwnRows): Promise<Merged> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await mergeHistory(ports.git, epic, theirs, own);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT') || attempt >= 5) throw error;
      const { lock } = error.data;
      if (typeof lock === 'string' && !(await waitForRefLock(ports, lock))) throw error;
    }
  }
}

function notTaken(epic: EpicId, commit: Oid, problem: string): OrchError {
  return new OrchError('INTEGRITY', `what the remote has of ${epic} is damaged: ${problem}`, {
    hint: 'Yours is as it was. A clone that has it whole can make a checkpoint on it, and sync.',
    data: { epicId: epic, commit },
  });
}
