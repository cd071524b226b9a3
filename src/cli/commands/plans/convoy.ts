import { resolve } from 'node:path';
import { hasCode, OrchError } from '../../../errors.ts';
import {
  type ConvoyInfo,
  type ConvoyTask,
  catchSignals,
  type Landing,
  landConvoy,
  loadConvoyPlan,
  type Plan,
  previewLanding,
  type RunFileEvent,
  resolveConvoyEpic,
  runConvoy,
  showConvoy,
} from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { count } from '../../../units.ts';
import { budgetOption, epicOption, printChoice, printUnreadable } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { confirmFirst, confirmOptions } from '../../confirm.ts';
import { type Output, printJson } from '../../output.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, type Command, readText } from '../../spec.ts';
import { openRunScreen, showStart } from './run-progress.ts';

const plan = { name: 'plan', required: true, description: "the plan's file" } as const;
const epic = epicOption('the epic; by default the name of the plan');

export const commands: { readonly [name: string]: Command } = {
  start: defineCommand({
    summary: 'agents on the tasks of a plan, each in its own worktree',
    description:
      'Give each task of a plan that has a prompt to an agent in a git worktree of its own, merge what is finished into a branch, and run the gates on exactly what is merged. Your checkout and your branches are not touched; "orch convoy land" merges the result.',
    argument: plan,
    options: [
      epic,
      budgetOption,
      {
        flags: '--workers <n>',
        description: 'how many agents work at once; by default as the plan says, or 4',
      },
      { flags: '--fresh', description: 'start over, even if a run is unfinished' },
      { flags: '--take-over', description: 'continue even if the run belongs to another clone' },
    ],
    examples: ['orch convoy start auth.yaml --workers 4 --budget 30'],
    run: (context, call) => workOn(context, call, call.options.fresh === true ? 'fresh' : 'plain'),
  }),

  resume: defineCommand({
    description:
      'Continue a convoy: workers that still run are adopted, and those that died continue where they were.',
    argument: plan,
    options: [
      epic,
      budgetOption,
      { flags: '--workers <n>', description: 'how many agents work at once' },
      { flags: '--take-over', description: 'continue even if the run belongs to another clone' },
    ],
    examples: ['orch convoy resume auth.yaml', 'orch convoy resume auth.yaml --budget +10'],
    run: (context, call) => workOn(context, call, 'resume'),
  }),

  show: defineCommand({
    description: 'Show the tasks of a convoy: what needs you first, then what works, then the rest.',
    argument: plan,
    options: [epic],
    examples: ['orch convoy show auth.yaml'],
    run: show,
  }),

  land: defineCommand({
    description:
      'Merge what a convoy has merged into your branch. Shows first what it would do, and asks. A branch that is checked out must have no uncommitted changes.',
    argument: plan,
    options: [
      epic,
      { flags: '--into <branch>', description: 'the branch; by default the one that is checked out' },
      ...confirmOptions,
    ],
    examples: ['orch convoy land auth.yaml', 'orch convoy land auth.yaml --into main'],
    run: land,
  }),
};

function load({ cwd }: Context, call: Call): { readonly plan: Plan; readonly path: string } {
  const file = call.argument ?? '';
  const path = resolve(cwd, file);
  return { plan: loadConvoyPlan(path, file), path };
}

/** Starts or continues the convoy of a plan. */
export async function workOn(
  context: Context,
  call: Call,
  kind: 'plain' | 'fresh' | 'resume',
): Promise<number> {
  const { out, json, settings } = context;
  const loaded = load(context, call);
  const workers = readText(call, 'workers');
  const jobs = workers === undefined ? undefined : readWorkers(workers);
  const given = loaded.plan;
  const wanted: Plan = jobs === undefined ? given : { ...given, convoy: { ...given.convoy, workers: jobs } };
  const budget = readText(call, 'budget') ?? (kind === 'resume' ? null : planBudget(given));
  return context.withOrch(async (orch) => {
    await approveConfig(context, orch);
    const signals = catchSignals();
    const screen = openRunScreen(context, wanted, orch.clock);
    const resumeCommand = `orch convoy resume ${call.argument ?? ''}`;
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
          for (const line of showStart(out, wanted, event.start)) screen.inform(line);
          return undefined;
        default:
          return screen.onEvent(event);
      }
    };
    try {
      const outcome = await runConvoy(orch, {
        ...{ plan: wanted, path: loaded.path, intent: { kind }, budget, signals, onEvent, resumeCommand },
        effects: { replan: [], as_planned: [], done: [] },
        takeOver: call.options['take-over'] === true,
        requireGreen: false,
        report: null,
        epic: readText(call, 'epic'),
        environmentEpic: settings.epic,
        ownSession: settings.session,
        byAgent: settings.byAgent,
        isTrusted: settings.trusted,
      }).catch((error: unknown) => {
        throw explainActive(error, call.argument ?? '');
      });
      screen.close();
      if (outcome.kind === 'refused') {
        const { code, message, data } = outcome.error;
        const again = resumeCommand.replace(' resume ', ' start ');
        throw new OrchError(code, message, {
          hint: `Continue: ${resumeCommand}. Start over: ${again} --fresh`,
          data,
        });
      }
      const convoy = await showConvoy(orch, wanted, outcome.run.epicId);
      if (json) printJson(out, { convoy });
      else for (const line of formatConvoy(out, convoy)) out.print(line);
      const { result } = outcome;
      if (result === null || result.status === 'succeeded') {
        if (!json) out.inform(`  Take it  orch convoy land ${call.argument ?? ''}`);
        return 0;
      }
      if (result.why.kind === 'signal') {
        out.inform(`‖ No new tasks are started; agents at work continue. Continue  ${resumeCommand}`);
        return statusOfSignal(result.why.signal);
      }
      const data = { run: outcome.run.id, epicId: outcome.run.epicId };
      const message = result.reason ?? 'the convoy is not done';
      if (result.status === 'failed' || result.status === 'blocked')
        throw new OrchError('TASK_FAILED', message, {
          hint: `Fix it, then continue: ${resumeCommand}`,
          data,
        });
      if (result.why.kind === 'budget')
        throw new OrchError('BUDGET_EXCEEDED', message, {
          hint: `Continue with more: ${resumeCommand} --budget +10`,
          data,
        });
      throw new OrchError('RESUME_NEEDED', message, { hint: `Continue: ${resumeCommand}`, data });
    } finally {
      screen.close();
      signals.release();
    }
  });
}

