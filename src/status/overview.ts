import { isOrchError } from '../errors.ts';
import { type HookFault, readHookFaults } from '../hooks/faults.ts';
import { isTaskOf } from '../ids.ts';
import type { Orch } from '../orch.ts';
import {
  findTakeover,
  type KnownSession,
  type SessionCondition,
  shownCondition,
} from '../record/sessions.ts';
import type { EpicView } from '../record/view.ts';
import { readAllViews, type UnreadableEpic } from '../record/which/which-epic.ts';
import { listAtWork } from '../session/at-work.ts';
import {
  describeEpic,
  type EpicStatus,
  isConvoyEpic,
  listElsewhere,
  mainSession,
  nameMachine,
} from '../session/epic-status.ts';
import { reportDamage } from '../session/find-session.ts';
import { isArchived } from '../state/epic-names.ts';
import { countUnpushed } from '../sync/unpushed.ts';
import type { EpicId, Oid } from '../types.ts';
import { formatInstant } from '../units.ts';
import { using, type Where } from '../where.ts';
import { suggestNext } from './next.ts';

/** A session, as `orch status` shows it. */
export type SessionState = {
  readonly sessionId: string;
  readonly number: number;
  readonly agent: string | null;
  readonly startedAt: string;
  readonly condition: SessionCondition;
  /** The condition for people: a session that died is interrupted, not failed. */
  readonly shownCondition: SessionCondition;
  /** The other machine it runs on, or `clone` for another clone on this machine; null if it runs here. */
  readonly runsOn: { readonly kind: 'clone' } | { readonly kind: 'machine'; readonly name: string } | null;
};

/** One epic, as `orch status` shows it. */
export type EpicOverview = {
  readonly status: EpicStatus & { readonly archived?: true; readonly unpushed?: number };
  /** Its main session, then the others that run here or died. */
  readonly sessions: readonly SessionState[];
  /** The numbers of further sessions that may be running in other clones. */
  readonly elsewhere: readonly number[];
  /** The session of another clone that took the main one over while it ran. */
  readonly takenOverBy: number | null;
  /** The newest checkpoint, if its code could not be saved, and why. */
  readonly withoutCode: { readonly seq: number; readonly reason: string } | null;
  /** Is it a convoy's? */
  readonly isConvoy: boolean;
  /** The command that continues it, if it waits for a person. */
  readonly next: string | null;
};

export type Overview = {
  readonly epics: readonly EpicOverview[];
  /** How many archived epics are left out. */
  readonly hidden: number;
  readonly unreadable: readonly UnreadableEpic[];
  /** Recent failures of agents' hooks. */
  readonly faults: readonly HookFault[];
};

export type OverviewOptions = {
  /** Include archived epics. */
  readonly all?: boolean;
  /** File names in suggested commands are relative to this folder. */
  readonly cwd?: string;
};

/** Reads the status of every epic: its sessions, budget, newest checkpoint and next command; last used first. */
export async function readOverview(options: OverviewOptions = {}, where: Where = {}): Promise<Overview> {
  return using(where, async (orch) => {
    const { views: found, unreadable } = await readAllViews(orch);
    const convoys = found.filter(isConvoyEpic).map(({ epic }) => epic);
    const isTask = (epic: EpicId) => convoys.some((convoy) => isTaskOf(epic, convoy));
    // The epics of a convoy's tasks are shown with the convoy.
    const own = found.filter(({ epic }) => !isTask(epic));
    const views = options.all ? found : own.filter(({ state }) => !isArchived(state));
    views.sort((a, b) => b.state.clock - a.state.clock);
    const unpushed = await countUnpushed(orch, tipsOf(views)).catch(reportUncounted(orch));
    for (const view of views) reportDamage(orch, view);
    return {
      epics: views.map((view) =>
        describeOverview(orch, view, unpushed && (unpushed.get(view.epic) ?? 0), options.cwd),
      ),
      hidden: options.all ? 0 : own.length - views.length,
      unreadable,
      faults: readHookFaults(orch.home, orch.clock.now()),
    };
  });
}

function describeOverview(
  orch: Orch,
  view: EpicView,
  unpushed: number | null,
  cwd: string | undefined,
): EpicOverview {
  const { home, host, repository } = orch;
  const status = describeEpic(view, home, orch.clock.now());
  const main = mainSession(view, home);
  const others = main === null ? [] : listAtWork(view, home).filter(({ id }) => id !== main.id);
  const { seq = 0, snapshotFailed } = view.saved?.document ?? {};
  const { worktree } = repository;
  return {
    status: {
      ...status,
      ...(isArchived(view.state) && { archived: true }),
      ...(unpushed !== null && { unpushed }),
    },
    sessions: main === null ? [] : [main, ...others].map((session) => describeState(view, session, host)),
    elsewhere: listElsewhere(view, home).map(({ value }) => value.number),
    takenOverBy: (main && findTakeover(main, view.state)?.number) ?? null,
    withoutCode: snapshotFailed === undefined ? null : { seq, reason: snapshotFailed },
    isConvoy: isConvoyEpic(view),
    next: suggestNext(view, status, { cwd: cwd ?? worktree ?? '.', worktree }),
  };
}

function describeState(view: EpicView, session: KnownSession, host: string | undefined): SessionState {
  const { id, value, condition } = session;
  const isElsewhere = condition === 'elsewhere' && value.host !== undefined;
  // The name of this machine would read as "here".
  const place = value.host === host ? ({ kind: 'clone' } as const) : null;
  return {
    sessionId: id,
    number: value.number,
    agent: value.agent,
    startedAt: formatInstant(value.startedAt),
    condition,
    shownCondition: shownCondition(session),
    runsOn: isElsewhere ? (place ?? { kind: 'machine', name: nameMachine(view, value) }) : null,
  };
}

/** A history with a gap cannot be counted; `orch doctor` lists what is missing. */
function reportUncounted(orch: Orch) {
  return (error: unknown) => {
    if (!isOrchError(error)) throw error;
    orch.report(`unpushed checkpoints could not be counted (${error.message}); see: orch doctor`);
    return null;
  };
}

function tipsOf(views: readonly EpicView[]): Map<EpicId, Oid> {
  return new Map(views.flatMap(({ epic, tip }) => (tip.oid === null ? [] : [[epic, tip.oid] as const])));
}
