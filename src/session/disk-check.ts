import type { Checkpoint } from '../checkpoint/list.ts';
import { findWork } from '../checkpoint/names.ts';
import { hasCode } from '../errors.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { diffTrees } from '../git/tree-diff.ts';
import type { EpicId } from '../types.ts';
import { count } from '../units.ts';
import type { BaselinePorts } from './baseline.ts';
import { pickWork } from './orchestration.ts';
import type { SessionSettings } from './settings.ts';

export type DiskPorts = BaselinePorts & {
  readonly repository: Repository;
  readonly readSettings: () => Promise<SessionSettings>;
};

/** How many files on disk are not as they were last saved, and where that was; null where that cannot be told. */
export async function compareDisk(
  ports: DiskPorts,
  epic: EpicId,
): Promise<{ readonly differing: number; readonly checkpoint: Checkpoint } | null> {
  const checkpoint = (await findWork(ports, epic, { session: null }))?.checkpoint;
  if (!checkpoint?.snapshot) return null;
  const now = await ports.readTree((await ports.readSettings()).maxFileBytes);
  if (now === null) return null;
  try {
    const { tree } = await readCommit(ports.git, checkpoint.snapshot);
    const work = await pickWork(ports, await diffTrees(ports.repository, tree, now));
    return { differing: work.length, checkpoint };
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return null; // its snapshot is not in this clone
  }
}

/** After a crash: what was written since the last checkpoint is on disk only, or somebody changed it since. */
export async function describeDisk(ports: DiskPorts, epic: EpicId): Promise<string | null> {
  const found = await compareDisk(ports, epic);
  if (found === null || found.differing === 0) return null;
  const { differing, checkpoint } = found;
  const files = `${count(differing, 'file')} on disk ${differing === 1 ? 'differs' : 'differ'}`;
  return `${files} from ckpt ${checkpoint.seq}, the last one with code: orch diff ${checkpoint.seq} -e ${epic}`;
}
