import { epicRef, remotesPrefix, trackedRef } from '../checkpoint/document/names-in-git.ts';
import { isOrchError } from '../errors.ts';
import { isCommitStored } from '../git/objects/reachable.ts';
import { fetchRefs, listRemoteRefs } from '../git/remote/remote.ts';
import { snapshotRef } from '../git/snapshot/snapshot.ts';
import type { EpicId, Millis, Oid, SessionId } from '../types.ts';
import { joinEpic } from './join-epic.ts';
import { isDeletedHere, openSyncRemote, type SyncPorts } from './sync-facts.ts';

/* What a session that continues here needs from other clones. Fetching needs no approval, and nothing is sent. */

/** A user is waiting for the session to begin. */
const fetchTimeout: Millis = 20_000;

/**
 * Joins into an epic what was fetched but not joined yet. If the epic is not here at all, it is fetched from the remote
 * first. If the remote cannot be reached, that is reported, and the session continues with what is here.
 */
export async function fetchEpic(
  ports: SyncPorts,
  epic: EpicId,
  { remote, isKnown }: { readonly remote: string; readonly isKnown: boolean },
): Promise<void> {
  if (ports.git.name !== 'native') return;
  await joinFetched(ports, epic);
  if (isKnown || (await ports.git.readRef(epicRef(epic))) !== null) return;
  await fetchRef(ports, remote, epicRef(epic));
  await joinFetched(ports, epic);
}

/** Joins what orch, or a plain `git fetch`, has fetched of an epic. */
async function joinFetched(ports: SyncPorts, epic: EpicId): Promise<void> {
  for (const [ref, theirs] of await ports.git.listRefs(remotesPrefix)) {
    if (!ref.endsWith(`/epics/${epic}`)) continue;
    const ours = await ports.git.readRef(epicRef(epic));
    if (ours === theirs || (await isDeletedHere(ports, epicRef(epic), theirs))) continue;
    try {
      await joinEpic(ports, epic, theirs);
    } catch (error) {
      if (!isOrchError(error)) throw error;
      ports.report(`${epic}: could not join what was fetched: ${error.message}`);
    }
  }
}

/** Fetches a session's snapshots if one of them is not here. Returns whether it is here now. */
export async function fetchSnapshot(
  ports: SyncPorts,
  wanted: { readonly epic: EpicId; readonly session: SessionId; readonly commit: Oid },
  remote: string,
): Promise<boolean> {
  if (await isCommitStored(ports.repository, wanted.commit)) return true;
  if (ports.git.name !== 'native') return false;
  await fetchRef(ports, remote, snapshotRef(wanted.epic, wanted.session));
  return isCommitStored(ports.repository, wanted.commit);
}

async function fetchRef(ports: SyncPorts, configured: string, ref: string): Promise<void> {
  try {
    const { remote, key } = await openSyncRemote(ports, {
      given: null,
      configured,
      // The user did not ask for this fetch, so it talks only to remotes in git's own config.
      mayUseAddress: () => false,
      timeout: fetchTimeout,
    });
    if (!(await listRemoteRefs(remote, ref)).has(ref)) return;
    await fetchRefs(remote, [{ from: ref, to: trackedRef(key, ref) }]);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    // Most clones have no remote.
    if (error.code !== 'REMOTE_NOT_FOUND') ports.report(`${error.message}; continuing with what is here`);
  }
}
