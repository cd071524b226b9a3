import { join } from 'node:path';
import { parseOid } from '../ids.ts';
import type { Disk } from '../system/disk.ts';
import { appendLines, readLines } from '../system/line-file.ts';
import type { Oid } from '../types.ts';

/*
 * The refs this clone deleted on purpose, so that the next sync does not bring them back: lines of `<ref> <commit>`,
 * with the position of a ref below refs/orchestration when it was deleted. Lines are only ever added.
 */

type ForgottenPorts = { readonly disk: Disk; readonly home: string };

function forgottenPath(home: string): string {
  return join(home, 'forgotten');
}

/** Records the positions of refs before they are deleted. On disk when it returns. */
export async function recordDeletedRefs(
  { disk, home }: ForgottenPorts,
  refs: readonly { readonly ref: string; readonly oid: Oid }[],
): Promise<void> {
  if (refs.length === 0) return;
  const lines = refs.map(({ ref, oid }) => `${ref} ${oid}`);
  await appendLines(disk, forgottenPath(home), lines);
}

/** The positions of each ref when it was deleted: as long as a remote has one of them, the ref is not fetched again. */
export function readDeletedRefs(home: string): ReadonlyMap<string, ReadonlySet<Oid>> {
  const found = new Map<string, Set<Oid>>();
  for (const line of readLines(forgottenPath(home))) {
    const [, ref, oid] = /^(refs\/\S+) ([0-9a-f]{40}|[0-9a-f]{64})$/.exec(line) ?? [];
    if (ref === undefined || oid === undefined) continue;
    found.set(ref, (found.get(ref) ?? new Set()).add(parseOid(oid)));
  }
  return found;
}
