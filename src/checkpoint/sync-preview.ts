import { isHere } from '../git/reachable.ts';
import { hideCredentials } from '../git/remote-error.ts';
import type { EpicId } from '../types.ts';
import { type Publication, readPublication } from './publication.ts';
import { readSyncFacts, type SyncPorts, type SyncRemote } from './sync-facts.ts';
import { planSync, type Skipped, type SyncWish } from './sync-plan.ts';

/** What a sync would do now. */
export type SyncPreview = {
  readonly remote: string;
  readonly wouldPublish: Publication;
  /** Epics of which the remote has something that is not here. */
  readonly wouldFetch: readonly EpicId[];
  readonly skipped: readonly Skipped[];
};

/** Looks at both sides, and changes neither. */
export async function previewSync(
  ports: SyncPorts,
  remote: SyncRemote,
  wish: SyncWish,
): Promise<SyncPreview> {
  const facts = await readSyncFacts(ports, remote, true);
  const plan = planSync(facts, wish);
  const wouldFetch: EpicId[] = [];
  for (const { epic, ours, theirs } of plan.join) {
    if (theirs === null) continue;
    const isContained =
      ours !== null && (await isHere(ports.repository, theirs)) && (await ports.git.isAncestor(theirs, ours));
    if (!isContained) wouldFetch.push(epic);
  }
  return {
    remote: hideCredentials(remote.remote.name),
    wouldPublish: await readPublication(ports, facts, wish),
    wouldFetch,
    skipped: plan.skipped,
  };
}
