import { resolve } from 'node:path';
import { OrchError } from '../../../errors.ts';
import { findNamed, loadConvoyPlan, makeOwnPlan, makeSpecPlan, resumeTask } from '../../../index.ts';
import { statIfThere } from '../../../system/disk.ts';
import { budgetOption, epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { type Context, defineCommand } from '../../run-command.ts';
import { type Call, type Command, type OptionSpec, readText, readTexts } from '../../spec.ts';
import { readEpic } from './look.ts';
import { chooseKnown, workOn } from './work-on.ts';

const runOptions: readonly OptionSpec[] = [
  epicOption('the epic; by default the name of the plan'),
  budgetOption,
  { flags: '--workers <n>', description: 'how many agents work at once; by default as the plan says, or 4' },
  {
    flags: '--label <label>',
    description: 'do only the tasks with this label; may be repeated',
    several: true,
  },
  {
    flags: '--model <model>',
    description: 'the model of all tasks that begin; by default as the plan or the config says',
  },
  { flags: '--take-over', description: 'continue even if the run belongs to another clone' },
  { flags: '--background', description: 'return once the convoy has started' },
];

export const commands: { readonly [name: string]: Command } = {
  start: defineCommand({
    summary: 'agents on the tasks of a plan, each in its own worktree',
    description:
      'Give each task of a plan that has a prompt to an agent in a git worktree of its own, merge what is finished into a branch, and run the gates on exactly what is merged. Your checkout and your branches are not touched; "orch convoy land" merges the result.',
    argument: {
      name: 'plan',
      description: "the plan's file, or the folder of a spec; not needed with --task",
    },
    options: [
      ...runOptions,
      { flags: '--task <text>', description: 'a task, instead of a plan; may be repeated', several: true },
      {
        flags: '--agent <agent>',
        description: 'with --task or a spec: claude (the default), codex, claim, or a command',
      },
      { flags: '--fresh', description: 'start over; what was done before is kept on branches' },
      { flags: '--dry-run', description: 'show what would be done, and start nothing' },
    ],
    examples: [
      'orch convoy start auth.yaml --workers 4 --budget 30',
      'orch convoy start --task "Add a login form" --task "Document the API" --budget 5',
      'orch convoy start specs/active/auth --budget 30',
      'orch convoy start auth.yaml --background',
    ],
    run: start,
  }),

  resume: defineCommand({
    summary: 'continue a convoy, or one of its tasks',
    description:
      'Continue a convoy: workers that still run are adopted, and those that died continue where they were. With a task: continue that task, which was paused.',
    argument: {
      name: 'convoy',
      description: 'a convoy, one of its tasks, or the plan; the newest by default',
    },
    options: runOptions,
    examples: ['orch convoy resume', 'orch convoy resume auth --budget +10', 'orch convoy resume auth/login'],
    run: resume,
  }),
};

async function start(context: Context, call: Call): Promise<number> {
  const { cwd } = context;
  const texts = readTexts(call, 'task');
  const file = call.argument;
  if (texts.length > 0 && file !== undefined)
    throw new OrchError('USAGE', 'a plan and --task are given, and a convoy has one source', {
      hint: `Start the plan, then add to it: orch convoy add "text"`,
    });
  if (texts.length === 0 && file === undefined)
    throw new OrchError('USAGE', 'what should be done? Name a plan, or give tasks', {
      hint: 'Try: orch convoy start PLAN, or: orch convoy start --task "what to do"',
    });
  if (texts.some((text) => text.trim() === ''))
    throw new OrchError('USAGE', 'a task is empty', { hint: 'Say what to do: --task "Add a login form"' });
  const kind = call.options.fresh === true ? 'fresh' : 'plain';
  const isSpec = file !== undefined && statIfThere(resolve(cwd, file))?.isDirectory() === true;
  if (file !== undefined && !isSpec) {
    if (readText(call, 'agent') !== undefined)
      throw new OrchError(
        'USAGE',
        'the agent of a plan is in the plan, and --agent is for --task and specs',
        {
          hint: `Write it into ${file}: worker: { agent: … }`,
        },
      );
    const path = resolve(cwd, file);
    const chosen = { plan: loadConvoyPlan(path, file), path, epic: undefined, name: file };
    return context.withOrch((orch) => workOn(context, orch, call, kind, chosen));
  }
  return context.withOrch(async (orch) => {
    const isDryRun = call.options['dry-run'] === true;
    const how = { epic: readText(call, 'epic'), agent: readText(call, 'agent'), isDryRun };
    const own = isSpec
      ? await makeSpecPlan(orch, { spec: file, cwd, ...how })
      : await makeOwnPlan(orch, { texts, ...how });
    return workOn(context, orch, call, kind, { ...own, name: own.epic });
  });
}

async function resume(context: Context, call: Call): Promise<number> {
  const { cwd, out, json, settings } = context;
  return context.withOrch(async (orch) => {
    const named = await findNamed(orch, {
      word: call.argument,
      epic: readEpic(call, settings),
      cwd,
    });
    const { convoy, task } = named;
    if (task !== null) {
      if (await resumeTask(orch, convoy, task)) {
        if (json) printJson(out, { convoy: convoy.epic, task });
        else out.print(`${task} continues.  Watch  orch convoy show ${convoy.epic} -f`);
        return 0;
      }
    }
    return workOn(context, orch, call, 'resume', chooseKnown(orch, convoy, cwd));
  });
}
