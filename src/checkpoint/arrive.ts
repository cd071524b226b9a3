import { isOrchError } from '../errors.ts';
import { isHere } from '../git/reachable.ts';
import { fetchRefs, listRemoteRefs } from '../git/remote.ts';
import { snapshotRef } from '../git/snapshot.ts';
import type { EpicId, Millis, Oid, SessionId } from '../types.ts';
import { remotesPrefix, trackedRef } from './remote-refs.ts';
import { isLetGo, type SyncPorts } from './sync-facts.ts';
import { joinEpic } from './sync-join.ts';
import { openSyncRemote } from './sync-remote.ts';
import { epicRef } from './tree.ts';

/* What a session that goes on here needs of another clone. Fetching needs nobody's leave; nothing is sent. */

/** Somebody waits for the session to begin. */
const patience: Millis = 20_000;

/**
 * Brings an epic up to what is known of it: joins what was fetched and not joined yet. One that is not here at all is
 * asked for at the remote, once. If that cannot be reached, it is said, and what is here stays as it is.
 */
export async function bringEpic(
  ports: SyncPorts,
  epic: EpicId,
  { remote, isKnown }: { readonly remote: string; readonly isKnown: boolean },
): Promise<void> {
  if (ports.git.name !== 'native') return;
  await joinFetched(ports, epic);
  if (isKnown || (await ports.git.readRef(epicRef(epic))) !== null) return;
  await fetchTold(ports, remote, epicRef(epic));
  await joinFetched(ports, epic);
}

/** Joins what fetches, ours or plain git's, brought of an epic. */
async function joinFetched(ports: SyncPorts, epic: EpicId): Promise<void> {
  for (const [ref, theirs] of await ports.git.listRefs(remotesPrefix)) {
    if (!ref.endsWith(`/epics/${epic}`)) continue;
    const ours = await ports.git.readRef(epicRef(epic));
    if (ours === theirs || (await isLetGo(ports, epicRef(epic), theirs))) continue;
    try {
      await joinEpic(ports, epic, theirs);
    } catch (error) {
      if (!isOrchError(error)) throw error;
      ports.report(`${epic}: what was fetched is not joined: ${error.message}`);
    }
  }
}

/**
 * Is a checkpoint's code here? Where it is not, its session's snapshots are asked for at the remote, once.
 */
export async function bringSnapshot(
  ports: SyncPorts,
  wanted: { readonly epic: EpicId; readonly session: SessionId; readonly commit: Oid },
  remote: string,
): Promise<boolean> {
  if (await isHere(ports.repository, wanted.commit)) return true;
  if (ports.git.name !== 'native') return false;
  await fetchTold(ports, remote, snapshotRef(wanted.epic, wanted.session));
  return isHere(ports.repository, wanted.commit);
}

/** Fetches a ref where the remote has it; says why not where it cannot be asked. */
async function fetchTold(ports: SyncPorts, configured: string, ref: string): Promise<void> {
  try {
    const { remote, key } = await openSyncRemote(ports, {
      given: null,
      configured,
      // The user did not ask for this fetch, so it talks only to remotes in git's own config.
      mayUseAddress: () => false,
      timeout: patience,
    });
    if (!(await listRemoteRefs(remote, ref)).has(ref)) return;
    await fetchRefs(remote, [{ from: ref, to: trackedRef(key, ref) }]);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    // Nowhere to ask is how most clones are.
    if (error.code !== 'REMOTE_NOT_FOUND') ports.report(`${error.message}; going on with what is here`);
  }
}
