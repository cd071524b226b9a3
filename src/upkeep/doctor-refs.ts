import { join } from 'node:path';
import { walkEpic } from '../checkpoint/list.ts';
import { parseMessage } from '../checkpoint/message.ts';
import { readBase } from '../checkpoint/read.ts';
import { readRemembered } from '../checkpoint/tip.ts';
import { epicsPrefix } from '../checkpoint/tree.ts';
import { hasCode } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import { replaceBrokenRef } from '../git/ref-lock.ts';
import { listBrokenRefs } from '../git/refs.ts';
import { parseSnapshotRef } from '../git/snapshot-ref.ts';
import { listUnreachableCommits } from '../git/storage.ts';
import { isEpicId, parseEpicId } from '../ids.ts';
import { makeFolder } from '../system/files.ts';
import type { EpicId, Millis, Oid } from '../types.ts';
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

/** The broken file is kept, under another name, and replaced where it is known what it has to hold. */
async function setRight(ports: DoctorPorts, ref: string): Promise<void> {
  const { disk, home, repository, random } = ports;
  const name = ref.slice(epicsPrefix.length);
  const epic = ref.startsWith(epicsPrefix) && isEpicId(name) ? parseEpicId(name) : null;
  const target = epic ? await findNewest(ports, epic) : await findSnapshot(ports, ref);
  if (target === null) throw new Error(`nothing here tells where ${ref} stood; another clone may know`);
  const folder = join(home, 'damaged');
  await makeFolder(disk, folder);
  const { commonDir } = repository;
  disk.link(join(commonDir, ref), join(folder, `${ref.replaceAll('/', '-')}.${random.id(6)}`));
  await replaceBrokenRef(disk, commonDir, ref, target);
}

type Whole = { readonly oid: Oid; readonly at: Millis; readonly seq: number };

/**
 * The newest checkpoint of an epic that is whole. What is unreachable may also be of an epic of that name that was
 * deleted long ago, or was never acknowledged: where this clone remembers the ref, only what stands on that counts.
 */
async function findNewest({ git, repository, ...ports }: DoctorPorts, epic: EpicId): Promise<Oid | null> {
  const remembered = await readWhole(git, epic, readRemembered({ git, ...ports }, epic));
  const lost = git.name === 'native' ? await listUnreachableCommits(repository) : [];
  const [base] = remembered;
  let newest: Whole | null = base ?? null;
  for (const found of await readWhole(git, epic, lost)) {
    if (base && !(await git.isAncestor(base.oid, found.oid))) continue;
    if (newest === null || isNewer(found, newest)) newest = found;
  }
  return newest?.oid ?? null;
}

function isNewer(a: Whole, b: Whole): boolean {
  return a.at > b.at || (a.at === b.at && a.seq > b.seq);
}

/** Those of the commits that are checkpoints of this epic, and can be read. */
async function readWhole(git: DoctorPorts['git'], epic: EpicId, oids: readonly Oid[]): Promise<Whole[]> {
  const whole: Whole[] = [];
  for (const oid of oids) {
    try {
      const { message, committedAt } = await readCommit(git, oid);
      if (parseMessage(message)?.epicId !== epic) continue;
      const { damage, seq } = await readBase(git, epic, oid);
      if (damage.length === 0) whole.push({ oid, at: committedAt, seq });
    } catch (error) {
      if (!hasCode(error, 'INTEGRITY')) throw error;
    }
  }
  return whole;
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
