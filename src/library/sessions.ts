import type { Checkpoint } from '../checkpoint/list.ts';
import { isOn } from '../checkpoint/policy.ts';
import type { Budget } from '../cost/budget.ts';
import { OrchError } from '../errors.ts';
import { parseEpicId, parseSessionId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { readView } from '../session/context.ts';
import { describeSession, listSessions, type SessionInfo } from '../session/fate.ts';
import { endSession, startSession as start } from '../session/lifecycle.ts';
import { readLive } from '../session/live.ts';
import { record, type Target } from '../session/record.ts';
import { describeEpic, describeMoney, type EpicStatus } from '../session/status.ts';
import type { SessionId, Trigger } from '../types.ts';
import { using, type Where } from './where.ts';

export type SessionConfig = {
  readonly epicId: string;
  /** Go on from the newest session, with its brief. */
  readonly resume?: boolean;
  /** For the whole epic, in dollars; `+5` is five more than is spent now, `none` lifts it. */
  readonly budget?: number | string;
  /** Only false: a program works in its own process. In the background is the command line's: `orch start --background`. */
  readonly background?: boolean;
  readonly agent?: string;
  /** With `resume`: an older checkpoint to go on from. */
  readonly checkpoint?: string;
  /** Though another session on the epic may still run elsewhere. */
  readonly takeOver?: boolean;
};

/** What a program needs to know while its session runs. */
export type OrchestrationContext = {
  readonly epicId: string;
  readonly sessionId: SessionId;
  readonly sessionNumber: number;
  readonly parentSessionId: SessionId | null;
  readonly budget: Budget;
};

export type StartedSession = {
  readonly session: SessionInfo;
  readonly context: OrchestrationContext;
  /** What the session before it left to know; null where there was none, or it does not go on from it. */
  readonly resumeBrief: string | null;
  readonly checkpoint: Checkpoint | null;
};

/** A session, by its id. */
export type SessionName = Pick<SessionInfo, 'id' | 'epicId'>;

/** Starts a session that this process works on, with its start checkpoint. If the process dies, the next one recovers it. */
export function startSession(config: SessionConfig, where: Where = {}): Promise<StartedSession> {
  const epic = parseEpicId(config.epicId);
  if (config.background)
    throw new OrchError('USAGE', 'a program cannot start a session in the background', {
      hint: `Run: orch start --background --epic ${epic} -- your-agent`,
    });
  return using(where, async (orch) => {
    const { target, handover, stored } = await start(orch, {
      epic,
      agent: config.agent ?? null,
      budget: config.budget === undefined ? null : String(config.budget),
      byAgent: false,
      kind: 'library',
      worktree: orch.repository.worktree,
      command: null,
      settings: await orch.readSettings(),
      takeOver: config.takeOver ?? false,
      resume: config.resume ? { checkpoint: config.checkpoint ?? null } : null,
    });
    const { session, context } = await describe(orch, target);
    const resumeBrief = handover?.brief.markdown ?? null;
    return { session, context, resumeBrief, checkpoint: stored?.checkpoint ?? null };
  });
}

/** Goes on with an epic: recovers what a crash left, starts the next session, and hands over the brief. */
export function resumeSession(
  epicId: string,
  options: Omit<SessionConfig, 'epicId' | 'resume'> = {},
  where: Where = {},
): Promise<StartedSession> {
  return startSession({ ...options, epicId, resume: true }, where);
}

/** What became of a session that was ended. */
export type EndedSession = { readonly session: SessionInfo; readonly checkpoint: Checkpoint | null };

/** Ends a session for now, with a checkpoint. */
export function pauseSession(
  session: SessionName,
  _context: OrchestrationContext | null = null,
  reason: string | null = null,
  where: Where = {},
): Promise<EndedSession> {
  return end(session, 'pause', reason, where);
}

/** Calls the work done: ends the session, with a final checkpoint. */
export function completeSession(
  session: SessionName,
  _context: OrchestrationContext | null = null,
  reason: string | null = null,
  where: Where = {},
): Promise<EndedSession> {
  return end(session, 'complete', reason, where);
}

function end(name: SessionName, how: 'pause' | 'complete', reason: string | null, where: Where) {
  return using(where, async (orch): Promise<EndedSession> => {
    const target = await findTarget(orch, name);
    const { stored } = await endSession(orch, target, how, reason);
    const { session } = await describe(orch, target);
    return { session, checkpoint: stored?.checkpoint ?? null };
  });
}

/**
 * Makes a checkpoint if the policy calls for one now: by the clock, by what was recorded, by the money, or because of
 * the trigger named, where the policy has it on. Null where it does not.
 */
export function checkCheckpointTrigger(
  session: SessionName,
  _context: OrchestrationContext | null = null,
  trigger: Trigger | null = null,
  where: Where = {},
): Promise<Checkpoint | null> {
  return using(where, async (orch) => {
    const target = await findTarget(orch, session);
    const ask = trigger !== null && isOn(target.settings.policy, trigger) ? { trigger, reason: null } : null;
    return (await record(orch, target, [], ask)).stored?.checkpoint ?? null;
  });
}

/** Where an epic stands: its session, last checkpoint, budget, and what is pending. */
export function readStatus(epicId: string, where: Where = {}): Promise<EpicStatus> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => describeEpic(await readView(orch, epic), orch.home, orch.clock.now()));
}

/** The session as the pump knows it. */
export async function findTarget(orch: Orch, { id, epicId }: SessionName): Promise<Target> {
  const session = parseSessionId(id);
  const settings = readLive(orch.home, session)?.settings ?? (await orch.readSettings());
  return { epic: parseEpicId(epicId), session, settings };
}

async function describe(orch: Orch, { epic, session: id }: Target) {
  const view = await readView(orch, epic);
  const known = listSessions(view, orch.home).find((session) => session.id === id);
  if (known === undefined) throw new Error(`session ${id} was recorded, and is not there`);
  const session = describeSession(view, known);
  const context: OrchestrationContext = {
    epicId: epic,
    sessionId: id,
    sessionNumber: session.number,
    parentSessionId: session.parentSessionId,
    budget: describeMoney(view.state),
  };
  return { session, context };
}
