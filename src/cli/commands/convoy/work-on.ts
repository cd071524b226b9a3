import { dirname, resolve } from 'node:path';
import { hasCode, isOrchError, OrchError } from '../../../errors.ts';
import {
  catchSignals,
  type EpicId,
  findOpenConvoy,
  isPlanElsewhere,
  type KnownConvoy,
  loadConvoyPlan,
  nameForCommands,
  type Orch,
  type Plan,
  type RunFileEvent,
  type RunFileOutcome,
  readConvoy,
  reviewConvoy,
  runConvoy,
  selectByLabel,
  showConvoy,
} from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { quoteForShell } from '../../../text.ts';
import { printChoice, printUnreadable } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { printJson } from '../../output.ts';
import type { Context } from '../../run-command.ts';
import { type Call, readText, readTexts } from '../../spec.ts';
import { formatConvoy } from '../../views/convoy-view.ts';
import { showStart } from '../plans/run-progress.ts';
import { leaveParent, startInBackground, tellParent } from './background.ts';
import { readEpic } from './look.ts';
import { previewConvoy } from './preview.ts';
import { showReview } from './review.ts';
import { openConvoyScreen } from './screen.ts';

/** Where the plan of a convoy is, and how commands name the convoy. */
export type Chosen = {
  readonly plan: Plan;
  /** The absolute path. */
  readonly path: string;
  readonly epic: EpicId | undefined;
  readonly name: string;
};

/** The plan of a convoy that has begun. */
export function chooseKnown(orch: Orch, convoy: KnownConvoy, cwd: string): Chosen {
  const { path, run, epic } = convoy;
  if (path === null)
    throw new OrchError(
      'PLAN_INVALID',
      `the plan of ${epic} is gone: ${run.head.file ?? 'its file'} is not there`,
      {
        hint: 'Bring the file back, or name the plan: orch convoy resume PLAN',
        data: { epicId: epic },
      },
    );
  if (isPlanElsewhere(orch, convoy))
    throw new OrchError('USAGE', `the plan of ${epic} is in another checkout: ${path}`, {
      hint: `Run the same command there: cd ${quoteForShell([dirname(path)])}`,
      data: { epicId: epic, path },
    });
  return { plan: loadConvoyPlan(path), path, epic, name: nameForCommands(convoy, orch, cwd) };
}

/** Starts or continues the convoy of a plan, for `orch run` too. */
export async function workOnFile(
  context: Context,
  call: Call,
  file: string,
  kind: 'plain' | 'fresh' | 'resume',
): Promise<number> {
  const path = resolve(context.cwd, file);
  const chosen = { plan: loadConvoyPlan(path, file), path, epic: undefined, name: file };
  return context.withOrch((orch) => workOn(context, orch, call, kind, chosen));
}

/** The plan, with what the command line says instead. */
function overridePlan(
  plan: Plan,
  { workers, model }: { readonly workers: number | undefined; readonly model: string | undefined },
): Plan {
  const convoy = {
    ...plan.convoy,
    ...(workers !== undefined && { workers }),
    ...(model !== undefined && { worker: { ...plan.convoy.worker, model } }),
  };
  if (model === undefined) return { ...plan, convoy };
  const tasks = plan.tasks.map((task) => ({
    ...task,
    convoy: { ...task.convoy, worker: { ...task.convoy.worker, model } },
  }));
  return { ...plan, convoy, tasks };
}

