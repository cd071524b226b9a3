import { resolve } from 'node:path';
import { type ErrorCode, OrchError } from '../../../errors.ts';
import {
  catchSignals,
  formatBaselineResult,
  formatResumeCommand,
  isConvoy,
  loadConvoyPlan,
  type Orch,
  type Plan,
  previewNewRun,
  previewResumedRun,
  previewUndo,
  type RunFileEvent,
  type RunFileOutcome,
  type RunFileRequest,
  runPlanFile,
  setValues,
} from '../../../index.ts';
import { realDisk } from '../../../system/disk.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { count } from '../../../units.ts';
import { budgetOption, epicOption, printChoice, printUnreadable } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { printJson } from '../../output.ts';
import { refuseUnwritable } from '../../result-file.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, readText } from '../../spec.ts';
import { formatClock } from '../../views/time-view.ts';
import { listRuns } from './run-list.ts';
import { showPreview, showUndo } from './run-preview.ts';
import { openRunScreen, showKept, showStart } from './run-progress.ts';

export const command = defineCommand({
  summary: 'run a plan of tasks; --resume continues after a crash',
  description:
    'Run the tasks of a plan, with a checkpoint after each. A run that was killed can be resumed, and tasks that succeeded do not run again. Tasks get ORCH_EPIC, ORCH_SESSION, ORCH_RUN, ORCH_TASK and ORCH_ATTEMPT. Within a task, "orch run set NAME VALUE" sets a value for the tasks after it.',
  argument: { name: 'plan', several: true, description: "the plan's file, or: set NAME VALUE" },
  options: [
    epicOption('the epic; by default the name of the plan'),
    { flags: '--resume', description: 'continue the newest run of the plan' },
    { flags: '--resume-step <task>', description: 'continue after this task (number or id), as a new run' },
    { flags: '--fresh', description: 'start over, even if a run is unfinished' },
    { flags: '--rollback', description: 'undo what the newest run did, what was done last first' },
    {
      flags: '--replan <effects>',
      description: 'with --resume: apply these effects as the plan defines them now',
    },
    {
      flags: '--as-planned <effects>',
      description: 'with --resume: apply these effects as they were planned',
    },
    { flags: '--done <effects>', description: 'with --resume: treat these effects as done' },
    {
      flags: '--require-green',
      description: 'run the gates first; exit 3 if one fails',
    },
    { flags: '--jobs <n>', description: 'how many tasks may run at once', initial: '1' },
    {
      flags: '--dry-run',
      description: 'show what would run, and why tasks wait; run and change nothing',
    },
    { flags: '--list', description: 'list the runs so far' },
    budgetOption,
    { flags: '--report <file>', description: 'write a report of the run as Markdown' },
    { flags: '--take-over', description: 'continue even if the run belongs to another clone' },
  ],
  examples: [
    'orch run release.yaml',
    'orch run release.yaml --resume',
    'orch run release.yaml --dry-run --jobs 4',
  ],
  run: async (context, call) => {
    if (call.options.list) return listRuns(context, call);
    const [file, ...more] = call.rest;
    if (file === undefined)
      throw new OrchError('USAGE', 'no plan named', { hint: 'Try: orch run release.yaml' });
    if (file === 'set' && more.length > 0) return setValue(context, more);
    if (more.length > 0)
      throw new OrchError('USAGE', `one plan at a time, not ${[file, ...more].slice(0, 5).join(' ')}`, {
        hint: `Try: orch run ${file}`,
      });
    const intent = readIntent(call);
    const jobs = readJobs(call);
    const path = resolve(context.cwd, file);
    const plan = loadConvoyPlan(path, file);
    if (isConvoy(plan)) {
      if (call.options['dry-run'] || intent.kind === 'step' || intent.kind === 'rollback')
        throw new OrchError(
          'USAGE',
          `${file} has tasks for agents: it is a convoy, which this option does not suit`,
          {
            hint: `See: orch convoy --help`,
          },
        );
      return (await import('../convoy/work-on.ts')).workOnFile(context, call, file, intent.kind);
    }
    const report = readText(call, 'report');
    if (report !== undefined) refuseUnwritable(context.cwd, report, '--report');
    const request = { plan, path, intent, jobs, effects: readEffects(call, intent) };
    const isDry = call.options['dry-run'] === true;
    if (isDry && intent.kind !== 'rollback' && !isOfEarlierRun(intent))
      return showPreview(context, plan, previewNewRun(plan, jobs), jobs);
    return context.withOrch(async (orch) => {
      await approveConfig(context, orch);
      return isDry ? preview(context, orch, call, request) : run(context, orch, call, request);
    });
  },
});

