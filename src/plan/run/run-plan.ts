import { relative, resolve } from 'node:path';
import { hasCode, isOrchError, OrchError } from '../../errors.ts';
import type { BaselineResult } from '../../gates/gate.ts';
import { requireGreen } from '../../gates/require-green.ts';
import type { SessionSettings } from '../../journal/session-settings.ts';
import type { Orch } from '../../orch.ts';
import type { SessionPorts } from '../../record/ports.ts';
import { readView } from '../../record/view.ts';
import { rememberEpic } from '../../record/which/last-used.ts';
import { type EpicChoice, resolveEpic, type UnreadableEpic } from '../../record/which/which-epic.ts';
import { realPath, writeAtomically } from '../../system/disk.ts';
import { type SignalWatch, watchAbort } from '../../system/process/signals.ts';
import { inheritedEnvironment } from '../../system/process/spawn.ts';
import type { TelemetryPorts } from '../../telemetry/telemetry.ts';
import type { EpicId, Millis, SessionId } from '../../types.ts';
import { using, type Where } from '../../where.ts';
import { chooseEffects, type EffectChoice } from '../effects/replan.ts';
import { loadPlan } from '../parse-plan.ts';
import type { Plan } from '../plan.ts';
import { runRollback } from '../rollback/run-rollback.ts';
import type { Workers } from '../task/do-task.ts';
import { choosePlanEpic, explainNoRun } from './choose-epic.ts';
import type { RunIntent, StartIntent } from './choose-run.ts';
import { findNamesake, findRun } from './known-runs.ts';
import {
  describeKnownRun,
  describeRun,
  describeStart,
  type RunEvent,
  type RunInfo,
  type RunResult,
  type RunStart,
} from './progress.ts';
import { formatRunReport } from './run-report.ts';
import { runTasks } from './run-tasks.ts';
import { type StartedRun, startRun } from './start-run.ts';
import { type RunTrace, traceRun } from './trace-run.ts';

/* Running a plan: choose its epic, start or resume a run, work through its tasks, report. */

export type RunFileRequest = {
  readonly plan: Plan;
  /** The absolute path of the plan's file. */
  readonly path: string;
  readonly intent: RunIntent;
  /** Effects of an earlier run, by id: send them as they are now, send them as planned, or count them as done. */
  readonly effects: Parameters<typeof chooseEffects>[0];
  readonly jobs: number;
  readonly budget: string | null;
  readonly takeOver: boolean;
  /** Run the gates first, and start only if they pass. */
  readonly requireGreen: boolean;
  /** The absolute path of the file that gets a Markdown report of the run. */
  readonly report: string | null;
  /** The epic that the user named with an option. */
  readonly epic: string | undefined;
  readonly environmentEpic: string | undefined;
  /** The session this call is part of. */
  readonly ownSession: SessionId | undefined;
  readonly byAgent: boolean;
  readonly isTrusted: boolean;
  /** The command that resumes this run, for hints. */
  readonly resumeCommand: string;
  readonly signals: SignalWatch;
  /** Gives tasks with a prompt to agents. */
  readonly convoy?: ConvoyHook;
  readonly onEvent: (event: RunFileEvent) => void;
};

/** What a run needs to give tasks to agents. */
export type ConvoyHook = {
  /** The folder where its commands run. */
  readonly findFolder: (epic: EpicId) => string;
  readonly open: (started: StartedRun, trace: RunTrace) => Promise<Workers>;
};

/** What happens while a plan's file is run. */
export type RunFileEvent =
  | RunEvent
  | { readonly kind: 'epic'; readonly choice: EpicChoice }
  | { readonly kind: 'elsewhere'; readonly message: string }
  | { readonly kind: 'unreadable'; readonly epics: readonly UnreadableEpic[] }
  | { readonly kind: 'gates'; readonly result: BaselineResult }
  | { readonly kind: 'start'; readonly start: RunStart };

export type RunFileOutcome =
  | (PlanOutcome & { readonly kind: 'ended'; readonly took: Millis })
  /** An earlier run is in the way; the error says what to do about it. */
  | { readonly kind: 'refused'; readonly run: RunInfo | null; readonly error: OrchError };

