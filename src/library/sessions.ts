import { type Checkpoint, describeCommit, epicNotFound } from '../checkpoint/list.ts';
import { isOn } from '../checkpoint/policy.ts';
import { OrchError } from '../errors.ts';
import { parseEpicId, parseSessionId } from '../ids.ts';
import type { Orch } from '../orch.ts';
import { checkFacts } from '../session/clean.ts';
import { type EpicView, epicExists, readView } from '../session/context.ts';
import { describeSession, listSessions as listKnown, listShown, type SessionInfo } from '../session/fate.ts';
import { endSession, startSession as start } from '../session/lifecycle.ts';
import { checkLive, readLive } from '../session/live.ts';
import { record, type Target } from '../session/record.ts';
import { readAllViews } from '../session/resolve.ts';
import { describeEpic, type EpicStatus } from '../session/status.ts';
import { stopSession } from '../session/stop.ts';
import { type EpicId, type SessionId, type Trigger, triggers } from '../types.ts';
import { startInBackground } from './background.ts';
import { findNewFacts, generateEpicId, type OrchestrationContext, readContext } from './context.ts';
import { startTimer, stopTimer } from './timer.ts';
import { using, type Where } from './where.ts';

export type SessionConfig = {
  /** Made up where it is not given. */
  readonly epicId?: string;
  /** Go on from the newest session, with its brief. */
  readonly resume?: boolean;
  /** For the whole epic, in dollars; `+5` is five more than is spent now, `none` lifts it. */
  readonly budget?: number | string;
  /** Gives the session a process of its own, which looks after it until it is paused or completed. */
  readonly background?: boolean;
  readonly agent?: string;
  /** With `resume`: an older checkpoint to go on from. */
  readonly checkpoint?: string;
  /** Though another session on the epic may still run elsewhere. */
  readonly takeOver?: boolean;
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

/**
 * Starts a session that this process works on, with its start checkpoint and its timer; with `background` another
 * process does. If the process dies, the next session recovers it.
 */
export async function startSession(config: SessionConfig, where: Where = {}): Promise<StartedSession> {
  refuseConfig(config);
  const epic = config.epicId === undefined ? generateEpicId() : parseEpicId(config.epicId);
  return using(where, async (orch) => {
    if (config.background) {
      const { session: id, brief } = await startInBackground(orch, epic, config);
      const { session, context, checkpoint } = await describe(orch, epic, id);
      return { session, context, resumeBrief: brief, checkpoint };
    }
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
    startTimer(where, target);
    const { session, context } = await describe(orch, epic, target.session);
    const resumeBrief = handover?.brief.markdown ?? null;
    return { session, context, resumeBrief, checkpoint: stored?.checkpoint ?? null };
  });
}

function refuseConfig(config: unknown): void {
  const wrong = (message: string) =>
    new OrchError('USAGE', message, { hint: "Try: startSession({ epicId: 'my-feature', budget: 5 })" });
  if (typeof config !== 'object' || config === null) throw wrong('a session needs a config');
  const known = ['epicId', 'resume', 'budget', 'background', 'agent', 'checkpoint', 'takeOver'];
  const unknown = Object.keys(config).find((key) => !known.includes(key));
  if (unknown !== undefined) throw wrong(`a session has no setting ${JSON.stringify(unknown.slice(0, 80))}`);
  const { checkpoint, resume } = config as SessionConfig; // it is an object with no other keys
  if (checkpoint !== undefined && !resume) throw wrong('checkpoint goes with resume: true');
}

/** Goes on with an epic: recovers what a crash left, starts the next session, and hands over the brief. */
export async function resumeSession(
  epicId: string,
  options: Omit<SessionConfig, 'epicId' | 'resume'> = {},
  where: Where = {},
): Promise<StartedSession> {
  return startSession({ ...options, epicId, resume: true }, where);
}

/** What became of a session that was ended. */
export type EndedSession = { readonly session: SessionInfo; readonly checkpoint: Checkpoint | null };

/** Ends a session for now, with a checkpoint that has what the context holds and was not recorded yet. */
export async function pauseSession(
  session: SessionName,
  context: OrchestrationContext | null = null,
  reason: string | null = null,
  where: Where = {},
): Promise<EndedSession> {
  return end(session, context, 'pause', reason, where);
}

/** Calls the work done: ends the session, with a final checkpoint. */
export async function completeSession(
  session: SessionName,
  context: OrchestrationContext | null = null,
  reason: string | null = null,
  where: Where = {},
): Promise<EndedSession> {
  return end(session, context, 'complete', reason, where);
}

function end(
  name: SessionName,
  context: OrchestrationContext | null,
  how: 'pause' | 'complete',
  reason: string | null,
  where: Where,
) {
  return using(where, async (orch): Promise<EndedSession> => {
    const target = await findTarget(orch, name);
    const { epic, session: id } = target;
    const live = readLive(orch.home, id);
    if (live?.kind === 'supervised' && checkLive(live) === 'alive') {
      await recordContext(orch, target, context);
      await stopSession(orch, live, { want: how, reason });
      return describe(orch, epic, id);
    }
    const facts = await readNewFacts(orch, target, context);
    const { stored } = await endSession(orch, target, how, reason, { lastFacts: facts });
    stopTimer(id);
    const { session } = await describe(orch, epic, id);
    return { session, checkpoint: stored?.checkpoint ?? null };
  });
}

/** What a context holds and was not recorded yet. */
async function readNewFacts(orch: Orch, { epic, session }: Target, context: OrchestrationContext | null) {
  if (context === null) return [];
  if (context.sessionId !== session)
    throw new OrchError('USAGE', `this is the context of another session: ${context.sessionId}`, {
      hint: 'Give the context that startSession gave with the session',
      data: { sessionId: session },
    });
  const facts = findNewFacts(orch.random, context, (await readView(orch, epic)).state);
  await checkFacts(facts);
  return facts;
}

async function recordContext(orch: Orch, target: Target, context: OrchestrationContext | null) {
  const facts = await readNewFacts(orch, target, context);
  return facts.length === 0 ? null : record(orch, target, facts);
}

/**
 * Records what the context holds and was not recorded yet, and makes a checkpoint if the policy calls for one now: by
 * the clock, by what was recorded, by the money, or because of the trigger named, where the policy has it on. Null where
 * it does not.
 */
export async function checkCheckpointTrigger(
  session: SessionName,
  context: OrchestrationContext | null = null,
  trigger: Trigger | null = null,
  where: Where = {},
): Promise<Checkpoint | null> {
  return using(where, async (orch) => {
    const target = await findTarget(orch, session);
    if (trigger !== null && !triggers.includes(trigger))
      throw new OrchError('USAGE', `there is no trigger ${JSON.stringify(trigger)}`, {
        hint: `There are: ${triggers.join(', ')}`,
      });
    const made = (await recordContext(orch, target, context))?.stored ?? null;
    const ask = trigger !== null && isOn(target.settings.policy, trigger) ? { trigger, reason: null } : null;
    const stored = ask === null && made ? made : (await record(orch, target, [], ask)).stored;
    return stored?.checkpoint ?? null;
  });
}

/** The sessions of an epic, or of all, the newest first. */
export async function listSessions(epicId: string | null = null, where: Where = {}): Promise<SessionInfo[]> {
  const epic = epicId === null ? null : parseEpicId(epicId);
  return using(where, async (orch) => {
    const views = epic === null ? (await readAllViews(orch)).views : [await readExisting(orch, epic)];
    return views
      .flatMap((view) => listShown(view, orch.home).map((session) => describeSession(view, session)))
      .sort((a, b) => Date.parse(b.startedAt) - Date.parse(a.startedAt) || b.number - a.number);
  });
}

/** An epic that there is. */
export async function readExisting(orch: Orch, epic: EpicId): Promise<EpicView> {
  const view = await readView(orch, epic);
  if (!epicExists(view)) throw epicNotFound(epic);
  return view;
}

/** Where an epic stands: its session, last checkpoint, budget, and what is pending. */
export async function readStatus(epicId: string, where: Where = {}): Promise<EpicStatus> {
  const epic = parseEpicId(epicId);
  return using(where, async (orch) => describeEpic(await readView(orch, epic), orch.home, orch.clock.now()));
}

/** The session as the pump knows it. */
export async function findTarget(orch: Orch, name: SessionName): Promise<Target> {
  if (typeof name !== 'object' || name === null)
    throw new OrchError('USAGE', 'which session? Give what startSession gave, or { id, epicId }');
  const session = parseSessionId(name.id);
  const settings = readLive(orch.home, session)?.settings ?? (await orch.readSettings());
  return { epic: parseEpicId(name.epicId), session, settings };
}

async function describe(orch: Orch, epic: EpicId, id: SessionId) {
  const view = await readView(orch, epic);
  const known = listKnown(view, orch.home).find((session) => session.id === id);
  if (known === undefined) throw new Error(`session ${id} was recorded, and is not there`);
  const session = describeSession(view, known);
  const { number: sessionNumber, parentSessionId } = session;
  const context = readContext(view, { sessionId: id, sessionNumber, parentSessionId });
  return { session, context, checkpoint: view.saved && describeCommit(view.saved.commit) };
}
