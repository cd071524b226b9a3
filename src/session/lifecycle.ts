import { epicNotFound } from '../checkpoint/list.ts';
import { isOn } from '../checkpoint/policy.ts';
import type { Stored } from '../checkpoint/store.ts';
import { budgetOf } from '../state/current.ts';
import type { Fact } from '../state/facts.ts';
import { abandonFacts } from '../state/left-behind.ts';
import type { State } from '../state/lists.ts';
import { hasEnded } from '../state/transition.ts';
import type { EpicId, SessionId } from '../types.ts';
import { firstBudget, refuseOverBudget, setBudget } from './budget.ts';
import { claimEpic, isElsewhere } from './claim.ts';
import { type EpicView, epicExists, readView } from './context.ts';
import { isTakenOver, type KnownSession, listOwnJournals, listSessions } from './fate.ts';
import { type Handover, handOver } from './handover.ts';
import { findShared, makeSessionId } from './here.ts';
import { findLeftCode, type LeftCode } from './left-code.ts';
import { type LiveRecord, readLive, removeLive, writeLive } from './live.ts';
import { readOrchestration, withFacts } from './orchestration.ts';
import { type Outcome, record, recordInNew, type SessionPorts, type Target } from './record.ts';
import { type Recovered, recoverInterrupted } from './recover.ts';
import type { SessionSettings } from './settings.ts';

export type StartRequest = {
  /** Made up where it is not given. */
  readonly session?: SessionId;
  readonly epic: EpicId;
  readonly agent: string | null;
  /** As it was typed: `20`, `+20`, `none`. */
  readonly budget: string | null;
  /** Is it an agent that asks? It cannot raise its own budget. */
  readonly byAgent: boolean;
  readonly kind: LiveRecord['kind'];
  readonly worktree: string | null;
  readonly command: readonly string[] | null;
  readonly settings: SessionSettings;
  readonly takeOver: boolean;
  /** Goes on from the newest session; with a checkpoint's name, from there. */
  readonly resume: { readonly checkpoint: string | null } | null;
  /** What else is known of it at its beginning. */
  readonly facts?: readonly Fact[];
  /**
   * The same, where it follows from what the epic knows now that nobody else can change it: the epic is claimed, and
   * what dead sessions left is in. Whatever it throws, nothing has begun.
   */
  readonly findFacts?: (view: EpicView) => Promise<readonly Fact[]>;
};

/** A session that runs. */
export type Started = {
  readonly target: Target;
  readonly state: State;
  /** The start checkpoint, where the policy wants one. */
  readonly stored: Stored | null;
  /** What was left by sessions that had died. */
  readonly recovered: readonly Recovered[];
  /** What it has to know, where it goes on from another. */
  readonly handover: Handover | null;
  /** The code that belongs to that, newest first: the checkpoint's that was named, or what the sessions before it left. */
  readonly code: readonly LeftCode[];
};

/** Starts a session on an epic: recovers what a dead one left, sets the budget, and makes the start checkpoint. */
export async function startSession(ports: SessionPorts, request: StartRequest): Promise<Started> {
  const { epic, settings } = request;
  if (request.resume) await ports.bringEpic?.(epic, epicExists(await readView(ports, epic)));
  if (request.resume && !epicExists(await readView(ports, epic))) throw epicNotFound(epic);
  const session = request.session ?? makeSessionId(ports);
  const givenUp = await claimEpic(ports, { ...request, session });
  try {
    const recovered = await recoverInterrupted(ports, epic, settings, givenUp);
    const view = await readView(ports, epic);
    const parent = request.resume ? findParent(ports, view, request.takeOver) : null;
    const told = await readOrchestration(ports, view.state);
    const found = (await request.findFacts?.(view)) ?? [];
    const known = await withFacts(ports, view, session, told);
    const handover = request.resume ? await handOver(ports, known, request.resume.checkpoint) : null;
    const facts = [
      ...leaveBehind(view, handover),
      ...budgetFacts(request, ports.home, view.state),
      ...told,
      ...(request.facts ?? []),
      ...found,
    ];
    const code = handover === null ? [] : await findCode(ports, view, handover);
    const parentSessionId = parent?.id ?? null;
    const opening = { epic, session, agent: request.agent, parentSessionId, settings, endsWith: null };
    const ask = isOn(settings.policy, 'session_start') ? startAsk(handover) : null;
    const { state, stored } = await recordInNew(ports, opening, facts, ask);
    const live = readLive(ports.home, session);
    const base = stored?.checkpoint.snapshot;
    if (live && base) await writeLive(ports.disk, ports.home, ports.random, { ...live, base });
    return { target: { epic, session, settings }, state, stored, recovered, handover, code };
  } catch (error) {
    // This process does not work on it: if its journal began, the next session finds it interrupted.
    removeLive(ports.disk, ports.home, session);
    throw error;
  }
}

