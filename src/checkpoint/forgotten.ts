import { constants } from 'node:fs';
import { join } from 'node:path';
import { parseOid } from '../ids.ts';
import { type Disk, makeFolder, readTextIfThere, syncFolder, writeAll } from '../system/files.ts';
import type { Oid } from '../types.ts';

/*
 * What this clone let go of on purpose, so that the next sync does not bring it back: lines of `<ref> <commit>`, each
 * saying where a ref below refs/orchestration stood when it was deleted. Lines are only ever added.
 */

type ForgottenPorts = { readonly disk: Disk; readonly home: string };

function forgottenPath(home: string): string {
  return join(home, 'forgotten');
}

/** Notes, before refs are deleted, where they stand. On disk when it returns. */
export async function forgetAll(
  { disk, home }: ForgottenPorts,
  refs: readonly { readonly ref: string; readonly oid: Oid }[],
): Promise<void> {
  if (refs.length === 0) return;
  await makeFolder(disk, home);
  const { O_APPEND, O_CREAT, O_WRONLY } = constants;
  const fd = disk.open(forgottenPath(home), O_APPEND | O_CREAT | O_WRONLY, 0o644);
  try {
    // A line of its own, also behind one that a crash cut short.
    writeAll(disk, fd, Buffer.from(refs.map(({ ref, oid }) => `\n${ref} ${oid}\n`).join('')));
    await disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  await syncFolder(disk, home);
}

/** Where each ref stood when it was let go: as long as a remote has just that, it stays away. */
export function readForgotten(home: string): ReadonlyMap<string, ReadonlySet<Oid>> {
  const found = new Map<string, Set<Oid>>();
  for (const line of readTextIfThere(forgottenPath(home))?.split('\n') ?? []) {
    const [, ref, oid] = /^(refs\/\S+) ([0-9a-f]{40}|[0-9a-f]{64})$/.exec(line) ?? [];
    if (ref === undefined || oid === undefined) continue;
    found.set(ref, (found.get(ref) ?? new Set()).add(parseOid(oid)));
  }
  return found;
}
