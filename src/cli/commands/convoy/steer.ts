import { OrchError } from '../../../errors.ts';
import {
  addTasks,
  attachTask,
  cancelTasks,
  findNamed,
  type Orch,
  pauseConvoy,
  pauseTask,
  readTask,
  resumeTask,
  resumeUnpaid,
  retryTask,
  sayToTask,
  setBudgetIn,
  showConvoy,
} from '../../../index.ts';
import { startCommand } from '../../../system/process/command.ts';
import { onSignals, statusOfSignal } from '../../../system/process/signals.ts';
import { inheritedEnvironment } from '../../../system/process/spawn.ts';
import { count } from '../../../units.ts';
import { choosePlace, epicOption } from '../../choose.ts';
import { approveConfig } from '../../config-trust.ts';
import { canAsk, confirmFirst, confirmOptions } from '../../confirm.ts';
import { printJson } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, type Command, type ExitStatus, readText, readTexts } from '../../spec.ts';
import { showMoney } from '../../views/money-view.ts';
import { showRecorded } from '../../views/recorded-view.ts';
import { chooseConvoy, chooseTask, readEpic } from './look.ts';
import { settle } from './work-on.ts';

const epic = epicOption('the epic of the convoy');
const task = {
  name: 'task',
  required: true,
  description: 'the task, or convoy/task if several have it',
} as const;
const convoyOrTask = {
  name: 'name',
  description: 'a convoy or a task; the newest convoy by default',
} as const;

export const commands: { readonly [name: string]: Command } = {
  pause: defineCommand({
    summary: 'pause a convoy or one worker; everything is saved',
    description:
      'Pause a convoy with its workers, or the worker of one task. Everything is saved first, and they continue in the same conversations.',
    argument: convoyOrTask,
    options: [epic, { flags: '--reason <text>', description: 'why' }],
    examples: ['orch convoy pause', 'orch convoy pause auth/login'],
    run: inRepository(pause),
  }),

  cancel: defineCommand({
    summary: 'leave out a task, or all that is not done',
    description:
      'Leave a task as it is, or all tasks of a convoy that are not done. What was done stays on their branches and in their worktrees.',
    argument: convoyOrTask,
    options: [
      epic,
      { flags: '--keep-going', description: 'tasks that need it continue without it' },
      ...confirmOptions,
    ],
    examples: [
      'orch convoy cancel login',
      'orch convoy cancel login --keep-going',
      'orch convoy cancel auth -y',
    ],
    run: inRepository(cancel),
  }),

  retry: defineCommand({
    summary: 'try a task again, with another model if you like',
    description:
      'Try a task again that has failed, is held or was cancelled, with as many attempts as it had.',
    argument: task,
    options: [
      epic,
      { flags: '-m, --model <name>', description: 'the model for all further attempts' },
      { flags: '--fresh', description: 'start from what is merged; earlier work is kept on a branch' },
    ],
    examples: ['orch convoy retry login', 'orch convoy retry login --model opus --fresh'],
    run: inRepository(async (context, orch, call) => {
      const named = await chooseTask(context, orch, call);
      const model = readText(call, 'model') ?? null;
      const isTaken = await retryTask(orch, named, { model, isFresh: call.options.fresh === true });
      return tell(context, named.convoy, isTaken, { task: named.task.id }, `${named.task.id} is tried again`);
    }),
  }),

  say: defineCommand({
    summary: 'say something to a worker, or answer its question',
    description:
      'Say something to the worker of a task, or answer its question. A Claude Code at work hears it with the result of its next tool; others in their next turn. Nothing is lost if the worker is not there.',
    argument: { ...task, several: true, description: 'the task, then the text' },
    options: [epic],
    examples: ['orch convoy say login "Use the new router"', 'orch convoy say mailer "SES"'],
    run: inRepository(say),
  }),

  add: defineCommand({
    summary: 'add tasks to a convoy',
    description:
      'Add tasks to the plan of a convoy, also while it runs. Without a text: read the plan again, after you have edited it.',
    argument: { name: 'text', several: true, description: 'what is to be done; each text is a task' },
    options: [
      epic,
      {
        flags: '--needs <task>',
        description: 'a task that has to be merged first; may be repeated',
        several: true,
      },
    ],
    examples: ['orch convoy add "Translate the form"', 'orch convoy add "Test it" --needs login -e auth'],
    run: inRepository(add),
  }),

  budget: defineCommand({
    summary: "set a convoy's budget",
    description: "Set a convoy's budget. Tasks that wait for money continue.",
    argument: {
      name: 'amount',
      required: true,
      description: '20 in total, +20 on top of what is spent, none for no limit',
    },
    options: [epic],
    examples: ['orch convoy budget +10', 'orch convoy budget 50 -e auth'],
    run: inRepository(budget),
  }),

  attach: defineCommand({
    summary: "join a worker's conversation in its worktree",
    description:
      "Join a worker's conversation in its worktree: the worker pauses, and continues when you leave. For an agent without conversations, you get a shell there.",
    argument: task,
    options: [epic],
    examples: ['orch convoy attach login'],
    run: inRepository(attach),
  }),
};