/** Sets a value for the tasks after the one this command is part of. */
async function setValue({ out, json, settings }: Context, words: readonly string[]): Promise<number> {
  const [name = '', ...value] = words;
  const { valuesFile } = settings;
  if (valuesFile === undefined)
    throw new OrchError('USAGE', 'orch run set works only within a task of orch run', {
      hint: 'To run a plan whose file is called set: orch run ./set',
    });
  await setValues(realDisk, valuesFile, { [name]: value.join(' ') });
  if (json) printJson(out, { set: { name, value: value.join(' ') } });
  return 0;
}

type Request = Pick<RunFileRequest, 'plan' | 'path' | 'intent' | 'jobs' | 'effects'>;

function readIntent(call: Call): RunFileRequest['intent'] {
  const { resume, fresh, rollback } = call.options;
  const step = readText(call, 'resume-step');
  if (rollback && (fresh || resume || step !== undefined))
    throw new OrchError('USAGE', '--rollback undoes a run: it cannot be combined with --resume or --fresh', {
      hint: 'Leave one of them out',
    });
  if (rollback) return { kind: 'rollback' };
  if (fresh && (resume || step !== undefined))
    throw new OrchError('USAGE', '--fresh starts over and --resume continues: they cannot be combined', {
      hint: 'Leave one of them out',
    });
  if (step !== undefined) return { kind: 'step', step };
  return { kind: fresh ? 'fresh' : resume ? 'resume' : 'plain' };
}

function isOfEarlierRun({ kind }: RunFileRequest['intent']): boolean {
  return kind === 'resume' || kind === 'step';
}

/** Reads `--replan tag,notify` and the like: what to do with effects that were not acknowledged. */
function readEffects(call: Call, intent: RunFileRequest['intent']): RunFileRequest['effects'] {
  const read = (name: string) => {
    const ids = readText(call, name)?.split(',') ?? [];
    if (ids.length > 0 && !isOfEarlierRun(intent))
      throw new OrchError('USAGE', `--${name} is about effects of an earlier run`, {
        hint: 'Add --resume',
      });
    return ids.map((id) => id.trim());
  };
  return { replan: read('replan'), as_planned: read('as-planned'), done: read('done') };
}

function readJobs(call: Call): number {
  const text = readText(call, 'jobs') ?? '1';
  const jobs = Number(text);
  if (/^\d+$/.test(text) && jobs >= 1 && jobs <= 256) return jobs;
  throw new OrchError('USAGE', `--jobs takes a whole number from 1 to 256, not ${text}`, {
    hint: 'Try: --jobs 4',
  });
}

async function preview(context: Context, orch: Orch, call: Call, request: Request): Promise<number> {
  const { intent } = request;
  const question = {
    ...request,
    given: readText(call, 'epic'),
    environment: context.settings.epic,
    takeOver: call.options['take-over'] === true,
    onUnreadable: (epics: Parameters<typeof printUnreadable>[1]) => printUnreadable(context, epics),
  };
  const found =
    intent.kind === 'rollback'
      ? await previewUndo(orch, question)
      : await previewResumedRun(orch, { ...question, intent });
  if (found.kind === 'refused') throw found.error;
  if (found.kind === 'chosen') printChoice(context, found.choice);
  else printElsewhere(context, found.message);
  if ('undo' in found) return showUndo(context, request.plan, found.undo);
  return showPreview(context, request.plan, found.preview, request.jobs);
}

function printElsewhere({ out, json }: Context, message: string | null): void {
  if (!json && message !== null) out.inform(out.paint('dim', message));
}

async function run(context: Context, orch: Orch, call: Call, request: Request): Promise<number> {
  const { out, json, settings, cwd } = context;
  const { plan } = request;
  const report = readText(call, 'report');
  const option = request.intent.kind === 'rollback' ? '--rollback' : '--resume';
  const resumeCommand = formatResumeCommand(call.argument ?? '', readText(call, 'epic') ?? null, option);
  const signals = catchSignals();
  const screen = openRunScreen(context, plan, orch.clock);
  const onEvent = (event: RunFileEvent) => {
    switch (event.kind) {
      case 'epic':
        return printChoice(context, event.choice);
      case 'elsewhere':
        return printElsewhere(context, event.message);
      case 'unreadable':
        return printUnreadable(context, event.epics);
      case 'gates':
        return json ? undefined : out.inform(formatBaselineResult(event.result));
      case 'start':
        for (const line of showStart(out, plan, event.start)) screen.inform(line);
        return;
      default:
        return screen.onEvent(event);
    }
  };
  try {
    const outcome = await runPlanFile(orch, {
      ...request,
      budget: readText(call, 'budget') ?? null,
      takeOver: call.options['take-over'] === true,
      requireGreen: call.options['require-green'] === true,
      report: report === undefined ? null : resolve(cwd, report),
      epic: readText(call, 'epic'),
      environmentEpic: settings.epic,
      ownSession: settings.session,
      byAgent: settings.byAgent,
      isTrusted: settings.trusted,
      resumeCommand,
      signals,
      onEvent,
    });
    screen.close();
    return showEnd(context, plan, outcome, resumeCommand, request.intent.kind === 'rollback');
  } finally {
    screen.close();
    signals.release();
  }
}

