import { hasCode } from '../errors.ts';
import { listRemoteRefs, type Remote } from '../git/remote.ts';
import type { Repository } from '../git/repository.ts';
import { lookUp } from '../keyed.ts';
import type { EpicId, Oid, WriterId } from '../types.ts';
import { readForgotten } from './forgotten.ts';
import { sharedPrefix, trackedPrefix } from './remote-refs.ts';
import type { OwnRows } from './set-back.ts';
import type { Difference, Refs, SyncFacts } from './sync-plan.ts';
import { readTip, type StorePorts } from './tip.ts';

export type SyncPorts = StorePorts & {
  readonly repository: Repository;
  readonly identifyWriter: () => Promise<WriterId>;
  readonly readOwnRows: (epic: EpicId) => Promise<OwnRows>;
  /** Gives this clone a new name; null where the user pinned it. */
  readonly renewWriter: () => Promise<WriterId | null>;
  readonly readConfig: () => Promise<{ readonly sync: { readonly budgets: 'ask' | 'accept' } }>;
};

/** A remote, and the name under which its refs are kept here. */
export type SyncRemote = { readonly remote: Remote; readonly key: string };

export type FoundFacts = SyncFacts & {
  /** Commits the remote has; with `all`, those of its branches and tags as well. */
  readonly there: readonly Oid[];
  /** Deleted here, and gone on with by others: they come back. */
  readonly returning: readonly string[];
};

/** Asks a remote what it has, and looks at what is here. */
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
  const { keptAway, returning } = await sortForgotten(ports, ours, theirs);
  return {
    ours,
    theirs,
    tracked: new Map(tracked),
    keptAway,
    returning,
    there: [...new Set(found.values())],
  };
}

/** What was let go of here stays away while a remote has just what it was then, or less. */
async function sortForgotten({ git, home }: SyncPorts, ours: Refs, theirs: Refs) {
  const keptAway = new Set<string>();
  const returning: string[] = [];
  for (const [ref, stood] of readForgotten(home)) {
    const there = theirs.get(ref);
    if (ours.has(ref) || there === undefined) continue;
    let isOld = stood.has(there);
    for (const oid of stood) isOld ||= await isKnownAncestor(git, there, oid);
    if (isOld) keptAway.add(ref);
    else returning.push(ref);
  }
  return { keptAway, returning };
}

/** Nothing is known of a commit that is not here. */
export async function isKnownAncestor(
  git: SyncPorts['git'],
  ancestor: Oid,
  descendant: Oid,
): Promise<boolean> {
  try {
    return await git.isAncestor(ancestor, descendant);
  } catch (error) {
    if (!hasCode(error, 'INTEGRITY')) throw error;
    return false;
  }
}

/** Was this epic let go of here, and has the remote no more than that? */
export async function isLetGo(ports: SyncPorts, ref: string, theirs: Oid): Promise<boolean> {
  const ours = await ports.git.readRef(ref);
  if (ours !== null) return false;
  return (await sortForgotten(ports, new Map(), new Map([[ref, theirs]]))).keptAway.has(ref);
}

/**
 * The snapshots that are this clone's to send. Of a session another clone recorded there may be a copy here, if this
 * clone was made by copying: it goes out only where the remote never had it.
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
    else if ((await writerOf(ports, each)) === writer) own.push(each);
  }
  return own;
}

async function writerOf(ports: SyncPorts, { epic, session }: Difference): Promise<WriterId | null> {
  const { state } = await readTip(ports, epic);
  return lookUp(state.sessions, session ?? '')?.value.writer ?? null;
}
