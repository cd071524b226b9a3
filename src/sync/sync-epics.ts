import { join } from 'node:path';
import { trackedRef } from '../checkpoint/document/names-in-git.ts';
import { explainWrites, hasCode, isOrchError, OrchError } from '../errors.ts';
import { waitForRefLock } from '../git/refs/retry-on-conflict.ts';
import { fetchRefs } from '../git/remote/remote.ts';
import { hideCredentials } from '../git/remote/remote-errors.ts';
import { idAlphabet } from '../ids.ts';
import { sleep } from '../system/clock.ts';
import { withLock } from '../system/lock.ts';
import { type Difference, isAnywhere, planSync, type SyncScope } from './plan-sync.ts';
import {
  approve,
  isApproved,
  isEmpty,
  type Publication,
  readPublication,
  type Shared,
} from './publication.ts';
import { type Sending, type Sent, sendRefs } from './send-refs.ts';
import { chooseOwn, type FoundFacts, readSyncFacts, type SyncPorts, type SyncRemote } from './sync-facts.ts';
import { openTally, type SyncResult, type Tally } from './tally.ts';
import { addSyncedRemote } from './unpushed.ts';

type SyncRequest = SyncScope & {
  /** Called before anything is published to an address for the first time. If it returns false, the sync stops. */
  readonly mayPublish: (publication: Publication, remote: string) => Promise<boolean>;
};

/** How often to try again after another clone has pushed first. */
const maxRounds = 12;

/**
 * Syncs this clone with a remote: fetches what is new there, joins each epic, sends what is new here, and repeats that
 * if another clone pushed first. Nothing is forced, and nothing is deleted on either side.
 */
export async function syncWithRemote(
  ports: SyncPorts,
  remote: SyncRemote,
  request: SyncRequest,
): Promise<SyncResult> {
  const lock = join(ports.home, 'locks', 'sync.lock');
  return explainWrites('the sync could not be finished', () =>
    withLock(ports, lock, () => runRounds(ports, remote, request)),
  );
}

async function runRounds(ports: SyncPorts, remote: SyncRemote, request: SyncRequest): Promise<SyncResult> {
  const tally = openTally();
  let maySend = isApproved(ports.home, remote.remote.urls, sharedBy(request));
  for (let round = 1; ; round++) {
    const found = await readSyncFacts(ports, remote, !maySend);
    if (!isAnywhere(found, request)) throw unknownEpic(request);
    const facts = await fetchNew(ports, remote, found, request, tally);
    if (facts !== null) {
      maySend ||= await askToPublish(ports, remote, facts, request);
      const isOvertaken = await joinAndSend(ports, remote, facts, { ...request, maySend }, tally);
      if (!isOvertaken) break;
    }
    if (round >= maxRounds) throw remoteTooBusy(remote);
    await sleep((20 + 15 * round) * (1 + idAlphabet.indexOf(ports.random.id(1)) / idAlphabet.length));
  }
  await addSyncedRemote(ports, remote.key);
  return tally.finish(ports.repository, hideCredentials(remote.remote.name));
}

/** Asks the user, if there is anything to publish. Fetching alone needs no approval and gives none. */
async function askToPublish(
  ports: SyncPorts,
  { remote }: SyncRemote,
  facts: FoundFacts,
  request: SyncRequest,
): Promise<boolean> {
  const publication = await readPublication(ports, facts, request);
  if (isEmpty(publication)) return false;
  const name = hideCredentials(remote.name);
  if (!(await request.mayPublish(publication, name))) throw publishingDeclined(name);
  // Agreeing to publish one epic is not agreeing to publish all.
  if (request.epic === null) await approve(ports, remote.urls, sharedBy(request));
  return true;
}

function sharedBy({ snapshots }: SyncScope): Shared[] {
  return snapshots ? ['checkpoints', 'snapshots'] : ['checkpoints'];
}

