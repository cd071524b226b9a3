import type { GitEngine } from '../git/engine.ts';
import type { Repository } from '../git/repository.ts';
import type { EpicId, Oid } from '../types.ts';
import { parseSharedRef, remotesPrefix, sharedPrefix } from './remote-refs.ts';

/** Counting stops here: nobody needs to know it exactly. */
export const mostUnpushed = 1_000;

/**
 * How many checkpoints of each epic are on no remote yet, as far as this clone knows; nobody is asked. Null where there
 * never was a sync: then nothing is missing anywhere.
 */
export async function countUnpushed(
  { git, repository }: { readonly git: GitEngine; readonly repository: Repository },
  tips: ReadonlyMap<EpicId, Oid>,
): Promise<ReadonlyMap<EpicId, number> | null> {
  const tracked = [...(await git.listRefs(remotesPrefix))].filter(([ref]) => isEpic(ref));
  if (tracked.length === 0) return null;
  const there = new Set(tracked.map(([, oid]) => oid));
  const counts = new Map([...tips.keys()].map((epic) => [epic, 0]));
  const from = [...tips.values()].filter((oid) => !there.has(oid));
  if (from.length === 0) return counts;
  const { listCommits } = await import('../git/reachable.ts');
  const missing = await listCommits(repository, { from, without: [...there] }, 'Orch-Epic', mostUnpushed);
  for (const [epic] of counts) counts.set(epic, missing.filter(({ trailer }) => trailer === epic).length);
  return counts;
}

function isEpic(ref: string): boolean {
  const [, name] = /\/(epics\/[^/]+)$/.exec(ref) ?? [];
  return name !== undefined && parseSharedRef(`${sharedPrefix}${name}`) !== null;
}
