import { readDeletedRefs } from '../checkpoint/deleted-refs.ts';
import { nameAddress, sharedPrefix, trackedPrefix } from '../checkpoint/document/names-in-git.ts';
import type { OwnRows } from '../checkpoint/restored-clone.ts';
import { readTip, type StorePorts } from '../checkpoint/tip.ts';
import { hasCode, OrchError } from '../errors.ts';
import type { GitEngine } from '../git/engine.ts';
import { isKnownAncestor } from '../git/objects/walk-history.ts';
import { listRemoteRefs, openRemote, type Remote, type RemoteOptions } from '../git/remote/remote.ts';
import type { Repository } from '../git/repository.ts';
import { listRemotes } from '../git/repository-facts.ts';
import { lookUp } from '../keyed.ts';
import type { EpicId, Oid, WriterId } from '../types.ts';
import type { Difference, Refs, SyncFacts } from './plan-sync.ts';

export type SyncPorts = StorePorts & {
  readonly repository: Repository;
  readonly identifyWriter: () => Promise<WriterId>;
  readonly readOwnRows: (epic: EpicId) => Promise<OwnRows>;
  /** Gives this clone a new name; null if the user pinned its name. */
  readonly renewWriter: () => Promise<WriterId | null>;
  readonly readConfig: () => Promise<{ readonly sync: { readonly budgets: 'ask' | 'accept' } }>;
};

/** A remote, and the name under which its refs are kept here. */
export type SyncRemote = { readonly remote: Remote; readonly key: string };

type RemoteChoice = RemoteOptions & {
  /** The name, URL or path that the user gave; null if none. */
  readonly given: string | null;
  /** The remote in the config, a file of the repository. */
  readonly configured: string;
  /** May orch talk to an address that only the config names, and no remote of git's? */
  readonly mayUseAddress: (address: string) => boolean | Promise<boolean>;
};

/**
 * Opens the remote to sync with: the given one, else the configured one, else the only one there is. An address in the
 * config that the user has not approved is ignored.
 */
export async function openSyncRemote(
  { repository, git }: { readonly repository: Repository; readonly git: GitEngine },
  { given, configured, mayUseAddress, ...options }: RemoteChoice,
): Promise<SyncRemote> {
  if (git.name !== 'native')
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'a sync needs git, and orch is running without it', {
      hint: 'Install git, and leave ORCH_ENGINE unset.',
    });
  const open = async (name: string): Promise<SyncRemote> => {
    const remote = await openRemote(repository, name, options);
    return { remote, key: remote.isNamed ? name : nameAddress(name) };
  };
  if (given !== null) return open(given);
  try {
    const chosen = await open(configured);
    return chosen.remote.isNamed || (await mayUseAddress(configured)) ? chosen : await open('origin');
  } catch (error) {
    if (!hasCode(error, 'REMOTE_NOT_FOUND')) throw error;
    const [only, ...others] = await listRemotes(repository);
    if (only === undefined || others.length > 0) throw error;
    return open(only);
  }
}

export type FoundFacts = SyncFacts & {
  /** Commits the remote has; with `all`, those of its branches and tags as well. */
  readonly there: readonly Oid[];
  /** Deleted here, but continued by others: they come back. */
  readonly returning: readonly string[];
};

/** Lists the refs of the remote and of this clone. */
export async function readSyncFacts(
  ports: SyncPorts,
  { remote, key }: SyncRemote,
  all: boolean,
): Promise<FoundFacts> {
  const found = await listRemoteRefs(remote, ...(all ? [] : [`${sharedPrefix}*`]));
  const theirs = new Map([...found].filter(([ref]) => ref.startsWith(sharedPrefix)));
  const ours = await ports.git.listRefs(sharedPrefix);
  const prefix = trackedPrefix(key);
  const tracked = [...(await ports.git.listRefs(prefix))].map(
    ([ref, oid]) => [`${sharedPrefix}${ref.slice(prefix.length)}`, oid] as const,
  );
  const deleted = await readDeleted(ports, ours, theirs);
  return { ours, theirs, tracked: new Map(tracked), ...deleted, there: [...new Set(found.values())] };
}

/** A ref that was deleted here stays away as long as the remote has no more of it than this clone had. */
async function readDeleted({ git, home }: SyncPorts, ours: Refs, theirs: Refs) {
  const keptAway = new Set<string>();
  const returning: string[] = [];
  for (const [ref, known] of readDeletedRefs(home)) {
    const there = theirs.get(ref);
    if (ours.has(ref) || there === undefined) continue;
    let isOld = known.has(there);
    for (const oid of known) isOld ||= await isKnownAncestor(git, there, oid);
    if (isOld) keptAway.add(ref);
    else returning.push(ref);
  }
  return { keptAway, returning };
}

/** Was this ref deleted here, and does the remote have no more than this clone had? */
export async function isDeletedHere(ports: SyncPorts, ref: string, theirs: Oid): Promise<boolean> {
  if ((await ports.git.readRef(ref)) !== null) return false;
  return (await readDeleted(ports, new Map(), new Map([[ref, theirs]]))).keptAway.has(ref);
}

/**
 * Chooses the snapshots that this clone should send. A clone made by copying has copies of other clones' snapshots:
 * they are sent only if the remote never had them.
 */
export async function chooseOwn(
  ports: SyncPorts,
  send: readonly Difference[],
  tracked: Refs,
): Promise<Difference[]> {
  const own: Difference[] = [];
  const writer = send.some(({ session }) => session !== null) ? await ports.identifyWriter() : null;
  for (const each of send) {
    if (each.session === null || !tracked.has(each.ref)) own.push(each);
    else if ((await readWriter(ports, each)) === writer) own.push(each);
  }
  return own;
}

async function readWriter(ports: SyncPorts, { epic, session }: Difference): Promise<WriterId | null> {
  const { state } = await readTip(ports, epic);
  return lookUp(state.sessions, session ?? '')?.value.writer ?? null;
}
