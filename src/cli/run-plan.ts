import { resolve } from 'node:path';
import { type ErrorCode, hasCode, OrchError } from '../errors.ts';
import type { Orch } from '../orch.ts';
import type { Wish } from '../plan/choice.ts';
import { describeDeed } from '../plan/deed.ts';
import { nothingCarried, planRunEffects } from '../plan/effects.ts';
import { listBatches, orderTasks } from '../plan/graph.ts';
import { loadPlan } from '../plan/load.ts';
import type { RunResult } from '../plan/progress.ts';
import { type PlanOutcome, workOnPlan } from '../plan/run-plan.ts';
import { refuseTooLarge } from '../plan/size.ts';
import type { Plan } from '../plan/types.ts';
import { catchSignals, statusOfSignal } from '../system/signals.ts';
import { inheritedEnvironment } from '../system/spawn.ts';
import { count } from '../units.ts';
import { chooseEpic, epicOption, rememberEpic } from './choose.ts';
import { settleConfig } from './config-trust.ts';
import { formatClock } from './live-line.ts';
import { formatRunAgain } from './next.ts';
import { refuseUnwritable } from './result-file.ts';
import { type Context, runCommands } from './run.ts';
import { openRunShow } from './run-live.ts';
import { explainBreak, explainRefusal } from './run-refusal.ts';
import { describeLastRun, writeReport } from './run-report.ts';
import { showBegun, showDryRun } from './run-view.ts';
import { type Call, type CommandSpec, textOf } from './spec.ts';

export const runSpec: CommandSpec = {
  name: 'run',
  summary: 'run a plan of tasks; --resume goes on after a crash',
  description:
    'Run the tasks of a plan, with a checkpoint after each. Killed at any point it can be resumed, and nothing that succeeded runs again. Tasks get ORCH_EPIC, ORCH_SESSION, ORCH_RUN, ORCH_TASK and ORCH_ATTEMPT.',
  argument: { name: 'plan', description: "the plan's file" },
  options: [
    epicOption('the epic; it is made if needed'),
    { flags: '--resume', description: 'go on with the newest run of the plan' },
    { flags: '--resume-step <task>', description: 'go on behind this task (number or id), as a new run' },
    { flags: '--fresh', description: 'start over, though a run is unfinished' },
    { flags: '--jobs <n>', description: 'how many tasks may run at once', initial: '1' },
    {
      flags: '--dry-run',
      description: 'check the plan and show what it would do; nothing is run or written',
    },
    { flags: '--list', description: 'the runs there were' },
    {
      flags: '-b, --budget <usd>',
      description: 'for the whole epic: 20 in all, +20 more than is spent now, none lifts it',
    },
    { flags: '--report <file>', description: 'write what became of the run as Markdown' },
    { flags: '--take-over', description: 'though the run is another clone’s' },
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
    if (call.options['dry-run']) return dryRun(context, plan, jobs);
    return context.withOrch(async (orch) => {
      await settleConfig(context, orch);
      return runPlan(context, orch, call, { plan, path, file, wish, jobs });
    });
  },
};

function readWish(call: Call): Wish {
  const { resume, fresh } = call.options;
  const step = textOf(call, 'resume-step');
  if (fresh && (resume || step !== undefined))
    throw new OrchError('USAGE', '--fresh starts over, and --resume goes on: they cannot go together', {
      hint: 'Leave one of them out',
    });
  if (step !== undefined) return { kind: 'step', step };
  return { kind: fresh ? 'fresh' : resume ? 'resume' : 'plain' };
}

function readJobs(call: Call): number {
  const text = textOf(call, 'jobs') ?? '1';
  const jobs = Number(text);
  if (/^\d+$/.test(text) && jobs >= 1 && jobs <= 256) return jobs;
  throw new OrchError('USAGE', `--jobs ${text}: it is a whole number from 1 to 256`, {
    hint: 'Try: --jobs 4',
  });
}

function dryRun({ out, json }: Context, plan: Plan, jobs: number): number {
  refuseTooLarge(plan);
  const { planned } = planRunEffects(plan.tasks, 'run-dry', nothingCarried, inheritedEnvironment());
  if (!json) {
    for (const line of showDryRun(out, plan, jobs)) out.print(line);
    return 0;
  }
  const tasks = orderTasks(plan.tasks).map(({ id, number, needs, when, files, artifacts }) => {
    return { id, number, needs, when, files, artifacts };
  });
  const batches = listBatches(plan.tasks, jobs).map((batch) => batch.map(({ id }) => id));
  const effects = planned.map(({ effect, record }) => {
    return {
      id: effect.id,
      task: record.task,
      what: describeDeed(effect.deed),
      hasCheck: effect.check !== null,
    };
  });
  out.print(JSON.stringify({ plan: { name: plan.name, digest: plan.digest, tasks, batches, effects } }));
  return 0;
}

type Wanted = {
  readonly plan: Plan;
  readonly path: string;
  /** As the user called it. */
  readonly file: string;
  readonly wish: Wish;
  readonly jobs: number;
};

async function runPlan(context: Context, orch: Orch, call: Call, wanted: Wanted): Promise<number> {
  const { out, json, settings } = context;
  const { plan, path, wish, jobs } = wanted;
  const epic = await chooseEpic(context, orch, textOf(call, 'epic'), true);
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
      epic,
      jobs,
      budget: textOf(call, 'budget') ?? null,
      takeOver: call.options['take-over'] === true,
      byAgent: settings.byAgent,
      signals,
      onBegin: async (begun) => {
        hasBegun = true;
        for (const line of showBegun(out, begun)) show.tell(line);
        await rememberEpic(orch, epic);
      },
      onEvent: show.onEvent,
    }).catch((error: unknown) => {
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
    out.tell(`  Go on  ${goOn}`);
    return statusOfSignal(result.why.signal);
  }
  throw describeFailure(result, goOn, { run: run.id, plan: plan.name, epicId: run.epicId });
}

function describeFailure(
  { status, why, reason }: RunResult,
  goOn: string,
  data: { readonly [key: string]: string },
) {
  const message = reason ?? 'the run did not succeed';
  const fail = (code: ErrorCode, hint: string) => new OrchError(code, message, { hint, data });
  if (why.kind === 'taken_over') return fail('SESSION_ACTIVE', 'Whoever took it over goes on with it');
  if (status === 'failed' || status === 'blocked')
    return fail('TASK_FAILED', `Mend it, then go on with: ${goOn}`);
  if (why.kind === 'budget') return fail('BUDGET_EXCEEDED', `Go on with more: ${goOn} --budget +10`);
  return fail('RESUME_NEEDED', `Go on with: ${goOn}`);
}

export function run(argv: readonly string[]): Promise<number> {
  return runCommands(argv, [runSpec]);
}
