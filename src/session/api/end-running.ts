import type { Checkpoint } from '../../checkpoint/list.ts';
import type { Budget } from '../../cost/budget.ts';
import { OrchError } from '../../errors.ts';
import type { StopRequest } from '../../journal/live.ts';
import type { Orch } from '../../orch.ts';
import {
  describeSession,
  explainTakeover,
  listSessions,
  type SessionCondition,
  type SessionInfo,
} from '../../record/sessions.ts';
import { type EpicView, readView } from '../../record/view.ts';
import { findRunningToEnd } from '../../record/which/which-session.ts';
import type { NamedProcess } from '../../system/process/process-table.ts';
import type { EpicId, SessionId } from '../../types.ts';
import { describeEpic, type EpicStatus } from '../epic-status.ts';
import { completeEnded } from '../lifecycle.ts';
import { recoverInterrupted } from '../recover.ts';
import { stopSession } from '../stop.ts';
import { explainMissingCode, listLeftOut } from './checkpoint-api.ts';

/** An epic after its session was ended. */
export type EndedHere = {
  readonly session: SessionInfo | null;
  readonly checkpoint: Checkpoint | null;
  readonly budget: Budget;
  /** Files that the session's last checkpoint left out. */
  readonly leftOut: Awaited<ReturnType<typeof listLeftOut>>;
  readonly condition: SessionCondition | null;
  /** Was the epic already completed, so that nothing changed? */
  readonly isUnchanged: boolean;
  /** Processes of its command that still run. */
  readonly left: readonly NamedProcess[];
  /** Did this session make the newest checkpoint? Another may have. */
  readonly isOwnCheckpoint: boolean;
  /** Explains that another clone took the session over while it ran. */
  readonly takenOver: string | null;
  /** The call's error if the session's last checkpoint was saved without the code. */
  readonly failure: OrchError | null;
  readonly status: EpicStatus;
  readonly view: EpicView;
};

/** Ends an epic's running session in this clone. Recovers an interrupted one, and can complete one that has ended. */
export async function endRunning(
  orch: Orch,
  before: EpicView,
  { want, reason, named }: StopRequest & { readonly named: SessionId | undefined },
): Promise<EndedHere> {
  const { epic } = before;
  const live = findRunningToEnd(orch, epic, named, want);
  const interrupted = listSessions(before, orch.home).find(({ condition }) => condition === 'interrupted');
  const complete = async () => completeEnded(orch, epic, await orch.readSettings(), reason);
  let left: readonly NamedProcess[] = [];
  let isUnchanged = false;
  if (live) left = await stopSession(orch, live, { want, reason });
  else if (interrupted) {
    await recoverInterrupted(orch, epic, await orch.readSettings());
    if (want === 'complete') await complete();
  } else if (want === 'complete') isUnchanged = (await complete()) === null;
  else throw nothingRuns(epic);
  const ended = await describeEnded(orch, epic, live?.session ?? interrupted?.id ?? null);
  return { ...ended, left, isUnchanged };
}

function nothingRuns(epic: EpicId): OrchError {
  return new OrchError('SESSION_NOT_FOUND', `no session of ${epic} is running here`, {
    hint: `See its status with: orch session status -e ${epic}`,
    data: { epicId: epic },
  });
}

async function describeEnded(orch: Orch, epic: EpicId, id: SessionId | null) {
  const view = await readView(orch, epic);
  const sessions = listSessions(view, orch.home);
  const session = sessions.find((known) => known.id === id) ?? sessions[0] ?? null;
  const status = describeEpic(view, orch.home, orch.clock.now());
  const { checkpoint, budget } = status;
  const isOwn = view.saved !== null && view.saved.document.sessionId === session?.id;
  const made = isOwn && checkpoint ? { checkpoint, document: view.saved.document } : null;
  return {
    session: session && describeSession(view, session),
    checkpoint,
    budget,
    leftOut: made ? await listLeftOut(orch, made.document) : [],
    condition: session?.condition ?? null,
    isOwnCheckpoint: made !== null,
    takenOver: session && explainTakeover(epic, session.id, view.state),
    failure: made && explainMissingCode(made),
    status,
    view,
  };
}
