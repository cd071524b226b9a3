import type { Checkpoint, Listing } from '../../checkpoint/list.ts';
import type { Orch } from '../../orch.ts';
import { readPlan } from '../../orchestration-file/orchestration-file.ts';
import type { Resumption } from '../../orchestration-file/resumption.ts';
import {
  describeSession,
  findTakeover,
  type KnownSession,
  listShown,
  type SessionCondition,
  type SessionInfo,
  shownCondition,
} from '../../record/sessions.ts';
import type { EpicView } from '../../record/view.ts';
import { readAllViews, type UnreadableEpic } from '../../record/which/which-epic.ts';
import type { Millis } from '../../types.ts';
import {
  describeEpic,
  type EpicStatus,
  hasSeveralWriters,
  mainSession,
  nameMachine,
} from '../epic-status.ts';
import { findSession } from '../find-session.ts';
import { listEpicOrBegun } from './checkpoint-api.ts';

/** A session, with what only this clone knows about it. */
export type SessionDetails = {
  readonly session: SessionInfo;
  /** A session that died is interrupted, not failed. */
  readonly condition: SessionCondition;
  readonly reason: string | null;
  readonly startedAt: Millis;
  readonly seenAt: Millis;
  readonly endedAt: Millis | null;
  /** The process that works on it here. */
  readonly pid: number | null;
  /** The machine it ran on; null if only one clone worked on the epic. */
  readonly machine: string | null;
  /** The session of another clone that took it over while it ran. */
  readonly takenOver: { readonly number: number; readonly machine: string } | null;
};

function describeDetails(view: EpicView, known: KnownSession): SessionDetails {
  const { value, live } = known;
  const taker = findTakeover(known, view.state);
  return {
    session: describeSession(view, known),
    condition: shownCondition(known),
    reason: value.reason,
    startedAt: value.startedAt,
    seenAt: value.seenAt,
    endedAt: value.endedAt,
    pid: live?.holder.pid ?? null,
    machine: hasSeveralWriters(view) ? nameMachine(view, value) : null,
    takenOver: taker && { number: taker.number, machine: nameMachine(view, taker) },
  };
}

/** The status of an epic, and its main session. */
export type StatusDetails = { readonly status: EpicStatus; readonly main: SessionDetails | null };

/** Describes the status of an epic. */
export function describeStatus({ home, clock }: Orch, view: EpicView): StatusDetails {
  const main = mainSession(view, home);
  return { status: describeEpic(view, home, clock.now()), main: main && describeDetails(view, main) };
}

/** A session with its checkpoints. */
export type ShownSession = SessionDetails & {
  readonly checkpoints: readonly Checkpoint[];
  /** The checkpoints of the epic that cannot be read. */
  readonly damaged: Listing['damaged'];
  /** Recorded in it, and in no checkpoint yet. */
  readonly pendingEvents: number;
  /** The user's own plan, from ORCHESTRATION.yaml. */
  readonly plan: Resumption['plan'] | null;
};

/** Reads a session by its name, with its checkpoints. */
export async function readSession(
  orch: Orch,
  view: EpicView,
  name: string | undefined,
): Promise<ShownSession> {
  const known = findSession(view, orch.home, name);
  const { checkpoints, damaged } = await listEpicOrBegun(orch, view.epic);
  return {
    ...describeDetails(view, known),
    checkpoints: checkpoints.filter(({ sessionId }) => sessionId === known.id),
    damaged,
    pendingEvents: view.pending.filter(({ session }) => session === known.id).length,
    plan: await readPlan(orch),
  };
}

/** Lists the sessions of all epics, newest first. */
export async function listAllSessions(
  orch: Orch,
  limit: number,
): Promise<{ readonly sessions: readonly SessionDetails[]; readonly unreadable: readonly UnreadableEpic[] }> {
  const { views, unreadable } = await readAllViews(orch);
  const known = views.flatMap((view) => listShown(view, orch.home).map((session) => ({ view, session })));
  const newest = known.sort((a, b) => b.session.value.startedAt - a.session.value.startedAt).slice(0, limit);
  return { sessions: newest.map(({ view, session }) => describeDetails(view, session)), unreadable };
}
