import { copyHeld, holdIfRaised } from '../checkpoint/held-budgets.ts';
import { moveEpic, shareHistory } from '../checkpoint/move.ts';
import { refuseSameButForCase } from '../checkpoint/store.ts';
import { listEpics, readTip } from '../checkpoint/tip.ts';
import { isOrchError, OrchError } from '../errors.ts';
import { isRenamedTo, listFormerNames, renamedFact } from '../state/naming.ts';
import type { EpicId } from '../types.ts';
import { epicExists, readView } from './context.ts';
import { settleJournals } from './delete.ts';
import { sayOf, withEpic } from './epics.ts';
import { renameUsed } from './last-used.ts';
import type { SessionPorts } from './record.ts';

/** Gives an epic another name; its history, its money and its snapshots go along. */
export async function renameEpic(ports: SessionPorts, from: EpicId, to: EpicId): Promise<void> {
  if (await isSettled(ports, from, to)) return;
  await refuseName(ports, from, to);
  await withEpic(ports, from, async () => {
    await sayOf(ports, from, renamedFact(from, to), `Renamed to ${to}`);
    await moveWhole(ports, from, to);
  });
}

/** Does what a rename does once it is recorded: here or, through a sync, in another clone. */
export async function moveWhole(ports: SessionPorts, from: EpicId, to: EpicId): Promise<void> {
  await settleJournals(ports, from, `Saved before the epic became ${to}`);
  // The budget that counts here goes first: without it a higher one from elsewhere would.
  await copyHeld(ports, from, to);
  await moveEpic(ports, from, to);
  renameUsed(ports.disk, ports.home, from, to);
}

/** A crash may have come between the new name and the end of the old one: then this is the rest of it. */
export async function isSettled(ports: SessionPorts, from: EpicId, to: EpicId): Promise<boolean> {
  return (await settleNames(ports)).some((done) => done.from === from && done.to === to);
}

/** Refuses a new name that another epic has. */
export async function refuseName(ports: SessionPorts, from: EpicId, to: EpicId): Promise<void> {
  if (from === to)
    throw new OrchError('USAGE', `the epic is called ${to} already`, { hint: 'Give it another name' });
  if (epicExists(await readView(ports, to)))
    throw new OrchError('USAGE', `there is an epic ${to} already`, {
      hint: `Choose another name, or rename that one first: orch epic rename ${to} NEW-NAME`,
      data: { epicId: to },
    });
  await refuseSameButForCase(ports.git, to);
}

export type Renamed = { readonly from: EpicId; readonly to: EpicId };

/**
 * Does here what another clone's rename asks for: an epic that is still there under its former name is joined with what
 * it is now. One that is worked on is left until that is over.
 */
export async function settleNames(ports: SessionPorts, holdsBudgets = true): Promise<Renamed[]> {
  const settled: Renamed[] = [];
  for (const to of await listEpics(ports.git)) {
    try {
      const { state, oid } = await readTip(ports, to);
      for (const { name: from } of listFormerNames(state)) {
        const old = await readTip(ports, from);
        if (oid === null || old.oid === null || !isRenamedTo(from, old.state, to, state)) continue;
        // Another epic may have been begun under the name that this one had.
        if (!(await shareHistory(ports.git, old.oid, oid))) continue;
        // Whoever renames an epic elsewhere must not hand out more money here by it.
        if (holdsBudgets) await holdIfRaised(ports, to, (await readView(ports, from)).state, state);
        await withEpic(ports, from, () => moveWhole(ports, from, to));
        settled.push({ from, to });
      }
    } catch (error) {
      if (!isOrchError(error)) throw error;
      ports.report(`${to} has another name here still: ${error.message}`);
    }
  }
  return settled;
}
