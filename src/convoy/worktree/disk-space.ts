import { dirname } from 'node:path';
import { OrchError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import { runGit } from '../../git/run-git.ts';
import { statIfThere } from '../../system/disk.ts';
import { readFreeBytes } from '../../system/files-in-bulk.ts';
import type { Oid } from '../../types.ts';
import { formatSize } from '../../units.ts';

const leastMargin = 200 * 1024 * 1024;
const marginFraction = 0.05;
/** File systems give a file whole blocks. */
const block = 4_096;

/** What a checkout of the newest commit that was asked about takes, by repository. */
const known = new Map<string, { readonly commit: Oid; readonly bytes: number }>();

/** Refuses to write a checkout for which the disk has no room; what others write meanwhile has a margin. */
export async function refuseFullDisk(repository: Repository, folder: string, commit: Oid): Promise<void> {
  const free = readFreeBytes(findExisting(folder));
  const before = known.get(repository.commonDir);
  // One commit's checkout is hardly ever twice as large as another's.
  if (before !== undefined && before.commit !== commit && free > 2 * withMargin(before.bytes)) return;
  const bytes = before?.commit === commit ? before.bytes : await measureCheckout(repository, commit);
  known.set(repository.commonDir, { commit, bytes });
  const problem = findLack(bytes, free);
  if (problem === null) return;
  throw new OrchError('WRITE_FAILED', `no worktree was made in ${folder}: ${problem}`, {
    hint: 'Free some space, or name a folder on another disk with worktrees: in .orchestration/config.yaml, then: orch convoy resume',
    data: { needed: withMargin(bytes), free },
  });
}

/** Says what is missing for a checkout of this size; null if there is room. */
export function findLack(bytes: number, free: number): string | null {
  const needed = withMargin(bytes);
  if (free >= needed) return null;
  return `a checkout takes ${formatSize(bytes)}, so ${formatSize(needed)} should be free, and ${formatSize(free)} are`;
}

function withMargin(bytes: number): number {
  return bytes + Math.max(leastMargin, Math.ceil(bytes * marginFraction));
}

async function measureCheckout(repository: Repository, commit: Oid): Promise<number> {
  const listed = await runGit(repository, ['ls-tree', '-r', '-l', '-z', commit]);
  let bytes = 0;
  // Mode, kind, id and size, then a tab and the path.
  for (const [, size] of listed.matchAll(/(?:^|\0)\d+ blob [0-9a-f]+ +(\d+)\t/g))
    bytes += Math.ceil(Number(size) / block) * block;
  return bytes;
}

function findExisting(path: string): string {
  return statIfThere(path) !== null || dirname(path) === path ? path : findExisting(dirname(path));
}