/** The usual hint would stop the convoy that is running. */
function explainActive(error: unknown, file: string): unknown {
  if (!hasCode(error, 'SESSION_ACTIVE')) return error;
  const { code, message, data, cause } = error;
  return new OrchError(code, message, { hint: `See how it is: orch convoy show ${file}`, data, cause });
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

async function show(context: Context, call: Call): Promise<number> {
  const { out, json, settings } = context;
  const { plan: found } = load(context, call);
  return context.withOrch(async (orch) => {
    const epicId = await resolveConvoyEpic(orch, found, readText(call, 'epic') ?? settings.epic);
    const convoy = await showConvoy(orch, found, epicId);
    if (json) printJson(out, { convoy });
    else for (const line of formatConvoy(out, convoy)) out.print(line);
    return 0;
  });
}

const order: readonly ConvoyTask['status'][] = [
  'held',
  'failed',
  'working',
  'checking',
  'merging',
  'waiting',
  'done',
  'skipped',
];
const marks: { readonly [S in ConvoyTask['status']]: string } = {
  held: '‖',
  failed: '✗',
  working: '●',
  checking: '●',
  merging: '●',
  waiting: '○',
  done: '✓',
  skipped: '–',
};

/** The lines of a convoy: a count, then a line for each task, what needs a person first. */
function formatConvoy(out: Output, { name, status, budget, tasks }: ConvoyInfo): string[] {
  const counts = order.flatMap((state) => {
    const amount = tasks.filter((task) => task.status === state).length;
    return amount === 0 ? [] : [`${marks[state]} ${amount} ${state}`];
  });
  const spent = `$${budget.spentUsd.toFixed(2)}${budget.limitUsd === null ? '' : ` of $${budget.limitUsd.toFixed(2)}`}`;
  const width = Math.min(24, Math.max(...tasks.map(({ id }) => id.length)));
  const sorted = [...tasks].sort(
    (a, b) => order.indexOf(a.status) - order.indexOf(b.status) || a.number - b.number,
  );
  return [
    `${out.paint('bold', name)}  ${status.replace('_', ' ')}   ${counts.join('   ')}   ${spent}`,
    ...sorted.map((task) => {
      const who = task.agent === null ? '' : `  ${task.agent}${task.model === null ? '' : ` ${task.model}`}`;
      const cost = task.costUsd > 0 ? `  $${task.costUsd.toFixed(2)}` : '';
      const tries = task.attempts > 1 ? `  attempt ${task.attempts}` : '';
      const why = task.reason === null ? '' : `  ${task.reason}`;
      return ` ${marks[task.status]}  ${task.id.padEnd(width)}  ${task.status}${who}${tries}${cost}${out.paint('dim', why)}`;
    }),
  ];
}

async function land(context: Context, call: Call): Promise<number> {
  const { out, json, settings } = context;
  const { plan: found } = load(context, call);
  return context.withOrch(async (orch) => {
    const epicId = await resolveConvoyEpic(orch, found, readText(call, 'epic') ?? settings.epic);
    const landing = await previewLanding(orch, epicId, readText(call, 'into') ?? null);
    if (landing.isLanded) {
      if (json) printJson(out, { landed: null, ...landing });
      else out.print(`${landing.into} has everything of ${landing.from} already.`);
      return 0;
    }
    const answer = await confirmFirst(context, call, [describeLanding(landing)], 'Merge it?');
    if (answer !== null) return answer;
    const landed = await landConvoy(orch, landing);
    if (json) printJson(out, { landed, ...landing });
    else out.print(`${out.paint('green', '✓')} ${landing.into} is at ${landed.slice(0, 10)}.`);
    return 0;
  });
}

function describeLanding({ from, into, files, added, removed, isFastForward }: Landing): string {
  const how = isFastForward ? 'fast-forward' : 'merge';
  return `Merge ${from} into ${into} (${count(files, 'file')} +${added} −${removed}, ${how})`;
}
