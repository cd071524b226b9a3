import { join } from 'node:path';
import { hash } from '../digest.ts';
import { explainWrites } from '../errors.ts';
import { countCommits, isCommitStored, listAddedFiles, listCommits } from '../git/objects/reachable.ts';
import { hideCredentials } from '../git/remote/remote-errors.ts';
import type { WritePorts } from '../system/disk.ts';
import { readLines, writeLines } from '../system/line-file.ts';
import type { EpicId, Oid } from '../types.ts';
import { planSync, type Skipped, type SyncScope } from './plan-sync.ts';
import { chooseOwn, type FoundFacts, readSyncFacts, type SyncPorts, type SyncRemote } from './sync-facts.ts';

/** What others could see after a sync that they cannot see now. */
export type Publication = {
  readonly epics: readonly { readonly epicId: EpicId; readonly checkpoints: number }[];
  readonly snapshots: number;
  /** Files that are in a snapshot but in no commit. */
  readonly untracked: readonly string[];
  /** The user's own commits that the snapshots build on. */
  readonly commits: readonly { readonly commit: Oid; readonly subject: string }[];
};

/** What a sync would do now. */
export type SyncPreview = {
  readonly remote: string;
  readonly wouldPublish: Publication;
  /** Epics for which the remote has something new. */
  readonly wouldFetch: readonly EpicId[];
  readonly skipped: readonly Skipped[];
};

/** Compares both sides and returns what a sync would do. Changes neither. */
export async function previewPublication(
  ports: SyncPorts,
  remote: SyncRemote,
  scope: SyncScope,
): Promise<SyncPreview> {
  const facts = await readSyncFacts(ports, remote, true);
  const plan = planSync(facts, scope);
  const wouldFetch: EpicId[] = [];
  for (const { epic, ours, theirs } of plan.join) {
    if (theirs === null) continue;
    const isContained =
      ours !== null &&
      (await isCommitStored(ports.repository, theirs)) &&
      (await ports.git.isAncestor(theirs, ours));
    if (!isContained) wouldFetch.push(epic);
  }
  return {
    remote: hideCredentials(remote.remote.name),
    wouldPublish: await readPublication(ports, facts, scope),
    wouldFetch,
    skipped: plan.skipped,
  };
}

/** Returns what a sync would make visible to others. */
export async function readPublication(
  ports: SyncPorts,
  facts: FoundFacts,
  scope: SyncScope,
): Promise<Publication> {
  const { repository } = ports;
  const { send, join: joined } = planSync(facts, scope);
  const epics: Publication['epics'][number][] = [];
  const snapshots: Oid[] = [];
  for (const { epic, session, ours } of [...(await chooseOwn(ports, send, facts.tracked)), ...joined]) {
    if (ours === null) continue;
    if (session !== null) snapshots.push(ours);
    else {
      const checkpoints = await countCommits(repository, { from: [ours], without: facts.there });
      if (checkpoints > 0) epics.push({ epicId: epic, checkpoints });
    }
  }
  const sent = await listCommits(repository, { from: snapshots, without: facts.there }, 'Orch-Head');
  const isSnapshot = ({ trailer, subject }: { trailer: string; subject: string }) =>
    trailer !== '' && subject.startsWith('snapshot of ');
  const own = sent.filter(isSnapshot).map(({ oid }) => oid);
  return {
    epics,
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

/*
 * The addresses that the user lets this clone publish to. They are kept in orch's folder, because git's config belongs
 * to the user; by address, because a remote's name can be pointed elsewhere; and as digests, because an address may
 * contain a password.
 */

/** Agreeing to share checkpoints is not agreeing to share copies of files. */
export type Shared = 'checkpoints' | 'snapshots';

function approvalsPath(home: string): string {
  return join(home, 'sync-allowed');
}

function readApprovals(home: string): string[] {
  return readLines(approvalsPath(home)).filter((line) => /^[0-9a-f]{64}$/.test(line));
}

function digestsOf(urls: readonly string[], what: readonly Shared[]): string[] {
  return urls.flatMap((url) => what.map((kind) => hash('sha256', `orch sync ${kind} ${url}`)));
}

/** Has the user agreed to publish all of these to all of these addresses? */
export function isApproved(home: string, urls: readonly string[], what: readonly Shared[]): boolean {
  const approved = new Set(readApprovals(home));
  return digestsOf(urls, what).every((digest) => approved.has(digest));
}

/** Stores that the user agreed. */
export async function approve(
  ports: WritePorts & { readonly home: string },
  urls: readonly string[],
  what: readonly Shared[],
): Promise<void> {
  const all = new Set([...readApprovals(ports.home), ...digestsOf(urls, what)]);
  await explainWrites('your answer could not be stored', () =>
    writeLines(ports, approvalsPath(ports.home), all),
  );
}
