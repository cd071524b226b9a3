import { walkEpic } from '../checkpoint/list.ts';
import { noteLost } from '../checkpoint/lost.ts';
import { parseTrackedRef, remotesPrefix } from '../checkpoint/remote-refs.ts';
import { parseSnapshotRef } from '../git/snapshot-ref.ts';
import { findBrokenLink } from '../git/storage.ts';
import type { Oid } from '../types.ts';
import { formatInstant } from '../units.ts';
import type { DoctorPorts } from './doctor-types.ts';

/** A ref that leads to something of which a part is missing. */
export type BrokenRef = { readonly ref: string; readonly oid: Oid; readonly problem: string };

/**
 * Points a snapshot ref to the newest snapshot of its session that is whole, or removes it: as long as it leads to what
 * is missing, `git gc` and every push of it fail. What is known of it is noted first.
 */
export async function setSnapshotsAside(ports: DoctorPorts, broken: readonly BrokenRef[]): Promise<void> {
  for (const { ref, oid, problem } of broken) {
    const whose = parseSnapshotRef(ref);
    if (whose === null) continue;
    const candidates: Oid[] = [];
    const checkpoints: string[] = [];
    const passOver = () => {}; // the check of checkpoints tells of damage
    for await (const { checkpoint } of walkEpic(ports, whose.epic, passOver)) {
      if (checkpoint.sessionId !== whose.session || checkpoint.snapshot === null) continue;
      if (checkpoint.snapshot === oid) checkpoints.push(checkpoint.id);
      else candidates.push(checkpoint.snapshot);
    }
    for (const [tracked, theirs] of await ports.git.listRefs(remotesPrefix))
      if (parseTrackedRef(tracked) === ref && theirs !== oid) candidates.push(theirs);
    const now = await findWhole(ports, candidates);
    await noteLost(ports, { at: formatInstant(ports.clock.now()), ref, oid, problem, now, checkpoints });
    await ports.git.moveRefs([{ ref, from: oid, to: now }]);
  }
}

async function findWhole({ repository }: DoctorPorts, candidates: readonly Oid[]): Promise<Oid | null> {
  for (const oid of new Set(candidates))
    if ((await findBrokenLink(repository, [oid], [])) === null) return oid;
  return null;
}
