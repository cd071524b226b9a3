import type { GitEngine } from '../git/engine.ts';
import type { Repository } from '../git/repository.ts';
import type { EpicId, Oid } from '../types.ts';
import { trackedPrefix } from './remote-refs.ts';
import { listSyncedRemotes } from './synced-remotes.ts';

type UnpushedPorts = { readonly git: GitEngine; readonly repository: Repository; readonly home: string };

/** Counting stops here: nobody needs to know it exactly. */
export const mostUnpushed = 1_000;

/**
 * How many checkpoints of each epic are on no remote yet, as far as this clone knows; nobody is asked. Null where there
 * never was a sync: then nothing is missing anywhere.
 */
export async function countUnpushed(
  { git, repository, home }: UnpushedPorts,
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
  const { listCommits } = await import('../git/reachable.ts');
  const missing = await listCommits(repository, { from, without: [...there] }, 'Orch-Epic', mostUnpushed);
  for (const [epic] of counts) counts.set(epic, missing.filter(({ trailer }) => trailer === epic).length);
  return counts;
}
