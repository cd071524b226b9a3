import { resolve } from 'node:path';
import { type ErrorCode, hasCode, OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import type { Wish } from '../plan/choice.ts';
import { loadPlan } from '../plan/load.ts';
import type { RunResult } from '../plan/progress.ts';
import { chooseEffects, type EffectChoice } from '../plan/replan.ts';
import { type PlanOutcome, placeOf, workOnPlan } from '../plan/run-plan.ts';
import type { Plan } from '../plan/types.ts';
import { catchSignals, statusOfSignal } from '../system/signals.ts';
import { count } from '../units.ts';
import { epicOption, rememberEpic } from './choose.ts';
import { settleConfig } from './config-trust.ts';
import { formatClock } from './live-line.ts';
import { formatRunAgain } from './next.ts';
import { refuseUnwritable } from './result-file.ts';
import { type Context, runCommands } from './run.ts';
import { choosePlanEpic, explainNoRun } from './run-epic.ts';
import { requireGreen } from './run-gates.ts';
import { openRunShow } from './run-live.ts';
import { explainBreak, explainRefusal } from './run-refusal.ts';
import { describeLastRun, writeReport } from './run-report.ts';
import { showBegun } from './run-view.ts';
import { type Call, type CommandSpec, textOf } from './spec.ts';

export const runSpec: CommandSpec = {
  name: 'run',
  summary: 'run a plan of tasks; --resume continues after a crash',
  description:
    'Run the tasks of a plan, with a checkpoint after each. Killed at any point it can be resumed, and nothing that succeeded runs again. Tasks get ORCH_EPIC, ORCH_SESSION, ORCH_RUN, ORCH_TASK and ORCH_ATTEMPT.',
  argument: { name: 'plan', description: "the plan's file" },
  options: [
    epicOption('the epic; by default the name of the plan'),
    { flags: '--resume', description: 'continue the newest run of the plan' },
    { flags: '--resume-step <task>', description: 'continue after this task (number or id), as a new run' },
    { flags: '--fresh', description: 'start over, even if a run is unfinished' },
    { flags: '--replan <effects>', description: 'on resume: send these effects as the plan has them now' },
    { flags: '--as-planned <effects>', description: 'on resume: send them as they were planned' },
    { flags: '--done <effects>', description: 'on resume: count them as done' },
    {
      flags: '--require-green',
      description: 'run the gates first; exit 3 before anything begins if one fails',
    },
    { flags: '--jobs <n>', description: 'how many tasks may run at once', initial: '1' },
    {
      flags: '--dry-run',
      description: 'show what would be done, and why tasks wait; nothing is run or written',
    },
    { flags: '--list', description: 'the runs there were' },
    {
      flags: '-b, --budget <usd>',
      description: 'for the whole epic: 20 in all, +20 more than is spent now, none lifts it',
    },
    { flags: '--report <file>', description: 'write what became of the run as Markdown' },
    { flags: '--take-over', description: 'even if the run belongs to another clone' },
  ],
  examples: [
    'orch run release.yaml',
    'orch run release.yaml --resume',
    'orch run release.yaml --dry-run --jobs 4',
  ],
  run: async (context, call) => {
    if (call.options.list) return (await import('./run-list.ts')).listPlanRuns(context, call);
    const file = call.argument;
    if (file === undefined)
      throw new OrchError('USAGE', 'which plan? Name its file', { hint: 'Such as: orch run release.yaml' });
    const wish = readWish(call);
    const jobs = readJobs(call);
    const path = resolve(context.cwd, file);
    const plan = loadPlan(path, file);
    const reportFile = textOf(call, 'report');
    if (reportFile !== undefined) refuseUnwritable(context.cwd, reportFile, '--report');
    const choices = readChoices(call, wish);
    if (call.options['dry-run'] && (wish.kind === 'plain' || wish.kind === 'fresh'))
      return (await import('./run-dry.ts')).previewNew(context, plan, jobs);
    return context.withOrch(async (orch) => {
      await settleConfig(context, orch);
      return runPlan(context, orch, call, { plan, path, file, wish, choices, jobs });
    });
  },
};

function readWish(call: Call): Wish {
  const { resume, fresh } = call.options;
  const step = textOf(call, 'resume-step');
  if (fresh && (resume || step !== undefined))
    throw new OrchError('USAGE', '--fresh starts over and --resume continues: they cannot be combined', {
      hint: 'Leave one of them out',
    });
  if (step !== undefined) return { kind: 'step', step };
  return { kind: fresh ? 'fresh' : resume ? 'resume' : 'plain' };
}

/** `--replan tag,notify`: what becomes of effects that are not acknowledged. */
function readChoices(call: Call, wish: Wish): ReadonlyMap<string, EffectChoice> {
  const read = (name: string) => {
    const ids =
      textOf(call, name)
        ?.split(',')
        .map((id) => id.trim()) ?? [];
    if (ids.length > 0 && (wish.kind === 'plain' || wish.kind === 'fresh'))
      throw new OrchError('USAGE', `--${name} says what becomes of an effect of an earlier run`, {
        hint: 'Add --resume',
      });
    return ids;
  };
  return chooseEffects({ replan: read('replan'), as_planned: read('as-planned'), done: read('done') });
}

function readJobs(call: Call): number {
  const text = textOf(call, 'jobs') ?? '1';
  const jobs = Number(text);
  if (/^\d+$/.test(text) && jobs >= 1 && jobs <= 256) return jobs;
  throw new OrchError('USAGE', `--jobs ${text}: it is a whole number from 1 to 256`, {
    hint: 'Try: --jobs 4',
  });
}

type Wanted = {
  readonly plan: Plan;
  readonly path: string;
  /** As the user called it. */
  readonly file: string;
  readonly wish: Wish;
  readonly choices: ReadonlyMap<string, EffectChoice>;
  readonly jobs: number;
};

async function runPlan(context: Context, orch: Orch, call: Call, wanted: Wanted): Promise<number> {
  const { out, json, settings } = context;
  const { plan, path, wish, choices, jobs } = wanted;
  const epic = await choosePlanEpic(context, orch, textOf(call, 'epic'), wanted);
  const takeOver = call.options['take-over'] === true;
  if (call.options['dry-run']) {
    const { previewResumed } = await import('./run-dry.ts');
    const request = { plan, ...placeOf(orch, path), wish, choices, session: { epic, takeOver } };
    return previewResumed(context, orch, request, jobs);
  }
  if (call.options['require-green']) await requireGreen(context, orch, epic);
  const signals = catchSignals();
  const show = openRunShow(context, plan, orch.clock);
  const began = orch.clock.elapsed();
  const goOn = formatRunAgain(wanted.file, textOf(call, 'epic') ?? null);
  let hasBegun = false;
  try {
    const outcome = await workOnPlan(orch, {
      plan,
      path,
      wish,
      choices,
      epic,
      jobs,
      budget: textOf(call, 'budget') ?? null,
      takeOver,
      byAgent: settings.byAgent,
      signals,
      onBegin: async (begun) => {
        hasBegun = true;
        for (const line of showBegun(out, begun)) show.tell(line);
        await rememberEpic(orch, epic);
      },
      onEvent: show.onEvent,
    }).catch(async (error: unknown) => {
      if (hasCode(error, 'SESSION_NOT_FOUND')) throw await explainNoRun(context, orch, wanted, error);
      throw hasBegun ? explainBreak(error, goOn) : explainRefusal(error, settings.session);
    });
    show.close();
    const file = textOf(call, 'report');
    if (file !== undefined) await writeReport(orch, resolve(context.cwd, file), plan, epic);
    return report(context, outcome, { goOn, plan, took: orch.clock.elapsed() - began });
  } catch (error) {
    // What keeps it from beginning is an earlier run: that is its document.
    const isStopped = hasCode(error, 'RESUME_NEEDED') && error.data.isEarlier === true;
    if (json && isStopped) out.print(JSON.stringify({ run: await describeLastRun(orch, plan, epic) }));
    throw error;
  } finally {
    show.close();
    signals.release();
  }
}

/** Says how the run ended, as text or as its document; the exit status says the same. */
function report(
  { out, json }: Context,
  { run, result }: PlanOutcome,
  { goOn, plan, took }: { readonly goOn: string; readonly plan: Plan; readonly took: number },
): number {
  if (json) out.print(JSON.stringify({ run }));
  if (result === null) {
    if (!json) out.print(`${plan.name}: ${run.id} has succeeded already; nothing is left to do`);
    return 0;
  }
  if (result.status === 'succeeded') {
    const saved = result.saved === null ? '' : `, ckpt ${result.saved}`;
    const tasks = count(plan.tasks.length, 'task');
    if (!json)
      out.print(
        `${out.paint('green', '✓')} ${plan.name}: ${tasks} in ${formatClock(took)}  (${run.id}${saved})`,
      );
    return 0;
  }
  if (result.why.kind === 'signal') {
    out.tell(`‖ ${plan.name} was stopped by ${result.why.signal}; all that is done is kept.`);
    out.tell(`  Continue  ${goOn}`);
    return statusOfSignal(result.why.signal);
  }
  throw describeFailure(result, goOn, { run: run.id, plan: plan.name, epicId: run.epicId });
}

function describeFailure(
  { status, why, reason, effects }: RunResult,
  goOn: string,
  data: { readonly [key: string]: string },
) {
  const message = reason ?? 'the run did not succeed';
  const fail = (code: ErrorCode, hint: string) => new OrchError(code, message, { hint, data });
  if (why.kind === 'taken_over')
    return fail('SESSION_ACTIVE', 'It continues in the session that took it over');
  const blocked = [...effects.values()].find((effect) => effect.status === 'blocked');
  if (blocked?.reason?.includes('--replan'))
    return fail('TASK_FAILED', `Add the option that applies to: ${goOn}`);
  if (blocked)
    return fail(
      'TASK_FAILED',
      `Fix it, then resume: ${goOn} (if you change the effect, add --replan ${blocked.id})`,
    );
  if (status === 'failed' || status === 'blocked') return fail('TASK_FAILED', `Fix it, then resume: ${goOn}`);
  if (why.kind === 'budget') return fail('BUDGET_EXCEEDED', `Continue with more: ${goOn} --budget +10`);
  return fail('RESUME_NEEDED', `Resume it: ${goOn}`);
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [runSpec]);
}
