import * as z from 'zod';
import { diffCheckpoints, readBrief, withDiffSides } from '../../index.ts';
import { chooseEpic } from '../choose.ts';
import { command as createCheckpoint } from '../commands/agents/checkpoint/checkpoint-create.ts';
import { runRecord } from '../commands/agents/record.ts';
import { command as costStatus } from '../commands/daily/cost-status.ts';
import { command as status } from '../commands/daily/status.ts';
import { flatten } from '../output.ts';
import type { Context } from '../run-command.ts';
import { type Call, type CommandSpec, withInitial } from '../spec.ts';

/** A tool that an agent can call. It does what the command of the same name does. */
export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly readOnly: boolean;
  run(context: Context, input: object): Promise<unknown>;
};

/** Makes a tool whose input is checked against its shape before it runs. */
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

/** Runs a command as if it had been typed. */
function runCommand(
  context: Context,
  command: CommandSpec | undefined,
  words: readonly string[] = [],
  options: Call['options'] = {},
): Promise<unknown> {
  if (command === undefined) throw new Error('there is no such command');
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
      max_tokens: z.number().int().min(50).max(20_000).optional().describe('maximum length'),
    },
    readOnly: true,
    run: (context, { max_tokens }) =>
      context.withOrch(async (orch) => {
        const epic = await chooseEpic(context, orch, undefined, false);
        const options = max_tokens === undefined ? {} : { maxTokens: max_tokens };
        context.out.print((await readBrief(epic, options, orch)).quoted);
      }),
  }),
  makeTool({
    name: 'status',
    title: 'See all work',
    description:
      'Every epic in this repository: which agents work on it, money spent, gates, last checkpoint, open questions.',
    shape: {},
    readOnly: true,
    run: (context) => runCommand(context, status),
  }),
  makeTool({
    name: 'record',
    title: 'Record what the next agent must know',
    description:
      'Keep something that is not in the code. decision: a choice between alternatives, with why. tried: an approach you gave up, with why it failed, so that it is not repeated. blocker: what blocks you; the same text with done resolves it. task: what you are working on now; with done: it is finished. note: anything else worth knowing. Record it when it happens, in one or two sentences.',
    shape: {
      kind: z.enum(['note', 'decision', 'tried', 'blocker', 'task']),
      text: text.describe('one or two sentences that make sense without this conversation'),
      why: text.optional().describe('for a decision: the reason; for tried: how it failed'),
      done: z.boolean().optional().describe('for a blocker: it is resolved; for a task: it is finished'),
    },
    readOnly: false,
    run: (context, { kind, text, why, done }) => {
      const isDone = done === true;
      switch (kind) {
        case 'decision':
          return runRecord(context, undefined, { kind, text, rationale: why });
        case 'tried':
          return runRecord(context, undefined, { kind, text, why });
        case 'blocker':
          return runRecord(context, undefined, { kind, text, resolved: isDone });
        case 'task':
          return runRecord(context, undefined, { kind, text, done: isDone });
        case 'note':
          return runRecord(context, undefined, { kind, text: why ? `${text} (${why})` : text });
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
    run: (context, { reason }) => runCommand(context, createCheckpoint, [], { reason }),
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
        const epicId = await chooseEpic(context, orch, undefined, false);
        const input = { epicId, from: from ?? 'latest', to: to ?? null };
        const labels = await withDiffSides(input, async (sides) => [sides.from.label, sides.to.label], orch);
        const { files } = await diffCheckpoints(input, orch);
        const lines = files.map(({ path, status, additions, deletions }) => {
          const amount = additions === null ? 'not text' : `+${additions} −${deletions}`;
          return `${status}  ${flatten(path)}  ${amount}`;
        });
        context.out.print([labels.join(' → '), ...lines].join('\n'));
        if (files.length === 0) context.out.print('no difference');
      }),
  }),
  makeTool({
    name: 'cost',
    title: 'See the cost',
    description: 'What this epic has cost so far, how fast it spends, and how much of the budget is left.',
    shape: {},
    readOnly: true,
    run: (context) => runCommand(context, costStatus),
  }),
  makeTool({
    name: 'ask',
    title: 'Leave the user a question',
    description:
      'Leave a question that only the user can answer, and continue with other work or with the safest assumption. orch status and the brief show it until it is answered. When the user answers, call this again with the answer.',
    shape: {
      question: text.describe('the question; with an answer: its id or part of its text'),
      answer: text.optional().describe('what the user answered; never your own guess'),
    },
    readOnly: false,
    run: (context, { question, answer }) =>
      runRecord(context, undefined, { kind: 'question', text: question, answer }),
  }),
];