/** Starts or continues a convoy, and stays until it has ended or has to wait for people. */
export async function workOn(
  context: Context,
  orch: Orch,
  call: Call,
  wanted: 'plain' | 'fresh' | 'resume',
  { plan: given, path, epic: ownEpic, name }: Chosen,
): Promise<number> {
  const { out, json, settings } = context;
  const workers = readText(call, 'workers');
  const jobs = workers === undefined ? undefined : readWorkers(workers);
  const plan = overridePlan(given, { workers: jobs, model: readText(call, 'model') });
  const labels = readTexts(call, 'label');
  const only = labels.length === 0 ? null : selectByLabel(plan, labels);
  const isOutermost = settings.background === undefined;
  const asked = ownEpic ?? readEpic(call, settings);
  const known = wanted === 'resume' ? null : await findOpenConvoy(orch, plan, asked);
  const open = wanted === 'plain' ? known : null;
  const kind = open === null || open.isActive ? wanted : 'resume';
  if (isOutermost && open !== null && kind === 'resume')
    out.inform(
      open.run.head.status === 'succeeded'
        ? `${open.epic} is done but not landed, so its tasks are not done again. To start over: --fresh`
        : `${open.epic} is begun and not done, so it continues. To start over: --fresh`,
    );
  if (call.options['dry-run'] === true) return previewConvoy(context, orch, call, { plan, path, open });
  if (isOutermost) await approveConfig(context, orch);
  if (isOutermost && call.options.background === true) {
    const status = await startInBackground(context, orch, context.argv, name);
    if (wanted === 'fresh' && known !== null)
      out.inform(`  What was done before is kept: git branch --list 'orch/${known.epic}/*.kept-*'`);
    return status;
  }
  if (!isOutermost) leaveParent();
  const budget = readText(call, 'budget') ?? (kind === 'resume' ? null : planBudget(given));
  const signals = catchSignals();
  const screen = openConvoyScreen(context, orch, plan);
  const resumeCommand = `orch convoy resume ${name}`;
  const onEvent = (event: RunFileEvent) => {
    switch (event.kind) {
      case 'epic':
        return printChoice(context, event.choice);
      case 'elsewhere':
        return json || event.message === null ? undefined : out.inform(event.message);
      case 'unreadable':
        return printUnreadable(context, event.epics);
      case 'gates':
        return undefined;
      case 'stopping':
        // Its workers go on by themselves after a signal.
        return event.why.kind === 'signal' ? undefined : screen.onEvent(event);
      case 'start':
        for (const line of showStart(out, plan, event.start)) screen.inform(line);
        screen.follow(event.start.epicId);
        tellParent(event.start.epicId);
        return undefined;
      default:
        return screen.onEvent(event);
    }
  };
  try {
    const outcome = await runConvoy(orch, {
      ...{ plan, path, intent: { kind }, budget, signals, onEvent, resumeCommand, only },
      effects: { replan: [], as_planned: [], done: [] },
      takeOver: call.options['take-over'] === true,
      requireGreen: false,
      report: null,
      epic: ownEpic ?? readText(call, 'epic'),
      environmentEpic: settings.session === undefined ? settings.epic : undefined,
      ownSession: settings.session,
      byAgent: settings.byAgent,
      isTrusted: settings.trusted,
    }).catch((error: unknown) => {
      throw explainActive(error, name);
    });
    screen.close();
    const signal = signals.caught()?.signal;
    // A closed terminal or Ctrl+C ends only what is shown there.
    if (screen.isLive && (signal === 'SIGINT' || signal === 'SIGHUP') && outcome.kind === 'ended') {
      const again = ['convoy', 'resume', name, '--background', ...(ownEpic ? ['--epic', ownEpic] : [])];
      await startInBackground(context, orch, again, name);
      return statusOfSignal(signal);
    }
    const hasReviewers = (plan.convoy.review?.by ?? []).length > 0;
    const isDone = outcome.kind === 'ended' && outcome.result?.status === 'succeeded';
    if (isDone && hasReviewers) await reviewAtEnd(context, orch, outcome.run.epicId, signals.aborted);
    return await report(context, orch, outcome, name);
  } finally {
    screen.close();
    signals.release();
  }
}

