import { join } from 'node:path';
import { hasCode, isOrchError, OrchError, systemCode, writeFailed } from '../errors.ts';
import { waitForRefLock } from '../git/ref-wait.ts';
import { fetchRefs } from '../git/remote.ts';
import { hideCredentials } from '../git/remote-error.ts';
import { idAlphabet } from '../ids.ts';
import { sleep } from '../system/clock.ts';
import { withLock } from '../system/lock.ts';
import type { Publication } from './publication.ts';
import { trackedRef } from './remote-refs.ts';
import { allow, isAllowed, type Shared } from './sync-consent.ts';
import { chooseOwn, type FoundFacts, readSyncFacts, type SyncPorts, type SyncRemote } from './sync-facts.ts';
import { type Difference, isAnywhere, planSync, type SyncWish } from './sync-plan.ts';
import { type Sending, type Sent, sendRefs } from './sync-send.ts';
import { openTally, type SyncResult, type Tally } from './sync-tally.ts';
import { noteSynced } from './synced-remotes.ts';

export type { SyncPorts, SyncRemote, SyncResult };

export type SyncRequest = SyncWish & {
  /** Asked before anything is published to an address for the first time; without a yes nothing is changed. */
  readonly mayPublish: (publication: Publication, remote: string) => Promise<boolean>;
};

/** So often a faster clone is waited for. */
const maxRounds = 12;

/**
 * Brings this clone and a remote together: fetches what is new there, joins each epic, sends what is new here, and does
 * it again where somebody else was faster. Nothing is forced, and nothing is taken away on either side.
 */
export async function syncWith(
  ports: SyncPorts,
  remote: SyncRemote,
  request: SyncRequest,
): Promise<SyncResult> {
  const lock = join(ports.home, 'locks', 'sync.lock');
  try {
    return await withLock(ports, lock, () => syncLocked(ports, remote, request));
  } catch (error) {
    throw systemCode(error) ? writeFailed('the sync could not be finished', error) : error;
  }
}

async function syncLocked(ports: SyncPorts, remote: SyncRemote, request: SyncRequest): Promise<SyncResult> {
  const tally = openTally();
  let maySend = isAllowed(ports.home, remote.remote.urls, sharedBy(request));
  for (let round = 1; ; round++) {
    const found = await readSyncFacts(ports, remote, !maySend);
    if (!isAnywhere(found, request)) throw nowhere(request);
    const facts = await fetchNew(ports, remote, found, request, tally);
    if (facts !== null) {
      maySend ||= await askToPublish(ports, remote, facts, request);
      if (!(await joinAndSend(ports, remote, facts, { ...request, maySend }, tally))) break;
    }
    if (round >= maxRounds) throw tooBusy(remote);
    await sleep((20 + 15 * round) * (1 + chance(ports)));
  }
  await noteSynced(ports, remote.key);
  return tally.finish(ports.repository, hideCredentials(remote.remote.name));
}

function chance({ random }: SyncPorts): number {
  return idAlphabet.indexOf(random.id(1)) / idAlphabet.length;
}

/** False where there is nothing to publish: fetching needs nobody's leave, and gives none to send. */
async function askToPublish(
  ports: SyncPorts,
  { remote }: SyncRemote,
  facts: FoundFacts,
  request: SyncRequest,
): Promise<boolean> {
  const { isEmpty, readPublication } = await import('./publication.ts');
  const publication = await readPublication(ports, facts, request);
  if (isEmpty(publication)) return false;
  const name = hideCredentials(remote.name);
  if (!(await request.mayPublish(publication, name))) throw notWanted(name);
  // A yes to one epic is none to all of them.
  if (request.epic === null) await allow(ports, remote.urls, sharedBy(request));
  return true;
}

function sharedBy({ snapshots }: SyncWish): Shared[] {
  return snapshots ? ['checkpoints', 'snapshots'] : ['checkpoints'];
}

/** Brings here what is new there, and knows it from then on; null where another process was at it. */
async function fetchNew(
  ports: SyncPorts,
  { remote, key }: SyncRemote,
  facts: FoundFacts,
  wish: SyncWish,
  tally: Tally,
): Promise<FoundFacts | null> {
  const { fetch } = planSync(facts, wish);
  try {
    await fetchRefs(
      remote,
      fetch.map(({ ref }) => ({ from: ref, to: trackedRef(key, ref) })),
    );
  } catch (error) {
    if (!hasCode(error, 'REF_CONFLICT')) throw error;
    const { lock } = error.data;
    if (typeof lock === 'string') await waitForRefLock(ports, lock);
    return null;
  }
  tally.fetched(fetch);
  const arrived = fetch.flatMap(({ ref, theirs }) => (theirs === null ? [] : [[ref, theirs] as const]));
  return { ...facts, tracked: new Map([...facts.tracked, ...arrived]) };
}

