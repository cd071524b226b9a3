import { hasCode, OrchError } from '../errors.ts';
import { formatBaselineResult } from '../integration/baseline-view.ts';
import type { Orch } from '../orch.ts';
import { runBaseline } from '../session/baseline.ts';
import type { AgentPlan } from '../session/conversation.ts';
import { endSession, type Started, type StartRequest, startSession } from '../session/lifecycle.ts';
import type { End } from '../session/supervisor.ts';
import { explainUnrunnable } from '../system/command.ts';
import { catchSignals, type SignalWatch, statusOfSignal } from '../system/signals.ts';
import { askYesNo, canAsk } from './ask.ts';
import { attend } from './attend.ts';
import { goToBackground } from './background.ts';
import { chooseEpic, rememberEpic } from './choose.ts';
import { settleConfig } from './config-trust.ts';
import { chooseGates, type GateChoice } from './gates.ts';
import type { Context } from './run.ts';
import { openSessionLog, type SessionLog } from './session-log.ts';
import { type Call, textOf } from './spec.ts';
import { describeNow, report } from './start-report.ts';
import { makeRequest, planCommand, readRequest } from './start-request.ts';
import { showStart } from './start-view.ts';

/** `session start` and `session resume`: begins a session, and works on it until it ends. */
export async function runStart(context: Context, call: Call, resumes: boolean): Promise<number> {
  const [program] = call.rest;
  if (program !== undefined && context.json)
    throw new OrchError('USAGE', 'with a command, stdout is the command’s: --json has no place there', {
      hint: 'Have orch’s own JSON written to a file instead: --result FILE',
    });
  const obstacle = program === undefined ? null : explainUnrunnable(program, context.cwd);
  if (obstacle !== null)
    throw new OrchError('USAGE', `${program} cannot be run: ${obstacle}`, {
      hint: 'Check its name; nothing was started',
    });
  const file = textOf(call, 'result');
  if (file !== undefined) (await import('./result-file.ts')).refuseUnwritable(context.cwd, file);
  return context.withOrch(async (orch) => {
    if (context.settings.background === undefined) await settleConfig(context, orch);
    const asked = await readRequest(call);
    const epic = await chooseEpic(context, orch, textOf(call, 'epic'), !resumes, asked);
    // Which gates are skipped would else stand in the log alone.
    if (call.options.background && !context.settings.background) await chooseGates(context, orch, call);
    if (call.options.background && context.settings.background === undefined)
      return goToBackground(context, orch, epic);
    const plan = await planCommand(context, orch, call, epic, resumes);
    const request = await makeRequest(context, orch, call, epic, { resumes, plan });
    const { background } = context.settings;
    const log = background === undefined ? null : openSessionLog(orch, background);
    const signals = catchSignals();
    try {
      return await workInForeground(sayInto(context, log), orch, request, call, { log, signals, plan });
    } finally {
      signals.release();
      await log?.flush();
    }
  });
}

/** In the background, what there is to say goes to the session's log. */
function sayInto(context: Context, log: SessionLog | null): Context {
  return log === null ? context : { ...context, out: { ...context.out, tell: log.tell } };
}

async function follow({ out }: Context, orch: Orch, started: Started, call: Call, plan: AgentPlan | null) {
  const { followCommand } = await import('./conversation.ts');
  return followCommand(orch, started, call, plan, (text) => out.tell(text));
}

/**
 * Starts it; where nobody can tell whether another still runs, somebody at the terminal is asked. Null where a signal
 * came instead of an answer.
 */
async function startOrAsk(
  { out }: Context,
  orch: Orch,
  request: StartRequest,
  signals: SignalWatch,
): Promise<Started | null> {
  try {
    return await startSession(orch, request);
  } catch (error) {
    if (!hasCode(error, 'SESSION_ACTIVE') || error.data.reason !== 'elsewhere' || !canAsk()) throw error;
    out.tell(error.message);
    const isYes = await askYesNo('Take over?', signals.aborted);
    if (signals.caught() !== null) return null;
    if (!isYes) throw error;
    return startSession(orch, { ...request, takeOver: true });
  }
}

