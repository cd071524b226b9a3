import { countCommits, listAddedFiles, listCommits } from '../git/reachable.ts';
import type { Repository } from '../git/repository.ts';
import type { EpicId, Oid } from '../types.ts';
import { chooseOwn, type FoundFacts, type SyncPorts } from './sync-facts.ts';
import { type Difference, planSync, type SyncWish } from './sync-plan.ts';

/** What others could see after a sync that they cannot see now. */
export type Publication = {
  readonly epics: readonly { readonly epicId: EpicId; readonly checkpoints: number }[];
  readonly snapshots: number;
  /** Files that are in a snapshot and in no commit. */
  readonly untracked: readonly string[];
  /** The user's own commits that snapshots stand on. */
  readonly commits: readonly { readonly commit: Oid; readonly subject: string }[];
};

/** What a sync would show to others now. */
export async function readPublication(
  ports: SyncPorts,
  facts: FoundFacts,
  wish: SyncWish,
): Promise<Publication> {
  const { send, join } = planSync(facts, wish);
  const own = await chooseOwn(ports, send, facts.tracked);
  return describePublication(ports.repository, [...own, ...join], facts.there);
}

/** Looks through what would be sent. `there` are the commits the remote is known to have. */
async function describePublication(
  repository: Repository,
  send: readonly Difference[],
  there: readonly Oid[],
): Promise<Publication> {
  const epics: Publication['epics'][number][] = [];
  const snapshots: Oid[] = [];
  for (const { epic, session, ours } of send) {
    if (ours === null) continue;
    if (session !== null) snapshots.push(ours);
    else
      epics.push({
        epicId: epic,
        checkpoints: await countCommits(repository, { from: [ours], without: there }),
      });
  }
  const sent = await listCommits(repository, { from: snapshots, without: there }, 'Orch-Head');
  const isSnapshot = ({ trailer, subject }: { trailer: string; subject: string }) =>
    trailer !== '' && subject.startsWith('snapshot of ');
  const own = sent.filter(isSnapshot).map(({ oid }) => oid);
  return {
    epics: epics.filter(({ checkpoints }) => checkpoints > 0),
    snapshots: own.length,
    untracked: await listAddedFiles(repository, own),
    commits: sent
      .filter((commit) => !isSnapshot(commit))
      .map(({ oid, subject }) => ({ commit: oid, subject })),
  };
}

export function isEmpty({ epics, snapshots, commits }: Publication): boolean {
  return epics.length + snapshots + commits.length === 0;
}