/** True where somebody moved the remote meanwhile: then all of it is done again. */
async function joinAndSend(
  ports: SyncPorts,
  { remote, key }: SyncRemote,
  facts: FoundFacts,
  wish: SyncWish & { readonly maySend: boolean },
  tally: Tally,
): Promise<boolean> {
  const plan = planSync(facts, wish);
  tally.skip(plan.skipped);
  const joined: Sending[] = [];
  for (const each of plan.join) {
    const sending = await joinOne(ports, each, tally);
    if (sending) joined.push(sending);
  }
  tally.return(facts.returning.filter((ref) => plan.join.some((each) => each.ref === ref)));
  const own = (await chooseOwn(ports, plan.send, facts.tracked)).filter(isHere);
  const sent = await sendOrTell({ remote, key }, wish.maySend ? [...joined, ...own] : [], tally);
  await noteSeen(ports, key, [...plan.seen.filter(isHere), ...sent.done]);
  // Two copies of a clone may have gone on with one session's snapshots: each keeps its own.
  for (const { ref } of sent.moved.filter(({ session }) => session !== null))
    tally.skip([{ ref, reason: 'the remote has other snapshots of this session' }]);
  return sent.moved.some(({ session }) => session === null);
}

function isHere(difference: Difference): difference is Sending {
  return difference.ours !== null;
}

/** Joins an epic; gives what is to be sent for it. One that cannot be joined does not keep the others. */
async function joinOne(ports: SyncPorts, difference: Difference, tally: Tally): Promise<Sending | null> {
  const { epic, ours, theirs } = difference;
  if (theirs === null) return null;
  const { joinEpic } = await import('./sync-join.ts');
  try {
    const { tip, ...joined } = await joinEpic(ports, epic, theirs);
    tally.joined({ ...joined, epic, before: ours, theirs, tip });
    return tip === theirs ? null : { ...difference, ours: tip };
  } catch (error) {
    if (!isOrchError(error)) throw error;
    tally.fail(error, epic);
    return null;
  }
}

/** A push that fails as a whole is told with what did work. */
async function sendOrTell({ remote }: SyncRemote, all: readonly Sending[], tally: Tally): Promise<Sent> {
  try {
    const sent = await sendRefs(remote, all);
    tally.sent(sent.done);
    for (const { sending, error } of sent.refused) tally.fail(error, sending.epic);
    return sent;
  } catch (error) {
    if (!isOrchError(error) || remote.signal?.aborted) throw error;
    tally.fail(error, null);
    return { done: [], moved: [], refused: [] };
  }
}

/** Notes what the remote has by now. Only a memory: where another process was faster, its word is as good. */
async function noteSeen({ git, report }: SyncPorts, key: string, seen: readonly Sending[]): Promise<void> {
  for (const each of seen) {
    const ref = trackedRef(key, each.ref);
    try {
      const from = await git.readRef(ref);
      if (from !== each.ours) await git.moveRefs([{ ref, from, to: each.ours }]);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT')) throw error;
      report(`${ref} was not noted: ${error.message}`);
    }
  }
}

function notWanted(remote: string): OrchError {
  return new OrchError('USAGE', `nothing was published to ${remote}, and your epics are as they were`, {
    hint: 'See all of what would be published with: orch sync --dry-run. Allow it with: orch sync -y',
    data: { remote },
  });
}

function nowhere({ epic }: SyncWish): OrchError {
  return new OrchError('EPIC_NOT_FOUND', `there is no epic ${epic}, neither here nor there`, {
    hint: 'See what is here with: orch status',
    data: { epicId: epic },
  });
}

function tooBusy({ remote }: SyncRemote): OrchError {
  return new OrchError(
    'REF_CONFLICT',
    `${hideCredentials(remote.name)} was moved by others again and again`,
    {
      hint: 'Nothing is lost: what is here is joined with what is there. Run the same command again.',
      data: { remote: hideCredentials(remote.name) },
    },
  );
}