/** Says what happens now; a convoy without a scheduler does it when it continues. */
function tell(
  { out, json }: Context,
  convoy: { readonly epic: string },
  isTaken: boolean,
  document: { readonly [key: string]: unknown },
  text: string,
): ExitStatus {
  if (json) return printJson(out, { convoy: convoy.epic, isTaken, ...document });
  out.print(isTaken ? `${text}.` : `${text} once the convoy continues: orch convoy resume ${convoy.epic}`);
  return undefined;
}

async function pause(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const { out, json, cwd, settings } = context;
  const given = readEpic(call, settings);
  const named = await findNamed(orch, { word: call.argument, epic: given, cwd });
  const { convoy } = named;
  const reason = readText(call, 'reason') ?? 'it was paused by hand';
  if (named.task !== null) {
    await pauseTask(orch, { convoy, task: await readTask(orch, convoy, named.task) }, reason);
    if (json) return printJson(out, { convoy: convoy.epic, task: named.task });
    out.print(
      `‖ ${named.task} is paused; everything is saved.  Continue  orch convoy resume ${convoy.epic}/${named.task}`,
    );
    return undefined;
  }
  const workers = await pauseConvoy(orch, convoy, reason);
  if (json) return printJson(out, { convoy: convoy.epic, workers });
  if (!convoy.isActive && workers === 0) out.print(`${convoy.epic} is not running.`);
  else
    out.print(
      `‖ ${convoy.epic} is paused, with ${count(workers, 'worker')}; everything is saved.  Continue  orch convoy resume ${convoy.epic}`,
    );
  return undefined;
}

async function cancel(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const { out, json, cwd, settings } = context;
  const given = readEpic(call, settings);
  const named = await findNamed(orch, { word: call.argument, epic: given, cwd });
  const { convoy } = named;
  const goesOn = call.options['keep-going'] === true;
  const all = (await showConvoy(orch, convoy, true)).tasks;
  if (named.task !== null) {
    if (call.options['dry-run'] === true) {
      if (json) return printJson(out, { convoy: convoy.epic, cancelled: [], wouldCancel: [named.task] });
      out.print(`${named.task} would be cancelled.`);
      return undefined;
    }
    const { isTaken } = await cancelTasks(
      orch,
      convoy,
      all.filter(({ id }) => id === named.task),
      goesOn,
    );
    return tell(context, convoy, isTaken, { cancelled: [named.task] }, `${named.task} is cancelled`);
  }
  const over = ['done', 'cancelled', 'skipped', 'failed'];
  const open = all.filter(({ status }) => !over.includes(status));
  const what = `${convoy.epic}: ${count(open.length, 'task')} not done; what they did so far is kept on their branches`;
  if (json && call.options['dry-run'] === true) {
    const wouldCancel = open.map(({ id }) => id);
    return printJson(out, { convoy: convoy.epic, cancelled: [], wouldCancel });
  }
  const answer = await confirmFirst(context, call, [what], 'Cancel them?');
  if (answer !== null) return answer;
  const { tasks: cancelled, isTaken } = await cancelTasks(orch, convoy, open, goesOn);
  if (!isTaken) await settle(context, orch, convoy);
  if (json) return printJson(out, { convoy: convoy.epic, cancelled });
  out.print(
    `– ${convoy.epic}: ${count(cancelled.length, 'task')} cancelled. What is merged stays: orch convoy land ${convoy.epic}`,
  );
  return undefined;
}

