import { join } from 'node:path';
import type { Stored } from '../checkpoint/store.ts';
import { systemCode, writeFailed } from '../errors.ts';
import { snapshotRef } from '../git/snapshot/snapshot-message.ts';
import { nameFile } from '../ids.ts';
import { nextStampTime } from '../journal/pending.ts';
import { defaultSettings, type SessionSettings } from '../journal/session-settings.ts';
import { hasBegun, makeSessionId } from '../record/begin.ts';
import { refuseSecretName } from '../record/clean-facts.ts';
import type { SessionPorts } from '../record/ports.ts';
import { type Outcome, record } from '../record/record.ts';
import type { CheckpointRequest } from '../record/save.ts';
import { listSessions } from '../record/sessions.ts';
import { type EpicView, readView } from '../record/view.ts';
import { type CallsOfDay, type Destination, findDestination } from '../record/which/which-session.ts';
import type { Fact } from '../state/facts.ts';
import { hasEnded } from '../state/transition.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Millis, SessionId, Trigger } from '../types.ts';

/**
 * Records facts in the running session. While none runs, the calls of a day share a session that is paused between them,
 * and each call makes a checkpoint.
 */
export async function recordTo(
  ports: SessionPorts,
  destination: Destination,
  facts: readonly Fact[],
  request: CheckpointRequest | null = null,
): Promise<Outcome> {
  if (destination.kind === 'calls') return recordCall(ports, destination, facts, request);
  // An agent that waits for its first prompt has a session without a journal: this begins it.
  const begun = hasBegun(ports, destination.session)
    ? null
    : await (await import('./agent/begin-hooked.ts')).beginWaiting(ports, destination, facts, request);
  return begun ?? record(ports, destination, facts, request);
}

async function recordCall(
  ports: SessionPorts,
  calls: CallsOfDay,
  facts: readonly Fact[],
  request: CheckpointRequest | null,
): Promise<Outcome> {
  const { epic, settings, agent } = calls;
  const why: CheckpointRequest = request ?? { trigger: 'pause', reason: null, orLater: true };
  const endsWith = { kind: 'session_paused' as const, reason: why.reason };
  const recordIn = (shared: SessionId | null) => {
    const own = makeSessionId(ports);
    const where = shared === null ? { session: own } : { session: shared, journal: own };
    const about = { kind: 'new' as const, epic, settings, agent, parentSessionId: null, endsWith };
    return record(ports, { ...about, ...where }, facts, why);
  };
  await refuseSecretName(ports, epic);
  const shared = await findDaySession(ports, calls);
  if (shared !== null) return recordIn(shared);
  // Only one of several simultaneous calls may begin the day's session.
  const lock = join(ports.home, 'locks', nameFile(epic, '.calls.lock'));
  try {
    return await withLock(ports, lock, async () => recordIn(await findDaySession(ports, calls)));
  } catch (error) {
    throw systemCode(error) ? writeFailed('the session could not be recorded', error) : error;
  }
}

/**
 * Finds the session of this clone's earlier calls today, unless other work came after it: the epic's newest session
 * determines its code and status, so after other work the next call begins a new one.
 */
export async function findDaySession(
  ports: SessionPorts,
  { epic, settings, agent }: Omit<CallsOfDay, 'kind'>,
): Promise<SessionId | null> {
  const view = await readView(ports, epic);
  const today = dayOf(nextStampTime(ports.clock.now(), view.state, view.pending));
  for (const { id, value } of listSessions(view, ports.home)) {
    if (!value.forCalls || !hasEnded(value.status) || dayOf(value.startedAt) !== today) return null;
    if (value.writer !== (await ports.identifyWriter()) || value.agent !== agent) continue;
    return (await isKeptHere(ports, view, id, settings)) ? id : null;
  }
  return null;
}

/**
 * Can the session's next snapshot have its last one as parent? Clones that take turns with one writer id (`ORCH_WRITER`)
 * share its sessions, and a snapshot without its predecessors could not be pushed.
 */
async function isKeptHere(
  { git, takeSnapshot }: SessionPorts,
  { epic, saved }: EpicView,
  session: SessionId,
  settings: SessionSettings,
): Promise<boolean> {
  if (!settings.snapshot || takeSnapshot === null || !saved?.document.snapshot) return true;
  return (await git.readRef(snapshotRef(epic, session))) !== null;
}

const dayOf = (at: Millis): string => new Date(at).toDateString();

type SaveRequest = {
  readonly trigger: Trigger;
  readonly reason: string | null;
  readonly facts: readonly Fact[];
  readonly agent: string | null;
};

/** Saves a requested checkpoint in the epic's running session, or in that of the day's calls. */
export async function saveByHand(
  ports: SessionPorts,
  epic: EpicId,
  { trigger, reason, facts, agent }: SaveRequest,
  settings: SessionSettings = defaultSettings,
): Promise<Stored> {
  const destination = findDestination(ports, epic, settings, agent);
  const { stored } = await recordTo(ports, destination, facts, { trigger, reason });
  if (stored === null) throw new Error('the requested checkpoint was not made');
  return stored;
}
