import { OrchError } from '../../../errors.ts';
import { findSpec, type NextBatch, nextBatch, type StartedBatch, startBatchIn } from '../../../index.ts';
import { cleanLine, quoteForShell } from '../../../text.ts';
import { choosePlace, epicOption } from '../../choose.ts';
import { type Output, printJson } from '../../output.ts';
import { type Context, defineCommand, inRepository } from '../../run-command.ts';
import { type Call, type Command, type OptionSpec, readText } from '../../spec.ts';
import { checkBudget } from '../../views/recorded-view.ts';

/* `batch start` and `batch next`, and what all four batch commands share. */

export const specOption: OptionSpec = {
  flags: '--spec <dir>',
  description: 'its folder or name; by default the only one in specs/active',
};

/** The argument and options of the commands that start or complete tasks. */
export const tasksArgument = {
  name: 'task',
  several: true,
  description: 'their ids; by default the current batch',
} as const;

export const batchEpicOption = epicOption('the epic it is recorded for; by default the name of the spec');

export const tasksOption: OptionSpec = {
  flags: '--tasks <ids>',
  description: 'the same as TASK, separated by commas: T001,T002',
};

/** Reads the task ids, given as arguments or with --tasks; null if there are none. */
export function readTasks(call: Call): string[] | null {
  const listed = readText(call, 'tasks');
  const named = [...call.rest, ...(listed?.split(',') ?? [])].map((word) => word.trim());
  if (named.some((word) => word === ''))
    throw new OrchError('USAGE', '--tasks takes ids separated by commas', {
      hint: 'Try: --tasks T001,T002',
    });
  return named.length > 0 ? named : null;
}

type TaskView = NonNullable<NextBatch['batch']>['tasks'][number];

/** `T003 Add session management (src/auth/session.py)` */
function showTask({ id, name, file, status }: TaskView): string {
  const files = cleanLine([file ?? []].flat().join(', '));
  return `${id} ${name}${files && ` (${files})`}${status === 'in_progress' ? ', in progress' : ''}`;
}

/** `batch 3 of 5: T003 …`; several tasks get a line each. */
export function showNext(
  { paint }: Output,
  { total, batch, spec }: Pick<NextBatch, 'total' | 'batch' | 'spec'>,
): string {
  if (batch === null)
    return total === 0 ? `${spec.name} has no tasks` : `${spec.name} is completed: all ${total} batches`;
  const { number, tasks, completed, parallel } = batch;
  const partly =
    completed.length > 0 ? `, ${completed.length} of ${completed.length + tasks.length} done` : '';
  const title = paint('bold', `batch ${number} of ${total}`) + partly;
  const [only] = tasks;
  if (only && tasks.length === 1) return `${title}: ${showTask(only)}`;
  const how = parallel ? 'in parallel' : 'one after the other';
  const lines = tasks.map((task) => `  ${showTask(task)}`);
  return [`${title}: ${tasks.length} tasks, ${how}`, ...lines].join('\n');
}

/** Prints what has changed since the last batch, and what to do about it. */
export function printDifferences({ out }: Context, differs: NextBatch['differs']): void {
  for (const { message, hint } of differs) {
    out.inform(out.paint('yellow', `▲ ${cleanLine(message)}`));
    out.inform(`  ${cleanLine(hint)}`);
  }
}

/** Prints the command that completes these tasks; a large batch is left unnamed, which means the same. */
export function printHowToComplete({ out }: Context, ids: readonly string[], spec: string | undefined): void {
  const named = ids.length > 8 ? '' : ids.map((id) => ` ${id}`).join('');
  out.inform(out.paint('dim', `When done: orch batch complete${named}${showSpec(spec)}`));
}

/** The option that names the same spec again. */
export function showSpec(given: string | undefined): string {
  return given === undefined ? '' : ` --spec ${quoteForShell([given])}`;
}

export const commands: { readonly [name: string]: Command } = {
  start: defineCommand({
    description: 'Start tasks: mark them in_progress in tasks.yaml, so that the next agent knows.',
    argument: tasksArgument,
    options: [specOption, batchEpicOption, tasksOption],
    examples: ['orch batch start', 'orch batch start T003'],
    run: inRepository(async (context, orch, call) => {
      const { out, json, cwd } = context;
      const given = readText(call, 'spec');
      const spec = findSpec(orch, given ?? null, cwd);
      const place = await choosePlace(context, orch, readText(call, 'epic'), spec.name);
      const { started, recorded } = await startBatchIn(orch, place, spec, readTasks(call));
      if (!json) {
        out.print(showStarted(out, started));
        printDifferences(context, started.differs);
        const ids = [...started.started, ...started.alreadyStarted];
        if (ids.length > 0) printHowToComplete(context, ids, given);
      }
      if (recorded) checkBudget(context, recorded, json ? { started } : {});
      if (json) printJson(out, started);
    }),
  }),

  next: defineCommand({
    description: 'Show the next batch of a spec. Changes nothing; orch batch start begins it.',
    options: [specOption],
    examples: ['orch batch next', 'orch batch next --spec specs/active/auth-system --json'],
    run: inRepository(async (context, orch, call) => {
      const { out, json, cwd } = context;
      const given = readText(call, 'spec');
      const next = await nextBatch({ spec: findSpec(orch, given ?? null, cwd).path }, orch);
      if (json) return printJson(out, next);
      out.print(showNext(out, next));
      printDifferences(context, next.differs);
      const ids = next.batch?.tasks.map(({ id }) => id);
      if (ids) printHowToComplete(context, ids, given);
    }),
  }),
};

function showStarted(out: Output, { spec, batch, total, started, alreadyStarted }: StartedBatch): string {
  const ids = started.join(', ');
  const lines = [
    ids && `${out.paint('green', '●')} ${ids} in progress: tasks.yaml updated`,
    alreadyStarted.length > 0 && `${alreadyStarted.join(', ')}: already in progress`,
    showNext(out, { total, batch, spec }),
  ];
  return lines.filter(Boolean).join('\n');
}