function findCode(ports: SessionPorts, view: EpicView, { named }: Handover) {
  return named ? [{ checkpoint: named, isOwn: false }] : findLeftCode(ports, view);
}

/** A session that continues from an older checkpoint leaves behind what was recorded after it. */
function leaveBehind({ saved, state }: EpicView, handover: Handover | null): Fact[] {
  if (!handover?.named || !handover.known || saved === null) return [];
  return abandonFacts({ ...handover.named, state: handover.known }, { ...saved.document, state });
}

function startAsk(handover: Handover | null) {
  const reason = handover?.from ? `Continues session ${handover.from.number}` : null;
  return { trigger: 'session_start' as const, reason, isRoutine: true as const };
}

/** The session that is gone on from: the epic's newest. */
function findParent(ports: SessionPorts, view: EpicView, takeOver: boolean): KnownSession | null {
  const sessions = listSessions(view, ports.home);
  const elsewhere = sessions.find((each) => each.fate === 'elsewhere' && !isTakenOver(each, sessions));
  if (elsewhere && !takeOver) {
    const { number, seenAt, host } = elsewhere.value;
    throw isElsewhere(view.epic, elsewhere.id, ports, { number, lastSeen: seenAt, host });
  }
  return sessions[0] ?? null;
}

function budgetFacts(request: StartRequest, home: string, state: State): Fact[] {
  const { epic, budget, settings, byAgent } = request;
  const facts: Fact[] =
    budget === null ? firstBudget(state, settings) : [setBudget(epic, state, budget, { byAgent, home })];
  const [set] = facts;
  const limit = set?.kind === 'budget_set' ? set.limit : budgetOf(state);
  refuseOverBudget(epic, state, limit);
  return facts;
}

/** How a session ends when somebody ends it. */
export type Ending = 'pause' | 'complete' | 'fail';

const endings = {
  pause: { kind: 'session_paused', trigger: 'pause' },
  complete: { kind: 'session_completed', trigger: 'complete' },
  fail: { kind: 'session_failed', trigger: 'error' },
} as const;

/** Ends a session that runs in this clone, with a checkpoint. */
export async function endSession(
  ports: SessionPorts,
  target: Target,
  how: Ending,
  reason: string | null,
  {
    lastFacts = [],
    isRoutine,
  }: { readonly lastFacts?: readonly Fact[]; readonly isRoutine?: true | undefined } = {},
): Promise<Outcome> {
  const { kind, trigger } = endings[how];
  const ask = { trigger, reason, isRoutine };
  const outcome = await record(ports, target, [...lastFacts, { kind, reason }], ask);
  removeLive(ports.disk, ports.home, target.session);
  return outcome;
}

/**
 * Calls an epic's work done where no session runs: its newest session is, or one that is opened to say so. Null where
 * it was done already.
 */
export async function completeEnded(
  ports: SessionPorts,
  epic: EpicId,
  settings: SessionSettings,
  reason: string | null,
): Promise<Outcome | null> {
  const view = await readView(ports, epic);
  const newest = listSessions(view, ports.home)[0];
  const status = newest?.value.status;
  if (status === 'completed') return null;
  const hasJournal = newest && listOwnJournals(view, ports.home).has(newest.id);
  if (newest && hasJournal && status && hasEnded(status))
    return endSession(ports, { epic, session: newest.id, settings }, 'complete', reason);
  const own = makeSessionId(ports);
  const isShared =
    newest && (await findShared(ports, { epic, settings, agent: newest.value.agent })) === newest.id;
  const where = isShared ? { session: newest.id, journal: own } : { session: own };
  const opening = {
    epic,
    ...where,
    agent: null,
    parentSessionId: newest?.id ?? null,
    settings,
    endsWith: { kind: 'session_completed' as const, reason },
  };
  return recordInNew(ports, opening, [], { trigger: 'complete', reason });
}