/** Fetches what is new on the remote; null if another process holds one of the refs. */
async function fetchNew(
  ports: SyncPorts,
  { remote, key }: SyncRemote,
  facts: FoundFacts,
  scope: SyncScope,
  tally: Tally,
): Promise<FoundFacts | null> {
  const { fetch } = planSync(facts, scope);
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

/** Joins what was fetched and sends the rest. True if another clone pushed in the meantime: then all of it is repeated. */
async function joinAndSend(
  ports: SyncPorts,
  { remote, key }: SyncRemote,
  facts: FoundFacts,
  request: SyncScope & { readonly maySend: boolean },
  tally: Tally,
): Promise<boolean> {
  const plan = planSync(facts, request);
  tally.skipped(plan.skipped);
  const joined: Sending[] = [];
  for (const each of plan.join) {
    const sending = await joinOne(ports, each, tally);
    if (sending) joined.push(sending);
  }
  tally.returned(facts.returning.filter((ref) => plan.join.some((each) => each.ref === ref)));
  const own = (await chooseOwn(ports, plan.send, facts.tracked)).filter(isHere);
  const sent = await sendAll({ remote, key }, request.maySend ? [...joined, ...own] : [], tally);
  await updateTracked(ports, key, [...plan.seen.filter(isHere), ...sent.done]);
  // Two copies of a clone may both have continued a session: each keeps its own snapshots.
  for (const { ref } of sent.moved.filter(({ session }) => session !== null))
    tally.skipped([{ ref, reason: 'the remote has other snapshots of this session' }]);
  return sent.moved.some(({ session }) => session === null);
}

function isHere(difference: Difference): difference is Sending {
  return difference.ours !== null;
}

/** Joins an epic, and returns what has to be sent for it. If it cannot be joined, the others still are. */
async function joinOne(ports: SyncPorts, difference: Difference, tally: Tally): Promise<Sending | null> {
  const { epic, ours, theirs } = difference;
  if (theirs === null) return null;
  const { joinEpic } = await import('./join-epic.ts');
  try {
    const { tip, ...joined } = await joinEpic(ports, epic, theirs);
    tally.joined({ ...joined, epic, before: ours, theirs, tip });
    return tip === theirs ? null : { ...difference, ours: tip };
  } catch (error) {
    if (!isOrchError(error)) throw error;
    tally.failed(error, epic);
    return null;
  }
}

/** Sends refs. A push that fails as a whole goes into the result, next to what worked. */
async function sendAll({ remote }: SyncRemote, all: readonly Sending[], tally: Tally): Promise<Sent> {
  try {
    const sent = await sendRefs(remote, all);
    tally.sent(sent.done);
    for (const { sending, error } of sent.refused) tally.failed(error, sending.epic);
    return sent;
  } catch (error) {
    if (!isOrchError(error) || remote.signal?.aborted) throw error;
    tally.failed(error, null);
    return { done: [], moved: [], refused: [] };
  }
}

/** Updates what this clone knows of the remote. If another process updates it first, that is just as good. */
async function updateTracked(
  { git, report }: SyncPorts,
  key: string,
  seen: readonly Sending[],
): Promise<void> {
  for (const each of seen) {
    const ref = trackedRef(key, each.ref);
    try {
      const from = await git.readRef(ref);
      if (from !== each.ours) await git.moveRefs([{ ref, from, to: each.ours }]);
    } catch (error) {
      if (!hasCode(error, 'REF_CONFLICT')) throw error;
      report(`${ref} was not updated: ${error.message}`);
    }
  }
}

function publishingDeclined(remote: string): OrchError {
  return new OrchError('USAGE', `nothing was published to ${remote}, and your epics did not change`, {
    hint: 'See what would be published: orch sync --dry-run. To publish it: orch sync -y',
    data: { remote },
  });
}

function unknownEpic({ epic }: SyncScope): OrchError {
  return new OrchError('EPIC_NOT_FOUND', `there is no epic ${epic}, neither here nor on the remote`, {
    hint: 'See the epics in this clone: orch status',
    data: { epicId: epic },
  });
}

function remoteTooBusy({ remote }: SyncRemote): OrchError {
  const name = hideCredentials(remote.name);
  return new OrchError('REF_CONFLICT', `other clones kept pushing to ${name} first`, {
    hint: 'Nothing is lost: this clone has joined what is there. Run the same command again.',
    data: { remote: name },
  });
}