/** Runs a plan's file as `orch run` does: chooses the epic, checks the gates if asked to, and writes the report. */
export async function runPlanFile(orch: Orch, request: RunFileRequest): Promise<RunFileOutcome> {
  const { plan, path, intent, onEvent } = request;
  const onUnreadable = (epics: readonly UnreadableEpic[]) => onEvent({ kind: 'unreadable', epics });
  const chosen = await choosePlanEpic(orch, {
    plan,
    path,
    intent,
    given: request.epic,
    environment: request.environmentEpic,
    onUnreadable,
  });
  if (chosen.kind === 'refused') return chosen;
  const { epic } = chosen;
  if (chosen.kind === 'chosen') onEvent({ kind: 'epic', choice: chosen.choice });
  else if (chosen.message !== null) onEvent({ kind: 'elsewhere', message: chosen.message });
  if (request.requireGreen)
    await requireGreen(orch, epic, {
      isTrusted: request.isTrusted,
      onResult: (result) => onEvent({ kind: 'gates', result }),
    });
  const began = orch.clock.elapsed();
  let hasStarted = false;
  let outcome: PlanOutcome;
  const { intent: wanted } = request;
  if (wanted.kind === 'rollback') {
    outcome = await undoPlan(orch, request, epic);
    return { kind: 'ended', ...outcome, took: orch.clock.elapsed() - began };
  }
  try {
    outcome = await executePlan(orch, {
      ...request,
      intent: wanted,
      choices: chooseEffects(request.effects),
      epic,
      onStart: async (started) => {
        hasStarted = true;
        onEvent({ kind: 'start', start: describeStart(started) });
        await rememberEpic(orch, epic);
      },
    });
  } catch (error) {
    if (hasStarted) throw addResumeHint(error, request.resumeCommand);
    if (hasCode(error, 'SESSION_NOT_FOUND'))
      throw await explainNoRun(orch, { plan, path, onUnreadable }, epic, error);
    if (hasCode(error, 'RESUME_NEEDED') && error.data.isEarlier === true) {
      const run = await readLastRun(orch, plan, epic);
      return { kind: 'refused', run: run && describeKnownRun(plan, epic, run), error };
    }
    throw addStartHint(error, request.ownSession);
  }
  const took = orch.clock.elapsed() - began;
  if (request.report !== null) await writeReport(orch, request.report, plan, epic);
  return { kind: 'ended', ...outcome, took };
}

async function undoPlan(orch: Orch, request: RunFileRequest, epic: EpicId): Promise<PlanOutcome> {
  const { plan, path, budget, byAgent, takeOver, signals, onEvent } = request;
  const location = locatePlan(orch, path);
  const { worktree } = location;
  const settings = await orch.readSettings();
  return runRollback(orch, {
    plan,
    ...location,
    session: { epic, budget, byAgent, kind: 'supervised', worktree, settings, takeOver },
    findNamesake: (run) => findNamesake(location, run),
    signals,
    onEvent,
  });
}

type PlanPorts = SessionPorts &
  TelemetryPorts & {
    readonly repository: { readonly worktree: string | null };
    readonly readSettings: () => Promise<SessionSettings>;
  };

type ExecuteRequest = Pick<
  RunFileRequest,
  'plan' | 'jobs' | 'budget' | 'takeOver' | 'byAgent' | 'signals' | 'convoy'
> & {
  /** The absolute path of the plan's file; null if the plan is in no file. */
  readonly path: string | null;
  readonly intent: StartIntent;
  readonly choices: ReadonlyMap<string, EffectChoice>;
  readonly epic: EpicId;
  readonly onStart: (started: StartedRun) => Promise<void>;
  readonly onEvent: (event: RunEvent) => void;
};

/** The run, and how it ended; `result` is null if nothing was left to do. */
type PlanOutcome = { readonly run: RunInfo; readonly result: RunResult | null };

/** Starts or resumes a plan's run, and works on it until it ends. */
async function executePlan(ports: PlanPorts, request: ExecuteRequest): Promise<PlanOutcome> {
  const { plan, epic, intent, choices, budget, byAgent, takeOver, signals, jobs, onEvent } = request;
  const { convoy } = request;
  const located = locatePlan(ports, request.path);
  const worktree = convoy?.findFolder(epic) ?? located.worktree;
  const location = { ...located, worktree };
  const { env } = location;
  const read = await ports.readSettings();
  // The user's files are none of a convoy's business.
  const settings = convoy ? { ...read, snapshot: false } : read;
  const started = await startRun(ports, {
    plan,
    ...location,
    intent,
    choices,
    session: { epic, budget, byAgent, kind: 'supervised', worktree, settings, takeOver },
  });
  if (started.kind === 'finished') return { run: describeKnownRun(plan, epic, started.run), result: null };
  await request.onStart(started);
  const { run } = started;
  const trace = await traceRun(ports, started, convoy !== undefined);
  let result: RunResult | null = null;
  try {
    const workers = (await convoy?.open(started, trace)) ?? null;
    result = await runTasks(ports, started.started.target, run, {
      cwd: worktree,
      env: { ...env, ...trace.env },
      signals,
      jobs,
      workers,
      onEvent: (event) => {
        trace.hear(event);
        onEvent(event);
      },
    });
  } finally {
    await trace.close(result);
  }
  const { id, from, startedAt } = run;
  return { run: describeRun(result.plan, { id, epic, from, startedAt, ...result }), result };
}

