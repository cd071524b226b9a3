import { basename, resolve } from 'node:path';
import { exitStatuses, hasCode, OrchError } from '../../../errors.ts';
import {
  catchSignals,
  exitStatusOf,
  listLeftOut,
  type Orch,
  type OutputLog,
  openOutputLog,
  readPrompt,
  refuseWithoutCode,
  type SignalWatch,
  type SuperviseConfig,
  type SupervisedSession,
  sessionLogPath,
  superviseSession,
} from '../../../index.ts';
import { budgetOption, chooseEpic, epicOption } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { askYesNo, canAsk } from '../../confirm.ts';
import { refuseUnwritable, writeResult } from '../../result-file.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { runInBackground } from '../../session/background.ts';
import { showEnd } from '../../session/session-lines.ts';
import { openSessionScreen } from '../../session/session-screen.ts';
import { type Call, type Command, type OptionSpec, readText } from '../../spec.ts';

const sessionOptions: readonly OptionSpec[] = [
  budgetOption,
  { flags: '--agent <name>', description: 'name of the agent; by default the command' },
  { flags: '--no-baseline', description: 'do not run the gates' },
  { flags: '--require-green', description: 'run the gates first; exit 3 if one fails' },
  { flags: '--on-limit <what>', description: "at a provider's limit: wait (the default) or fail" },
  {
    flags: '--background',
    description: 'return once the session has started and its first checkpoint is saved',
  },
  { flags: '--complete', description: 'mark the work as done if the command succeeds' },
  { flags: '--take-over', description: 'start even if another session may still be running' },
  { flags: '--result <file>', description: 'write the result as JSON' },
  { flags: '--checkpoint <name>', description: 'continue from an older checkpoint', names: 'checkpoint' },
];

export const commands: { readonly [name: string]: Command } = {
  start: defineCommand({
    summary: 'start a session, alone or around an agent',
    description:
      'Start a session on an epic, in the foreground until Ctrl+C, or around a command. The command gets ORCH_EPIC, ORCH_SESSION and ORCH_BRIEF_FILE.',
    options: [
      epicOption('the epic; created if new'),
      { flags: '--resume', description: 'continue the newest session, with its brief' },
      ...sessionOptions,
    ],
    takesCommand: 'a command to run in the session',
    examples: [
      'orch start --epic feat-login --budget 5',
      'orch start -e migrate -b +20 -- claude -p "Continue the migration"',
      'orch start -e migrate --background -- ./agent.sh',
    ],
    run: (context, call) => runStart(context, call, false),
  }),

  resume: defineCommand({
    summary: 'continue an epic, with its brief',
    description:
      'Continue an epic: recover what a crash left, start the next session, and hand it the brief.',
    options: [epicOption(), ...sessionOptions],
    takesCommand: 'a command to run in the session',
    examples: ['orch resume', 'orch resume -e migrate --budget +10 -- codex exec "Continue"'],
    run: (context, call) => runStart(context, call, true),
  }),
};

/** Starts or resumes a session, and supervises it until it ends. */
async function runStart(context: Context, call: Call, resumes: boolean): Promise<number> {
  const { json, cwd, settings } = context;
  if (call.rest.length > 0 && json)
    throw new OrchError('USAGE', '--json cannot be used with a command: stdout belongs to the command', {
      hint: 'Have orch write its JSON to a file instead: --result FILE',
    });
  const file = readText(call, 'result');
  if (file !== undefined) refuseUnwritable(cwd, file);
  const config = readConfig(context, call, resumes);
  return context.withOrch(async (orch) => {
    const { background } = settings;
    if (background === undefined) await approveConfig(context, orch);
    const epic = await chooseEpic(context, orch, readText(call, 'epic'), !resumes, readPrompt(call.rest));
    if (call.options.background && background === undefined) return runInBackground(context, orch, epic);
    const log = background === undefined ? null : openOutputLog(orch, sessionLogPath(orch.home, background));
    const signals = catchSignals();
    try {
      return await superviseHere(
        withLog(context, log),
        orch,
        call,
        { ...config, epicId: epic },
        log,
        signals,
      );
    } finally {
      signals.release();
      await log?.flush();
    }
  });
}

