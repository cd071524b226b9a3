import { join } from 'node:path';
import type { Stored } from '../checkpoint/store.ts';
import { systemCode, writeFailed } from '../errors.ts';
import { snapshotRef } from '../git/snapshot-ref.ts';
import { nameFile, parseSessionId } from '../ids.ts';
import type { Fact } from '../state/facts.ts';
import { hasEnded } from '../state/transition.ts';
import { statIfThere } from '../system/files.ts';
import { withLock } from '../system/lock.ts';
import type { EpicId, Millis, SessionId, Trigger } from '../types.ts';
import { refuseSecretName } from './clean.ts';
import { type EpicView, readView } from './context.ts';
import { listSessions } from './fate.ts';
import { journalFolder, journalPath } from './journal.ts';
import { checkLive, listLive } from './live.ts';
import { liftedTime } from './pending.ts';
import { type Ask, type Outcome, record, recordInNew, type SessionPorts, type Target } from './record.ts';
import { defaultSettings, type SessionSettings } from './settings.ts';

/** Where facts go: into a session that runs here, or into one that is opened for the call. */
export type Place = (Target & { readonly kind: 'running' }) | OpenedPlace;

type OpenedPlace = {
  readonly kind: 'opened';
  readonly epic: EpicId;
  readonly settings: SessionSettings;
  readonly agent: string | null;
};

export function makeSessionId({ random }: SessionPorts): SessionId {
  return parseSessionId(`sess-${random.id(6)}`);
}

/**
 * Records facts in their place. Where no session runs, the calls of a day share one that is over between them: each
 * leaves a checkpoint.
 */
export async function recordIn(
  ports: SessionPorts,
  place: Place,
  facts: readonly Fact[],
  ask: Ask | null = null,
): Promise<Outcome> {
  if (place.kind === 'running') return recordInRunning(ports, place, facts, ask);
  const { epic } = place;
  const why: Ask = ask ?? { trigger: 'pause', reason: null, orLater: true };
  const endsWith = { kind: 'session_paused' as const, reason: why.reason };
  const recordWith = (shared: SessionId | null) => {
    const own = makeSessionId(ports);
    const where = shared === null ? { session: own } : { session: shared, journal: own };
    return recordInNew(ports, { ...place, ...where, parentSessionId: null, endsWith }, facts, why);
  };
  await refuseSecretName(ports, epic);
  const shared = await findShared(ports, place);
  if (shared !== null) return recordWith(shared);
  // Calls at the same moment wait for the first, instead of each beginning a session for the day.
  const lock = join(ports.home, 'locks', nameFile(epic, '.calls.lock'));
  const begun: Promise<Outcome>[] = [];
  const problem = await withLock(ports, lock, () => {
    begun[0] = findShared(ports, place).then(recordWith);
    return begun[0];
  }).then(
    () => null,
    (error: unknown) => error,
  );
  // Once it has begun, it is recorded or it says that it is not: a lock that could not be let go of changes neither.
  if (begun[0] !== undefined) return begun[0];
  throw systemCode(problem) ? writeFailed('the session could not be recorded', problem) : problem;
}

/** An agent that was started and not asked anything yet has a session without a journal: this begins it. */
async function recordInRunning(
  ports: SessionPorts,
  target: Target,
  facts: readonly Fact[],
  ask: Ask | null,
): Promise<Outcome> {
  const { session } = target;
  const waits = statIfThere(journalPath(journalFolder(ports.home), session)) === null;
  const begun = waits
    ? await (await import('./agent-begin.ts')).beginWaiting(ports, target, facts, ask)
    : null;
  return begun ?? record(ports, target, facts, ask);
}

/**
 * The session of this clone's earlier calls of the day. Only where nothing but calls came after it: the epic's newest
 * session is the one whose code and status count, so work in between makes the next call begin another.
 */
export async function findShared(
  ports: SessionPorts,
  { epic, settings, agent }: Pick<OpenedPlace, 'epic' | 'settings' | 'agent'>,
): Promise<SessionId | null> {
  const view = await readView(ports, epic);
  const today = dayOf(liftedTime(ports.clock.now(), view.state, view.pending));
  for (const { id, value } of listSessions(view, ports.home)) {
    if (!value.forCalls || !hasEnded(value.status) || dayOf(value.startedAt) !== today) return null;
    if (value.writer !== (await ports.identifyWriter()) || value.agent !== agent) continue;
    return (await isKeptHere(ports, view, id, settings)) ? id : null;
  }
  return null;
}

/**
 * Can its snapshots be gone on from? Clones that have one writer after the other (`ORCH_WRITER`) share its sessions, and
 * snapshots that do not stand on those before them could not be sent.
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

export type SaveRequest = {
  readonly trigger: Trigger;
  readonly reason: string | null;
  readonly facts: readonly Fact[];
  readonly agent: string | null;
};

/** Saves a checkpoint that somebody asked for: in the session that runs on the epic, or in one for this call. */
export async function saveByHand(
  ports: SessionPorts,
  epic: EpicId,
  { trigger, reason, facts, agent }: SaveRequest,
  settings: SessionSettings = defaultSettings,
): Promise<Stored> {
  const { stored } = await recordIn(ports, placeFor(ports, epic, settings, agent), facts, {
    trigger,
    reason,
  });
  if (stored === null) throw new Error('a checkpoint was asked for, and none was made');
  return stored;
}

/** The place for an epic's facts: the session that runs on it in this clone, where there is exactly one. */
export function placeFor(
  { home }: SessionPorts,
  epic: EpicId,
  settings: SessionSettings,
  agent: string | null,
): Place {
  const running = listLive(home).filter((live) => live.epic === epic && checkLive(live) === 'alive');
  const [only, ...others] = running;
  if (only === undefined || others.length > 0) return { kind: 'opened', epic, settings, agent };
  return { kind: 'running', epic, session: only.session, settings: only.settings };
}