/** Finds where a plan's tasks run, and where the plan's file is from there. */
export function locatePlan({ repository }: Pick<PlanPorts, 'repository'>, path: string | null) {
  const { worktree } = repository;
  if (worktree === null)
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no files for tasks to work on', {
      hint: 'Run it in a working tree',
    });
  const file = path === null ? null : relative(realPath(worktree), realPath(path));
  return { worktree, file, env: inheritedEnvironment() };
}

/**
 * Replaces the hint of an error that kept a run from starting with one that fits a run: a plain `orch resume` would
 * abandon the plan, and a task that ended the session in its way would end the run it is part of.
 */
function addStartHint(error: unknown, ownSession: string | undefined): unknown {
  if (hasCode(error, 'BUDGET_EXCEEDED'))
    return withHint(error, 'Raise the budget: the same command with --budget +10');
  if (hasCode(error, 'SESSION_ACTIVE') && ownSession !== undefined && error.data.sessionId === ownSession)
    return withHint(error, 'This command is part of that session. Give the run its own epic with --epic');
  return error;
}

/** Once a run has started, repeating the command could start another run that repeats what this one did. */
function addResumeHint(error: unknown, resumeCommand: string): unknown {
  return isOrchError(error)
    ? withHint(error, `Finished work is kept. Fix the problem, then resume: ${resumeCommand}`)
    : error;
}

function withHint({ code, message, data, cause }: OrchError, hint: string): OrchError {
  return new OrchError(code, message, { hint, data, cause });
}

async function readLastRun(orch: Orch, plan: Plan, epic: EpicId) {
  return findRun(orch.git, await readView(orch, epic), plan.name);
}

async function writeReport(orch: Orch, file: string, plan: Plan, epic: EpicId): Promise<void> {
  const run = await readLastRun(orch, plan, epic);
  if (run === null) return;
  const text = await orch.redact(formatRunReport({ epic, run, plan }));
  try {
    await writeAtomically(orch, file, text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new OrchError('WRITE_FAILED', `the run has ended, but ${file} could not be written: ${why}`, {
      hint: `See how the run ended: orch run --list -e ${epic}`,
      data: { file, run: run.id, status: run.head.status },
      cause,
    });
  }
}

export type RunPlanOptions = {
  /** The plan's own name by default. */
  readonly epicId?: string;
  /** Continue the newest run of the plan. */
  readonly resume?: boolean;
  /** Continue after this task, by its number or id, as a new run. */
  readonly resumeStep?: string | number;
  /** Start over, even if a run is unfinished. */
  readonly fresh?: boolean;
  /** How many tasks may run at once; one by default. */
  readonly jobs?: number;
  /** For the whole epic, in dollars; `+5` is five more than is spent now, `none` lifts it. */
  readonly budget?: number | string;
  /** Resume even if the run belongs to another clone. */
  readonly takeOver?: boolean;
  /** Ids of effects that were tried, are not acknowledged, and have changed since: send them as they are now. */
  readonly replan?: readonly string[];
  /** Ids of such effects to send as they were planned. */
  readonly asPlanned?: readonly string[];
  /** Ids of effects that are not acknowledged, to count as done. */
  readonly done?: readonly string[];
  /** Stops the running tasks; the run can be resumed. */
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: RunEvent) => void;
};

/** Runs a plan, from its file or made by a program, and returns how it ended. Failed tasks do not throw. */
export async function runPlan(
  plan: string | Plan,
  options: RunPlanOptions = {},
  where: Where = {},
): Promise<RunInfo> {
  const { epicId, resume, resumeStep, fresh, budget, replan = [], asPlanned = [], done = [] } = options;
  const intent: StartIntent =
    resumeStep !== undefined
      ? { kind: 'step', step: String(resumeStep) }
      : { kind: fresh ? 'fresh' : resume ? 'resume' : 'plain' };
  return using(where, async (orch) => {
    const loaded = typeof plan === 'string' ? loadPlan(plan) : plan;
    const { epic } = await resolveEpic(orch, { given: epicId, name: loaded.name, create: true });
    const outcome = await executePlan(orch, {
      plan: loaded,
      path: typeof plan === 'string' ? resolve(plan) : null,
      intent,
      choices: chooseEffects({ replan, as_planned: asPlanned, done }),
      epic,
      jobs: options.jobs ?? 1,
      budget: budget === undefined ? null : String(budget),
      takeOver: options.takeOver ?? false,
      byAgent: false,
      signals: watchAbort(options.signal ?? new AbortController().signal),
      onStart: async () => {},
      onEvent: options.onEvent ?? (() => {}),
    });
    return outcome.run;
  });
}
