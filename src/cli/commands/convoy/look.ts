import { OrchError } from '../../../errors.ts';
import {
  type ConvoyTask,
  catchSignals,
  explainTask,
  findNamed,
  type KnownConvoy,
  listConvoys,
  type Orch,
  readEpicView,
  readSessionLog,
  readTask,
  readTaskWork,
  showConvoy,
  summarizeConvoy,
  taskStates,
} from '../../../index.ts';
import { statusOfSignal } from '../../../system/process/signals.ts';
import { epicOption } from '../../choose.ts';
import type { Settings } from '../../environment.ts';
import { printJson, writeTo } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, type Command, type ExitStatus, readText, readTexts } from '../../spec.ts';
import { formatConvoy, formatList, formatWhy } from '../../views/convoy-view.ts';
import { showWithGit } from '../daily/diff.ts';
import { followConvoy } from './screen.ts';

const convoyArgument = {
  name: 'convoy',
  description: 'a convoy, or its plan; the newest by default',
} as const;
const taskArgument = {
  name: 'task',
  required: true,
  description: 'the task, or convoy/task if several have it',
} as const;
const epic = epicOption('the epic of the convoy');

/** The epic that a person named. Within a session ORCH_EPIC is that of the session, which is none of a convoy. */
export function readEpic(call: Call, { session, epic: named }: Settings): string | undefined {
  return readText(call, 'epic') ?? (session === undefined ? named : undefined);
}

/** Finds the convoy that a command is about. */
export async function chooseConvoy(
  { cwd, settings }: Context,
  orch: Orch,
  call: Call,
  word: string | null = call.argument ?? null,
): Promise<KnownConvoy> {
  const named = await findNamed(orch, {
    word: word ?? undefined,
    epic: readEpic(call, settings),
    cwd,
  });
  return named.convoy;
}

/** Finds the task that a command is about. */
export async function chooseTask(
  { cwd, settings }: Context,
  orch: Orch,
  call: Call,
  word = call.argument,
): Promise<{ readonly convoy: KnownConvoy; readonly task: ConvoyTask }> {
  const given = readEpic(call, settings);
  const { convoy, task } = await findNamed(orch, { word, epic: given, cwd });
  if (task !== null) return { convoy, task: await readTask(orch, convoy, task) };
  const { tasks } = await showConvoy(orch, convoy, true);
  // A convoy of one task is named after it.
  const namesake = tasks.find(({ id }) => id === word);
  if (namesake !== undefined) return { convoy, task: namesake };
  throw new OrchError('USAGE', `${word ?? convoy.epic} is a convoy; which of its tasks?`, {
    hint: `Name one, such as ${convoy.epic}/${tasks[0]?.id ?? 'TASK'}. List them: orch convoy show ${convoy.epic}`,
  });
}

export const commands: { readonly [name: string]: Command } = {
  list: defineCommand({
    summary: 'all convoys: state, tasks, money',
    description: 'List the convoys of this repository: those at work first, then the newest.',
    options: [{ flags: '--all', description: 'also those that ended more than 20 convoys ago' }],
    examples: ['orch convoy list'],
    run: inRepository(list),
  }),

  show: defineCommand({
    summary: 'what needs you first, then what works, then the rest',
    description: 'Show the tasks of a convoy: what needs you first, then what works, then the rest.',
    argument: convoyArgument,
    options: [
      epic,
      { flags: '-f, --follow', description: 'keep showing it until it has ended' },
      {
        flags: '--status <state>',
        description: `only tasks in this state: ${taskStates.join(', ')}; may be repeated`,
        several: true,
      },
      { flags: '--label <label>', description: 'only tasks with this label; may be repeated', several: true },
      { flags: '--limit <n>', description: 'at most so many tasks' },
      { flags: '--all', description: 'every task, even of a convoy with thousands' },
    ],
    examples: ['orch convoy show', 'orch convoy show auth -f', 'orch convoy show auth --status failed'],
    run: inRepository(show),
  }),

  why: defineCommand({
    summary: 'why a task is as it is, and what happens next',
    description: 'Explain a task: what is seen of it, what was decided last, and what happens next and when.',
    argument: taskArgument,
    options: [epic],
    examples: ['orch convoy why login', 'orch convoy why auth/login'],
    run: inRepository(async (context, orch, call) => {
      const { convoy, task } = await chooseTask(context, orch, call);
      const why = await explainTask(orch, convoy, task.id);
      if (context.json) return printJson(context.out, { why });
      for (const line of formatWhy(context.out, `${convoy.epic}/${task.id}`, why)) context.out.print(line);
      return undefined;
    }),
  }),

  logs: defineCommand({
    summary: 'what a worker prints',
    description: "Print what a task's worker printed, and what its supervisor says.",
    argument: taskArgument,
    options: [epic, { flags: '-f, --follow', description: 'keep printing until the worker ends' }],
    examples: ['orch convoy logs login -f'],
    run: inRepository(logs),
  }),

  diff: defineCommand({
    summary: 'what a worker changed so far',
    description: 'Show what a task has changed so far, with what its worker has not committed yet.',
    argument: taskArgument,
    takesPaths: true,
    options: [
      epic,
      { flags: '--stat', description: 'only how much changed in each file' },
      { flags: '--name-only', description: 'only the names of files' },
    ],
    examples: ['orch convoy diff login', 'orch convoy diff login --stat'],
    run: inRepository(diff),
  }),
};