async function workInForeground(
  context: Context,
  orch: Orch,
  request: StartRequest,
  call: Call,
  around: {
    readonly log: SessionLog | null;
    readonly signals: SignalWatch;
    readonly plan: AgentPlan | null;
  },
): Promise<number> {
  const { out, json } = context;
  const { log, signals, plan } = around;
  const started = await startOrAsk(context, orch, request, signals);
  if (started === null) return statusOfSignal(signals.caught()?.signal ?? 'SIGINT');
  const { session, epic } = started.target;
  const number = started.state.sessions[session]?.value.number ?? 0;
  if (orch.takeSnapshot === null && request.settings.snapshot)
    orch.report('the files are not kept with the checkpoints: that needs a working tree and git');
  const brief = started.handover?.brief.markdown ?? null;
  if (!json) {
    for (const line of showStart(out, started, number)) out.tell(line);
    if (brief !== null && request.command === null) out.print(brief);
  }
  const said: string[] = [];
  if (started.code.length > 0) {
    const { offerCode } = await import('./start-code.ts');
    const tell = (text: string) => {
      said.push(text);
      out.tell(text);
    };
    const heard = { ...context, out: { ...out, tell } };
    await offerCode(heard, orch, started.target, started.code, signals.aborted);
  }
  await rememberEpic(orch, epic);
  let end: End;
  try {
    const chosen = await chooseGates(context, orch, call);
    const gates = chosen === 'skipped' ? null : chosen;
    if (call.options['require-green']) {
      if (chosen === 'skipped') await refuseUnchecked(orch, started);
      if (gates) await requireGreen(context, orch, started, gates, signals);
    }
    const document = { ...(await describeNow(orch, started)), baseline: null, brief };
    if (json) out.print(JSON.stringify(document));
    tellStarted(document, said);
    const isBeside = gates !== null && !call.options['require-green'];
    const beside = isBeside ? gates : null;
    const follower = request.command && (await follow(context, orch, started, call, plan));
    try {
      end = await attend(context, orch, started, call, { number, signals, beside, log, follower });
    } finally {
      follower?.close();
    }
  } catch (error) {
    await failSession(orch, started, error);
    throw error;
  }
  return report(context, orch, end, { started, number, call, brief });
}

/** To the process that sent this one to the background, for who waits there. */
function tellStarted(document: object, said: readonly string[]): void {
  if (process.connected) process.send?.({ started: document, said }, () => process.disconnect?.());
}

async function failSession(orch: Orch, { target }: Started, error: unknown): Promise<void> {
  if (hasCode(error, 'GATE_FAILED')) return; // it was paused for that
  const reason = error instanceof Error ? error.message : String(error);
  try {
    await endSession(orch, target, 'fail', reason);
  } catch (second) {
    // The session stays as it is in the journal; the next one finds it interrupted.
    orch.report(`the session could not be ended: ${second instanceof Error ? second.message : second}`);
  }
}

/** Gates that did not run are not green. */
async function refuseUnchecked(orch: Orch, { target }: Pick<Started, 'target'>): Promise<never> {
  await endSession(orch, target, 'pause', 'The gates were skipped');
  throw new OrchError('GATE_FAILED', 'every gate was skipped; the session was paused before any work', {
    hint: 'Run the gates by hand, which approves them: orch baseline',
    data: { gates: [] },
  });
}

async function requireGreen(
  { out }: Context,
  orch: Orch,
  { target }: Started,
  { gates, worktree }: GateChoice,
  signals: SignalWatch,
): Promise<void> {
  const place = { ...target, kind: 'running' as const };
  const result = await runBaseline(orch, {
    place,
    gates,
    worktree,
    atStart: true,
    signal: signals.aborted,
  });
  if (signals.caught()) return; // it ends for that, before any work
  out.tell(formatBaselineResult(result));
  if (result.gates.every(({ status }) => status === 'skipped')) return refuseUnchecked(orch, { target });
  if (result.passed) return;
  await endSession(orch, target, 'pause', 'The gates are red');
  throw new OrchError('GATE_FAILED', 'the gates are red; the session was paused before any work', {
    hint: 'Fix what they report, or start without --require-green',
    data: { gates: result.gates.filter(({ status }) => status !== 'passed').map(({ name }) => name) },
  });
}