async function say(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const { out, json, settings } = context;
  const [word, ...words] = call.rest;
  const text = words.join(' ').trim();
  if (text === '')
    throw new OrchError('USAGE', 'what should be said?', { hint: `Try: orch convoy say ${word} "text"` });
  const named = await chooseTask(context, orch, call, word);
  const { answers, heard } = await sayToTask(orch, named, text, settings.byAgent);
  if (json) return printJson(out, { task: named.task.id, answers, heard });
  const what = answers === null ? 'Said' : 'Answered';
  const when = {
    'now, if it waits': `${named.task.id} hears it now if it waits for it, else in its next turn`,
    'while it works': `${named.task.id} hears it with the result of its next tool`,
    'in its next turn': `${named.task.id} hears it in its next turn`,
    'when it begins': `${named.task.id} hears it when it begins`,
    'when the convoy continues': `${named.task.id} hears it once the convoy continues: orch convoy resume ${named.convoy.epic}`,
  }[heard];
  out.print(`${what}: ${when}${heard === 'when the convoy continues' ? '' : '.'}`);
  return undefined;
}

async function add(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const convoy = await chooseConvoy(context, orch, call, null);
  const needs = readTexts(call, 'needs');
  const { ids, isTaken } = await addTasks(
    orch,
    convoy,
    call.rest.map((text) => ({ text, needs })),
  );
  const wait = ids.length === 1 ? '; it is done' : '; they are done';
  const text = ids.length === 0 ? 'The plan is read again' : `Added: ${ids.join(', ')}${isTaken ? '' : wait}`;
  return tell(context, convoy, isTaken, { added: ids }, text);
}

async function budget(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  await approveConfig(context, orch);
  const convoy = await chooseConvoy(context, orch, call, null);
  const place = await choosePlace(context, orch, convoy.epic);
  const recorded = await setBudgetIn(orch, place, call.argument ?? '', context.settings.byAgent);
  const next = (await resumeUnpaid(orch, convoy)) ? '' : `.  Continue  orch convoy resume ${convoy.epic}`;
  return showRecorded(context, recorded, `budget of ${convoy.epic}: ${showMoney(recorded.budget)}${next}`);
}

async function attach(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const { out, json } = context;
  if (json || !canAsk())
    throw new OrchError('USAGE', 'joining a conversation needs a terminal', {
      hint: 'To say something without one: orch convoy say TASK "text"',
    });
  const named = await chooseTask(context, orch, call);
  const { convoy } = named;
  const attached = await attachTask(orch, named);
  out.inform(`${named.task.id} is paused; you are in ${attached.cwd}`);
  const off = onSignals(['SIGINT'], () => {}); // Ctrl+C is for the agent
  try {
    const [node = '', program = ''] = process.argv;
    const argv = [node, program, 'resume', '--no-baseline', '-e', named.task.epicId, '--', ...attached.argv];
    const env = { ...inheritedEnvironment(), ...attached.env, ORCH_EPIC: undefined, ORCH_SESSION: undefined };
    const command = await startCommand(argv, { cwd: attached.cwd, env, onOutput: null });
    const { status, signal } = await command.exited;
    if (attached.continues) {
      const isTaken = await resumeTask(orch, convoy, named.task.id);
      tell(context, convoy, isTaken, { task: named.task.id }, `${named.task.id} continues`);
    }
    return signal === null ? (status ?? 0) : statusOfSignal(signal);
  } finally {
    off();
  }
}
