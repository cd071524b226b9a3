import type { Stored } from '../checkpoint/store.ts';
import { parseSessionId } from '../ids.ts';
import type { Fact } from '../state/facts.ts';
import { statIfThere } from '../system/files.ts';
import type { EpicId, SessionId, Trigger } from '../types.ts';
import { journalFolder, journalPath } from './journal.ts';
import { checkLive, listLive } from './live.ts';
import { type Ask, type Outcome, record, recordInNew, type SessionPorts, type Target } from './record.ts';
import { defaultSettings, type SessionSettings } from './settings.ts';

/** Where facts go: into a session that runs here, or into one that is opened for the call. */
export type Place =
  | (Target & { readonly kind: 'running' })
  | {
      readonly kind: 'opened';
      readonly epic: EpicId;
      readonly settings: SessionSettings;
      readonly agent: string | null;
    };

export function makeSessionId({ random }: SessionPorts): SessionId {
  return parseSessionId(`sess-${random.id(6)}`);
}

/** Records facts in their place. A session that is opened for them ends with them, and leaves a checkpoint. */
export function recordIn(
  ports: SessionPorts,
  place: Place,
  facts: readonly Fact[],
  ask: Ask | null = null,
): Promise<Outcome> {
  if (place.kind === 'running') return recordInRunning(ports, place, facts, ask);
  const { epic, settings, agent } = place;
  const why: Ask = ask ?? { trigger: 'pause', reason: null, orLater: true };
  const session = makeSessionId(ports);
  const opening = {
    epic,
    session,
    agent,
    parentSessionId: null,
    settings,
    endsWith: { kind: 'session_paused' as const, reason: why.reason },
  };
  return recordInNew(ports, opening, facts, why);
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