/** Shows how the convoy ended, and what to do next. */
async function report(
  { out, json }: Context,
  orch: Orch,
  outcome: RunFileOutcome,
  name: string,
): Promise<number> {
  const resumeCommand = `orch convoy resume ${name}`;
  if (outcome.kind === 'refused') {
    const { code, message, data } = outcome.error;
    throw new OrchError(code, message, {
      hint: `Continue: ${resumeCommand}. Start over: orch convoy start ${name} --fresh`,
      data,
    });
  }
  const known = await readConvoy(orch, outcome.run.epicId);
  if (known === null) throw new Error(`${outcome.run.epicId} has no run`);
  const convoy = await showConvoy(orch, known);
  if (json) printJson(out, { convoy });
  else for (const line of formatConvoy(out, convoy, orch.clock.now())) out.print(line);
  const { result } = outcome;
  if (result === null || result.status === 'succeeded') {
    if (!json && convoy.counts.done !== undefined) out.inform(`  Take it  orch convoy land ${name}`);
    return 0;
  }
  if (result.why.kind === 'signal') {
    out.inform(
      `‖ No new tasks are started; agents at work continue.  Watch  orch convoy show ${name} -f      Continue  ${resumeCommand}`,
    );
    return statusOfSignal(result.why.signal);
  }
  const data = { run: outcome.run.id, epicId: outcome.run.epicId };
  const message = result.reason ?? 'the convoy is not done';
  const failed = convoy.tasks.find(({ status }) => status === 'failed');
  if (result.status === 'failed' || result.status === 'blocked')
    throw new OrchError('TASK_FAILED', message, {
      hint: `See why: orch convoy why ${known.epic}/${failed?.id ?? 'TASK'}. Try it again: ${resumeCommand}`,
      data,
    });
  if (result.why.kind === 'budget')
    throw new OrchError('BUDGET_EXCEEDED', message, {
      hint: `Continue with more: ${resumeCommand} --budget +10`,
      data,
    });
  const asking = convoy.tasks.find(({ status }) => status === 'needs_input');
  const answer =
    asking === undefined ? '' : `Answer it: orch convoy say ${known.epic}/${asking.id} "…". Then continue`;
  const hint = `${answer || 'Continue'}: ${resumeCommand}`;
  throw new OrchError('RESUME_NEEDED', message, { hint, data });
}

/** Has all of it reviewed at the end, as the plan wants it. What the reviewers find does not undo what is merged. */
async function reviewAtEnd({ out }: Context, orch: Orch, epic: EpicId, signal: AbortSignal): Promise<void> {
  const convoy = await readConvoy(orch, epic);
  if (convoy === null) return;
  try {
    out.inform(`${epic} is reviewed as a whole …`);
    const review = await reviewConvoy(orch, convoy, { signal });
    if (review !== null) for (const line of showReview(out, review)) out.inform(line);
  } catch (error) {
    if (!isOrchError(error)) throw error;
    // Nothing was merged: all its tasks were cancelled, or are commands.
    if (error.code === 'USAGE') return;
    out.inform(`It could not be: ${error.message}. Try again: orch convoy review ${epic}`);
  }
}

/** Has orders carried out that wait for a scheduler, where nothing is left to be started. */
export async function settle(context: Context, orch: Orch, convoy: KnownConvoy): Promise<void> {
  const { settings } = context;
  const { plan, path, epic, name } = chooseKnown(orch, convoy, context.cwd);
  const signals = catchSignals();
  try {
    await runConvoy(orch, {
      ...{ plan, path, intent: { kind: 'resume' }, budget: null, signals, onEvent: () => {} },
      ...{ resumeCommand: `orch convoy resume ${name}`, only: null, epic, environmentEpic: settings.epic },
      effects: { replan: [], as_planned: [], done: [] },
      ...{ takeOver: false, requireGreen: false, report: null, ownSession: settings.session },
      ...{ byAgent: settings.byAgent, isTrusted: settings.trusted },
    });
  } finally {
    signals.release();
  }
}

/** The usual hint would stop the convoy that is running. */
function explainActive(error: unknown, name: string): unknown {
  // One of another clone needs --take-over, which the usual hint says.
  if (!hasCode(error, 'SESSION_ACTIVE') || error.data.reason === 'elsewhere') return error;
  const { code, message, data, cause } = error;
  return new OrchError(code, message, { hint: `See how it is: orch convoy show ${name}`, data, cause });
}

function planBudget({ convoy: { budget } }: Plan): string | null {
  return budget === undefined ? null : String(budget / 1_000_000);
}

function readWorkers(text: string): number {
  const workers = Number(text);
  if (/^\d+$/.test(text) && workers >= 1 && workers <= 256) return workers;
  throw new OrchError('USAGE', `--workers takes a whole number from 1 to 256, not ${text}`, {
    hint: 'Try: --workers 4',
  });
}
