import { OrchError } from '../../../errors.ts';
import { type Claimed, claimTask, findNamed, finishTask } from '../../../index.ts';
import { epicOption } from '../../choose.ts';
import { printJson } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, type Command, readText } from '../../spec.ts';
import { chooseTask, readEpic } from './look.ts';

const epic = epicOption('the epic of the convoy');

export const commands: { readonly [name: string]: Command } = {
  claim: defineCommand({
    summary: 'take a task: worktree, branch, prompt, brief',
    description:
      'Take a task of a convoy whose worker is "claim": you, or a subagent of your agent, do it in its worktree, and say "orch convoy done". Its work then goes through the same merge queue and gates.',
    argument: { name: 'task', description: 'the task; the next one that waits by default' },
    options: [epic, { flags: '--by <name>', description: 'who does it' }],
    examples: ['orch convoy claim', 'orch convoy claim login --by ann'],
    run: inRepository(async (context, orch, call) => {
      const { out, json, cwd, settings } = context;
      const given = readEpic(call, settings);
      const { convoy, task } = await findNamed(orch, { word: call.argument, epic: given, cwd });
      const by = readText(call, 'by') ?? (settings.byAgent ? 'a subagent' : 'a person');
      const claimed = await claimTask(orch, convoy, task, by);
      if (claimed === null) {
        if (json) printJson(out, { task: null });
        else out.print('No task waits to be claimed.');
        return 1;
      }
      showClaimed(context, claimed);
      return undefined;
    }),
  }),

  done: defineCommand({
    summary: 'say that a claimed task is done, or cannot be',
    description:
      'Say that a task you claimed is done. Its work is committed, merged and checked by the gates; waits for what comes of it. Exit 3: it was not accepted, and the output says why.',
    argument: { name: 'task', required: true, description: 'the task, or convoy/task' },
    options: [
      epic,
      {
        flags: '--lease <n>',
        description: 'the number of your claim, so that an older one cannot answer for it',
      },
      { flags: '--problem <text>', description: 'you cannot do it: give it back, and say why' },
    ],
    examples: ['orch convoy done login', 'orch convoy done login --problem "The API is not there yet"'],
    run: inRepository(async (context, orch, call) => {
      const { out, json } = context;
      const { convoy, task } = await chooseTask(context, orch, call);
      const problem = readText(call, 'problem') ?? null;
      const end = await finishTask(orch, convoy, { task: task.id, lease: readLease(call), problem });
      if (json) printJson(out, { task: task.id, ...end });
      switch (end.kind) {
        case 'merged':
          if (!json)
            out.print(`${out.paint('green', '✓')} ${task.id} is merged as ${end.commit.slice(0, 10)}.`);
          return 0;
        case 'given_back':
          if (!json) out.print(`${task.id} is given back.`);
          return 0;
        case 'sent_back':
          if (!json) showClaimed(context, end.again);
          return 3;
        case 'failed':
          throw new OrchError(
            'TASK_FAILED',
            `${task.id} was not accepted, and its attempts are used up: ${end.feedback}`,
            {
              hint: `Try it again: orch convoy retry ${convoy.epic}/${task.id}`,
            },
          );
      }
    }),
  }),
};

function readLease(call: Call): number | null {
  const text = readText(call, 'lease');
  if (text === undefined) return null;
  if (/^\d{1,12}$/.test(text)) return Number(text);
  throw new OrchError('USAGE', `--lease takes a whole number, not ${text.slice(0, 80)}`, {
    hint: 'It is the number that "orch convoy claim" printed',
  });
}

function showClaimed({ out, json }: Context, claimed: Claimed): void {
  if (json) {
    printJson(out, claimed);
    return;
  }
  const { task, worktree, branch, lease, promptFile, briefFile, feedback } = claimed;
  if (feedback !== null) out.print(`It was not accepted:\n${feedback}\n`);
  out.print(`${task}: work in ${worktree}, on branch ${branch}`);
  out.print(`  Read   ${promptFile}`);
  out.print(`         ${briefFile}`);
  out.print(`  Then   orch convoy done ${task} --lease ${lease}`);
}
