import { mergeHistory } from '../../checkpoint/merge.ts';
import { readBase } from '../../checkpoint/read-base.ts';
import { listEpics, readRemembered } from '../../checkpoint/tip.ts';
import { emptyRow, exceeds, usedBy } from '../../cost/ledger.ts';
import { spentIn } from '../../cost/money.ts';
import { isOrchError } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import { readView } from '../../record/view.ts';
import type { State } from '../../state/lists.ts';
import type { EpicId, Oid } from '../../types.ts';
import { formatUsd } from '../../units.ts';
import { type Check, type DoctorPorts, fail, listSome, ok } from './finding.ts';

/*
 * If something else moves a ref back (a forced fetch, `git update-ref`), the money spent since is missing, and the
 * budget would be spent twice. This clone remembers where the ref was.
 */

type Lowered = { readonly epic: EpicId; readonly text: string; readonly commits: readonly Oid[] };

export const moneyCheck: Check = {
  name: 'money',
  run: async (ports) => {
    const epics = await listEpics(ports.git);
    const lowered = (await Promise.all(epics.map((epic) => findLowered(ports, epic)))).filter(
      (one) => one !== null,
    );
    if (lowered.length === 0) return ok('no costs are missing');
    return fail(
      listSome(
        lowered.map(({ text }) => text),
        3,
      ),
      'Something other than orch moved the ref back, such as a forced fetch. Restore what this clone remembers: orch doctor --fix',
      async () => {
        // These commits are this clone's own, so no other clone has counted any of it.
        for (const { epic, commits } of lowered)
          for (const commit of commits) await mergeHistory(ports, epic, commit);
      },
    );
  },
};

/** Finds out whether the ref has less than this clone has seen. Null if not, or if it cannot be read. */
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
    return null; // damaged: the check `checkpoints` reports it
  }
}

/** Has a writer used more there than here? Estimates that have been replaced since do not count. */
function hasMore(there: State, here: State): boolean {
  return Object.entries(there.ledger).some(([writer, { value }]) =>
    exceeds(usedBy(value), usedBy(lookUp(here.ledger, writer)?.value ?? emptyRow)),
  );
}