function readConfig({ settings, cwd }: Context, call: Call, resumes: boolean): SuperviseConfig {
  const { options } = call;
  const [budget, agent, checkpoint] = [
    readText(call, 'budget'),
    readText(call, 'agent'),
    readText(call, 'checkpoint'),
  ];
  return {
    ...(settings.background && { sessionId: settings.background }),
    ...(settings.messages && { messages: settings.messages }),
    hidden: settings.hidden,
    ...(settings.traced && { traced: settings.traced }),
    ...(budget !== undefined && { budget }),
    ...(agent !== undefined && { agent }),
    ...(checkpoint !== undefined && { checkpoint }),
    command: call.rest,
    cwd,
    resume: resumes || options.resume === true || checkpoint !== undefined,
    byAgent: settings.byAgent,
    takeOver: options['take-over'] === true,
    completes: options.complete === true,
    onLimit: readLimitChoice(readText(call, 'on-limit') ?? 'wait'),
    gates: options['no-baseline'] ? 'none' : settings.trusted ? 'all' : 'approved',
    requireGreen: options['require-green'] === true,
    hasTerminal: process.stdin.isTTY === true,
  };
}

function readLimitChoice(text: string): 'wait' | 'fail' {
  if (text === 'wait' || text === 'fail') return text;
  throw new OrchError('USAGE', `--on-limit is ${JSON.stringify(text)}; it can be wait or fail`, {
    hint: 'Leave it out to wait',
  });
}

/** In the background, messages go to the session's log. */
function withLog(context: Context, log: OutputLog | null): Context {
  return log === null ? context : { ...context, out: { ...context.out, inform: log.tell } };
}

async function superviseHere(
  context: Context,
  orch: Orch,
  call: Call,
  config: SuperviseConfig,
  log: OutputLog | null,
  signals: SignalWatch,
): Promise<number> {
  const screen = openSessionScreen(context, call, orch.clock, signals);
  try {
    const ended = await superviseOrAsk(context, orch, {
      ...config,
      signals,
      chooseCode: screen.chooseCode,
      onEvent: screen.onEvent,
      ...(log && { onOutput: log.write }),
    });
    await log?.flush();
    screen.close();
    if (ended === null) return exitStatusOf({ kind: 'signal', signal: signals.caught()?.signal ?? 'SIGINT' });
    return await report(context, orch, call, ended);
  } finally {
    screen.close();
  }
}

/**
 * Supervises the session; if another one may still be running elsewhere, asks whether to take over. Returns null if a
 * signal arrived instead of an answer.
 */
async function superviseOrAsk(
  { out }: Context,
  orch: Orch,
  config: SuperviseConfig & { readonly signals: SignalWatch },
): Promise<SupervisedSession | null> {
  try {
    return await superviseSession(config, orch);
  } catch (error) {
    if (!hasCode(error, 'SESSION_ACTIVE') || error.data.reason !== 'elsewhere' || !canAsk()) throw error;
    const { signals } = config;
    out.inform(error.message);
    const isYes = await askYesNo('Take over?', signals.aborted);
    if (signals.caught() !== null) return null;
    if (!isYes) throw error;
    return superviseSession({ ...config, takeOver: true }, orch);
  }
}

/** Shows how the session ended, writes it to the --result file, and returns the exit status. */
async function report(
  { out, json, cwd }: Context,
  orch: Orch,
  call: Call,
  ended: SupervisedSession,
): Promise<number> {
  const { session, checkpoint, budget, brief, epicId, stopped, document, exitStatus } = ended;
  if (!json) for (const line of showEnd(out, ended, basename(call.rest[0] ?? 'orch'))) out.inform(line);
  const file = readText(call, 'result');
  if (file !== undefined) {
    const left = stopped?.left ?? [];
    await writeResult(orch, resolve(cwd, file), epicId, {
      ...{ session, checkpoint, budget, baseline: null, brief, exit: exitStatus },
      leftOut: document ? await listLeftOut(orch, document) : [],
      ...(left.length > 0 && { stillRunning: left }),
    });
  }
  const isCodeMissing = exitStatus === exitStatuses.SNAPSHOT_FAILED && exitStatusOf(ended.why) === 0;
  if (isCodeMissing && checkpoint && document) refuseWithoutCode({ checkpoint, document });
  // Without --json, the lines above already show the error.
  if (json && ended.error) throw ended.error;
  return exitStatus;
}
