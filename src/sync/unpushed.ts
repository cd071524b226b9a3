import { join } from 'node:path';
import { trackedPrefix } from '../checkpoint/document/names-in-git.ts';
import type { GitEngine } from '../git/engine.ts';
import type { Repository } from '../git/repository.ts';
import { journalFolder, listJournals, readJournalHeader } from '../journal/read.ts';
import type { SessionPorts } from '../record/ports.ts';
import { readView } from '../record/view.ts';
import type { WritePorts } from '../system/disk.ts';
import { readLines, writeLines } from '../system/line-file.ts';
import type { EpicId, Oid } from '../types.ts';

/*
 * The names of the remotes this clone has synced with, one per line. They lead to the refs of the remotes' epics without
 * listing those of all snapshots, of which there may be thousands.
 */

function syncedRemotesPath(home: string): string {
  return join(home, 'synced-remotes');
}

export function listSyncedRemotes(home: string): string[] {
  return readLines(syncedRemotesPath(home));
}

export async function addSyncedRemote(
  ports: WritePorts & { readonly home: string },
  key: string,
): Promise<void> {
  const known = listSyncedRemotes(ports.home);
  if (!known.includes(key)) await writeLines(ports, syncedRemotesPath(ports.home), [...known, key]);
}

/** Counting stops here: beyond this, the exact number tells a user nothing more. */
export const mostUnpushed = 1_000;

/**
 * Counts the checkpoints of each epic that are on no remote yet, as far as this clone knows without asking. Null if
 * this clone has never synced.
 */
export async function countUnpushed(
  {
    git,
    repository,
    home,
  }: { readonly git: GitEngine; readonly repository: Repository; readonly home: string },
  tips: ReadonlyMap<EpicId, Oid>,
): Promise<ReadonlyMap<EpicId, number> | null> {
  const remotes = listSyncedRemotes(home);
  if (remotes.length === 0) return null;
  const there = new Set<Oid>();
  for (const remote of remotes)
    for (const oid of (await git.listRefs(`${trackedPrefix(remote)}epics/`)).values()) there.add(oid);
  const counts = new Map([...tips.keys()].map((epic) => [epic, 0]));
  const from = [...tips.values()].filter((oid) => !there.has(oid));
  if (from.length === 0) return counts;
  const { listCommits } = await import('../git/objects/reachable.ts');
  const missing = await listCommits(repository, { from, without: [...there] }, 'Orch-Epic', mostUnpushed);
  for (const [epic] of counts) counts.set(epic, missing.filter(({ trailer }) => trailer === epic).length);
  return counts;
}

/** Events that are recorded in this clone but in no checkpoint yet. */
export type Unsaved = { readonly epicId: EpicId; readonly events: number };

export async function listUnsaved(ports: SessionPorts): Promise<Unsaved[]> {
  const folder = journalFolder(ports.home);
  const begun = listJournals(folder).flatMap((session) => readJournalHeader(folder, session)?.epic ?? []);
  const unsaved: Unsaved[] = [];
  for (const epicId of [...new Set(begun)].sort())
    unsaved.push({ epicId, events: (await readView(ports, epicId)).pending.length });
  return unsaved.filter(({ events }) => events > 0);
}
