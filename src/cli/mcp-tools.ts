import * as z from 'zod';
import { describeDiff } from '../library/restore.ts';
import { readSides } from '../session/diff.ts';
import { handOver } from '../session/handover.ts';
import { checkpointGroup } from './checkpoint.ts';
import { chooseEpic, viewEpic } from './choose.ts';
import { costGroup } from './cost.ts';
import { flatten } from './output.ts';
import { recordGroup } from './record.ts';
import type { Context } from './run.ts';
import { type Call, type GroupSpec, withInitial } from './spec.ts';
import { statusSpec } from './status.ts';

/** Something an agent can call. What it does is what the command of the same name does. */
export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly readOnly: boolean;
  run(context: Context, input: object): Promise<unknown>;
};

/** The input has been checked against the shape by the time a tool runs. */
function makeTool<Shape extends z.ZodRawShape>(
  tool: Omit<Tool, 'input' | 'run'> & {
    readonly shape: Shape;
    run(context: Context, input: z.infer<z.ZodObject<Shape>>): Promise<unknown>;
  },
): Tool {
  const { shape, run, ...about } = tool;
  const input = z.strictObject(shape);
  return { ...about, input, run: (context, given) => run(context, input.parse(given)) };
}

/** Runs a command of a group as if it had been typed. */
function runCommand(
  context: Context,
  { commands }: GroupSpec,
  name: string,
  words: readonly string[] = [],
  options: Call['options'] = {},
): Promise<unknown> {
  const command = commands.find((one) => one.name === name);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const call = { argument: words[0], rest: words, paths: [], options: withInitial(command, given) };
  return command.run(context, call);
}

const text = z.string().min(1).max(100_000);

export const tools: readonly Tool[] = [
  makeTool({
    name: 'brief',
    title: 'Read the brief',
    description:
      'What is known about the work in progress: goal, decisions, failed approaches, what is done and left, what to read first. Call it when you start without that context, after a compaction, or when the user refers to earlier work.',
    shape: {
      max_tokens: z.number().int().min(50).max(20_000).optional().describe('at most this long'),
    },
    readOnly: true,
    run: (context, { max_tokens }) =>
      context.withOrch(async (orch) => {
        const view = await viewEpic(context, orch, undefined);
        context.out.print((await handOver(orch, view, null, max_tokens)).quoted);
      }),
  }),
  makeTool({
    name: 'status',
    title: 'See all work',
    description:
      'Every epic in this repository: who is working on it, money spent, gates, last checkpoint, open questions.',
    shape: {},
    readOnly: true,
    run: (context) => statusSpec.run(context, { argument: undefined, rest: [], paths: [], options: {} }),
  }),
  makeTool({
    name: 'record',
    title: 'Record what the next agent must know',
    description:
      'Keep something that is not in the code. decision: a choice between alternatives, with why. tried: an approach you gave up, with why it failed, so nobody repeats it. blocker: what stops you; the same text with done resolves it. task: what you are working on now; with done, that it is finished. note: anything else worth knowing. Record it when it happens, in one or two sentences.',
    shape: {
      kind: z.enum(['note', 'decision', 'tried', 'blocker', 'task']),
      text: text.describe('one or two sentences that make sense without this conversation'),
      why: text.optional().describe('for a decision: the reason; for tried: how it failed'),
      done: z.boolean().optional().describe('for a blocker: it is resolved; for a task: it is finished'),
    },
    readOnly: false,
    run: (context, { kind, text, why, done }) => {
      const flag = done ? true : undefined;
      switch (kind) {
        case 'decision':
          return runCommand(context, recordGroup, kind, [text], { rationale: why });
        case 'tried':
          return runCommand(context, recordGroup, kind, [text], { why });
        case 'blocker':
          return runCommand(context, recordGroup, kind, [text], { resolve: flag });
        case 'task':
          return runCommand(context, recordGroup, kind, [text], { done: flag });
        case 'note':
          return runCommand(context, recordGroup, kind, [why ? `${text} (${why})` : text]);
      }
    },
  }),
  makeTool({
    name: 'checkpoint',
    title: 'Save a checkpoint',
    description:
      'Save all files and everything recorded, beside the branches: nothing is committed, staged or changed. Do it when something works and before something risky. The user can bring the code back with orch restore.',
    shape: { reason: text.describe('what is true of the code now, such as "login form works"') },
    readOnly: false,
    run: (context, { reason }) => runCommand(context, checkpointGroup, 'create', [], { reason }),
  }),
  makeTool({
    name: 'diff',
    title: 'See which files changed',
    description:
      'The files that differ between two checkpoints, or between one and now, with lines added and removed. For the lines themselves run: orch diff FROM TO -- PATH',
    shape: {
      from: text
        .optional()
        .describe('number, latest (the default), green (last with passing gates), s7 (session 7), "2h ago"'),
      to: text.optional().describe('the same; the files as they are now by default'),
    },
    readOnly: true,
    run: (context, { from, to }) =>
      context.withOrch(async (orch) => {
        const epic = await chooseEpic(context, orch, undefined, false);
        const [older, newer] = await readSides(orch, epic, from ?? 'latest', to ?? null);
        const { files } = await describeDiff(orch, older, newer, null);
        const lines = files.map(({ path, status, additions, deletions }) => {
          const amount = additions === null ? 'not text' : `+${additions} −${deletions}`;
          return `${status}  ${flatten(path)}  ${amount}`;
        });
        context.out.print([`${older.label} → ${newer.label}`, ...lines].join('\n'));
        if (files.length === 0) context.out.print('no difference');
      }),
  }),
  makeTool({
    name: 'cost',
    title: 'See what it costs',
    description: 'What this epic has cost so far, how fast money goes, and how much of the budget is left.',
    shape: {},
    readOnly: true,
    run: (context) => runCommand(context, costGroup, 'status'),
  }),
  makeTool({
    name: 'ask',
    title: 'Leave the user a question',
    description:
      'Leave a question only the user can answer, and continue with other work or with the safest assumption: nobody waits. It stands in orch status and in the brief until it is answered. When the user has answered, call it again with the answer.',
    shape: {
      question: text.describe('the question; with an answer: its id or a piece of its text'),
      answer: text.optional().describe('what the user answered; never your own guess'),
    },
    readOnly: false,
    run: (context, { question, answer }) =>
      runCommand(context, recordGroup, 'question', [question], { answer }),
  }),
];
