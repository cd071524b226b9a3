import { join } from 'node:path';
import { walkEpic } from '../checkpoint/list.ts';
import { parseMessage } from '../checkpoint/message.ts';
import { readBase } from '../checkpoint/read.ts';
import { readRemembered } from '../checkpoint/tip.ts';
import { epicsPrefix } from '../checkpoint/tree.ts';
import { hasCode } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import { listBrokenRefs } from '../git/refs.ts';
import { parseSnapshotRef } from '../git/snapshot-ref.ts';
import { listUnreachableCommits } from '../git/storage.ts';
import { isEpicId, parseEpicId } from '../ids.ts';
import { makeFolder } from '../system/files.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Oid } from '../types.ts';
import { type Check, type DoctorPorts, fail, listSome, ok } from './doctor-types.ts';

/* A ref that holds no commit id hides all its checkpoints, though every one of them is still there. */

export const refs: Check = {
  name: 'refs',
  look: (ports) => {
    const { commonDir, refStorage } = ports.repository;
    if (refStorage !== 'files') return ok('kept by git');
    // Snapshots are found by their epic, so the epics come first.
    const broken = listBrokenRefs(commonDir, 'refs/orchestration/');
    if (broken.length === 0) return ok('each holds a commit');
    return fail(
      `no commit id is in ${listSome(broken)}`,
      'Set it to the newest checkpoint that is there: orch doctor --fix. The broken file is kept in .git/orchestration/damaged',
      async () => {
        for (const ref of broken) await setRight(ports, ref);
      },
    );
  },
};

/** Nothing is moved before it is known where the ref has to stand. */
async function setRight(ports: DoctorPorts, ref: string): Promise<void> {
  const { git, disk, home, repository, random } = ports;
  const name = ref.slice(epicsPrefix.length);
  const epic = ref.startsWith(epicsPrefix) && isEpicId(name) ? parseEpicId(name) : null;
  const target = epic ? await findNewest(ports, epic) : await findSnapshot(ports, ref);
  if (target === null) throw new Error(`nothing here tells where ${ref} stood; another clone may know`);
  await withLock(ports, join(home, 'locks', `${epic ?? 'refs'}.lock`), async () => {
    const folder = join(home, 'damaged');
    await makeFolder(disk, folder);
    disk.rename(join(repository.commonDir, ref), join(folder, `${ref.replaceAll('/', '-')}.${random.id(6)}`));
    // An older value may stand in packed-refs.
    const from = await git.readRef(ref);
    if (from !== target) await git.moveRefs([{ ref, from, to: target }]);
  });
}

/** The newest checkpoint of an epic that is whole, whether or not this clone remembers where the ref stood. */
async function findNewest(ports: DoctorPorts, epic: EpicId): Promise<Oid | null> {
  const { git, repository } = ports;
  const lost = git.name === 'native' ? await listUnreachableCommits(repository) : [];
  let newest: { readonly oid: Oid; readonly seq: number } | null = null;
  for (const oid of new Set([...readRemembered(ports, epic), ...lost])) {
    const seq = await readSeq(git, epic, oid);
    if (seq !== null && seq > (newest?.seq ?? 0)) newest = { oid, seq };
  }
  return newest?.oid ?? null;
}

/** The number of a checkpoint; null where it is none of this epic's, or is damaged. */
async function readSeq(git: DoctorPorts['git'], epic: EpicId, oid: Oid): Promise<number | null> {
  try {
    const { message } = await readCommit(git, oid);
    if (parseMessage(message)?.epicId !== epic) return null;
    const { damage, seq } = await readBase(git, epic, oid);
    return damage.length === 0 ? seq : null;
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null;
  }
}

/** The newest snapshot that one of its session's checkpoints names. */
async function findSnapshot(ports: DoctorPorts, ref: string): Promise<Oid | null> {
  const whose = parseSnapshotRef(ref);
  if (whose === null) return null;
  const pass = () => {}; // what is damaged is told by the check of checkpoints
  for await (const { checkpoint } of walkEpic(ports, whose.epic, pass))
    if (checkpoint.sessionId === whose.session && checkpoint.snapshot) return checkpoint.snapshot;
  return null;
}