/** Prints how the run ended, as text or as JSON, and returns the exit status. */
function showEnd(
  { out, json }: Context,
  plan: Plan,
  outcome: RunFileOutcome,
  resumeCommand: string,
  isUndo: boolean,
): number {
  const { run } = outcome;
  if (json) printJson(out, { run });
  if (outcome.kind === 'refused') throw outcome.error;
  const { result, took } = outcome;
  if (result === null) {
    const isDone = outcome.run.status === 'succeeded';
    const why = isDone
      ? 'has already succeeded; nothing left to do'
      : 'is undone already; nothing left to undo';
    if (!json) out.print(`${plan.name}: ${outcome.run.id} ${why}`);
    return 0;
  }
  const { rollback } = result;
  if (!json && rollback) for (const line of showKept(rollback.kept)) out.inform(line);
  if (isUndo && rollback?.problem === null) {
    const saved = result.saved === null ? '' : `, ckpt ${result.saved}`;
    const undone = count(rollback.undone.length, 'step');
    if (!json)
      out.print(
        `${out.paint('green', '✓')} ${plan.name} rolled back: ${undone} undone  (${outcome.run.id}${saved})`,
      );
    return 0;
  }
  if (result.status === 'succeeded') {
    const saved = result.saved === null ? '' : `, ckpt ${result.saved}`;
    const tasks = count(plan.length, 'task');
    if (!json)
      out.print(
        `${out.paint('green', '✓')} ${plan.name}: ${tasks} in ${formatClock(took)}  (${outcome.run.id}${saved})`,
      );
    return 0;
  }
  if (result.why.kind === 'signal') {
    out.inform(`‖ ${plan.name} was stopped by ${result.why.signal}; completed tasks are kept.`);
    out.inform(`  Continue  ${resumeCommand}`);
    return statusOfSignal(result.why.signal);
  }
  throw describeFailure(outcome, plan, resumeCommand);
}

function describeFailure(
  { run, result }: Extract<RunFileOutcome, { kind: 'ended' }>,
  plan: Plan,
  resumeCommand: string,
): OrchError {
  const data = { run: run.id, plan: plan.name, epicId: run.epicId };
  const message = result?.reason ?? 'the run did not succeed';
  const fail = (code: ErrorCode, hint: string) => new OrchError(code, message, { hint, data });
  if (result?.why.kind === 'taken_over')
    return fail('SESSION_ACTIVE', 'It continues in the session that took it over');
  const { rollback } = result ?? {};
  if (rollback?.problem) {
    const command = resumeCommand.replace(' --resume', ' --rollback');
    return rollback.problem.kind === 'blocked'
      ? fail('TASK_FAILED', `Fix it, then continue the rollback: ${command}`)
      : fail('RESUME_NEEDED', `Continue the rollback: ${command}`);
  }
  if (rollback) return fail('TASK_FAILED', `Fix it, then do it again: ${resumeCommand}`);
  const blocked = [...(result?.effects.values() ?? [])].find(({ status }) => status === 'blocked');
  if (blocked?.reason?.includes('--replan'))
    return fail('TASK_FAILED', `Add the option you want to: ${resumeCommand}`);
  if (blocked)
    return fail(
      'TASK_FAILED',
      `Fix it, then resume: ${resumeCommand} (if you change the effect, add --replan ${blocked.id})`,
    );
  if (result?.status === 'failed' || result?.status === 'blocked')
    return fail('TASK_FAILED', `Fix it, then resume: ${resumeCommand}`);
  if (result?.why.kind === 'budget')
    return fail('BUDGET_EXCEEDED', `Continue with a higher budget: ${resumeCommand} --budget +10`);
  return fail('RESUME_NEEDED', `Resume it: ${resumeCommand}`);
}