const mostListed = 20;

async function list({ out, json }: Context, orch: Orch, { options }: Call): Promise<ExitStatus> {
  const known = await listConvoys(orch);
  const shown = options.all ? known : known.slice(0, mostListed);
  const convoys = await Promise.all(shown.map((each) => summarizeConvoy(orch, each)));
  if (json) return printJson(out, { convoys });
  for (const line of formatList(out, convoys, orch.clock.now())) out.print(line);
  if (known.length > shown.length)
    out.print(`… and ${known.length - shown.length} more: orch convoy list --all`);
  return undefined;
}

async function show(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const { out, json } = context;
  const known = await chooseConvoy(context, orch, call);
  if (call.options.follow === true && !json) {
    const signals = catchSignals();
    try {
      await followConvoy(context, orch, known.epic, signals.aborted);
      const caught = signals.caught();
      return caught === null ? undefined : statusOfSignal(caught.signal);
    } finally {
      signals.release();
    }
  }
  const states = readTexts(call, 'status');
  const labels = readTexts(call, 'label');
  const unknown = states.find((state) => !taskStates.some((each) => each === state));
  if (unknown !== undefined)
    throw new OrchError('USAGE', `--status can be ${taskStates.join(', ')}, not ${unknown}`, {
      hint: 'Leave it out to see all tasks',
    });
  const isFiltered = states.length > 0 || labels.length > 0;
  const whole = await showConvoy(orch, known, call.options.all === true || isFiltered);
  const limit = readLimit(call);
  const matching = whole.tasks.filter(
    ({ status, labels: own }) =>
      (states.length === 0 || states.includes(status)) &&
      (labels.length === 0 || own.some((label) => labels.includes(label))),
  );
  const tasks = limit === null ? matching : matching.slice(0, limit);
  const convoy =
    isFiltered || limit !== null ? { ...whole, tasks, unlisted: matching.length - tasks.length } : whole;
  if (json) return printJson(out, { convoy });
  const wantsAll = call.options.all === true || isFiltered || limit !== null;
  for (const line of formatConvoy(out, convoy, orch.clock.now(), wantsAll)) out.print(line);
  return undefined;
}

function readLimit(call: Call): number | null {
  const text = readText(call, 'limit');
  if (text === undefined) return null;
  if (/^\d{1,6}$/.test(text) && Number(text) > 0) return Number(text);
  throw new OrchError('USAGE', `--limit takes a whole number above 0, not ${text.slice(0, 80)}`, {
    hint: 'Try: --limit 20',
  });
}

function describeState({ status }: ConvoyTask): string {
  return status === 'needs_input' ? 'waiting for an answer' : status;
}

async function logs(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const { out, json } = context;
  const { convoy, task } = await chooseTask(context, orch, call);
  // No worker is started for a task that is claimed.
  if (task.sessionId === null)
    throw new OrchError(
      'SESSION_NOT_FOUND',
      `no worker of ${task.id} has printed anything: it is ${describeState(task)}`,
      {
        hint: `See why: orch convoy why ${convoy.epic}/${task.id}`,
      },
    );
  const view = await readEpicView(orch, task.epicId);
  const pieces: Buffer[] = [];
  const onText = json ? (bytes: Buffer) => pieces.push(bytes) > 0 : (bytes: Buffer) => writeTo(1, bytes);
  const follow = call.options.follow === true;
  const session = await readSessionLog(orch, view, task.sessionId, { follow, onText });
  return json ? printJson(out, { session, log: Buffer.concat(pieces).toString() }) : undefined;
}

async function diff(context: Context, orch: Orch, call: Call): Promise<ExitStatus> {
  const { convoy, task } = await chooseTask(context, orch, call);
  const work = await readTaskWork(orch, convoy.epic, task);
  if (work === null)
    throw new OrchError('USAGE', `${task.id} has changed nothing yet: it is ${describeState(task)}`, {
      hint: `See why: orch convoy why ${convoy.epic}/${task.id}`,
    });
  if (context.json) return printJson(context.out, { task: task.id, from: work.from, to: work.to });
  return showWithGit(context, call, { from: work.from, to: work.to, gitOptions: [] });
}
