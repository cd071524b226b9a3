import { mergeHistory } from '../checkpoint/merge.ts';
import { readBase } from '../checkpoint/read.ts';
import { listEpics, readRemembered } from '../checkpoint/tip.ts';
import { emptyRow, exceeds, usedBy } from '../cost/ledger.ts';
import { spentIn } from '../cost/money.ts';
import { isOrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { readView } from '../session/context.ts';
import type { State } from '../state/lists.ts';
import type { EpicId, Oid } from '../types.ts';
import { formatUsd } from '../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok } from './doctor-types.ts';

/*
 * A ref that something else moved back (a forced fetch, `git update-ref`) takes the money with it that was spent since,
 * and the budget would be spent twice. This clone remembers where the ref stood.
 */

type Lowered = { readonly epic: EpicId; readonly text: string; readonly commits: readonly Oid[] };

export const money: Check = {
  name: 'money',
  look: async (ports) => {
    const epics = await listEpics(ports.git);
    const lowered = (await Promise.all(epics.map((epic) => findLowered(ports, epic)))).filter(
      (one) => one !== null,
    );
    if (lowered.length === 0) return ok('nothing that was spent is missing');
    return fail(
      listSome(
        lowered.map(({ text }) => text),
        3,
      ),
      'Something other than orch moved the ref back, such as a forced fetch. Bring back what this clone remembers: orch doctor --fix',
      async () => {
        // What is remembered is this clone's own: nothing in it was counted by anybody else.
        for (const { epic, commits } of lowered)
          for (const commit of commits) await mergeHistory(ports.git, epic, commit);
      },
    );
  },
};

/** Is there less than this clone has seen? Null where there is not, or where nothing can be read. */
async function findLowered(ports: DoctorPorts, epic: EpicId): Promise<Lowered | null> {
  try {
    const { state, tip } = await readView(ports, epic);
    const lost: { oid: Oid; state: State; seq: number }[] = [];
    for (const oid of readRemembered(ports, epic)) {
      if (oid === tip.oid) continue;
      const known = await readBase(ports.git, epic, oid, [oid]);
      if (known.damage.length === 0 && hasMore(known.state, state))
        lost.push({ oid, state: known.state, seq: known.seq });
    }
    const [newest] = lost;
    if (newest === undefined) return null;
    const amounts = `${formatUsd(spentIn(state.ledger))}, but checkpoint ${newest.seq} had ${formatUsd(spentIn(newest.state.ledger))}`;
    return { epic, text: `${epic}: ${amounts}`, commits: lost.map(({ oid }) => oid) };
  } catch (error) {
    if (!isOrchError(error)) throw error;
    return null; // damage is told by the check of checkpoints
  }
}

/** Has a writer used more there than here? Guesses that were settled since do not count. */
function hasMore(there: State, here: State): boolean {
  return Object.entries(there.ledger).some(([writer, { value }]) =>
    exceeds(usedBy(value), usedBy(lookUp(here.ledger, writer)?.value ?? emptyRow)),
  );
}
