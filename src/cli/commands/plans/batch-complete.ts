import {
  type CompletedBatch,
  completeBatchIn,
  findSpec,
  pathToTop,
  readFoundIssues,
} from '../../../index.ts';
import { cleanLine, quoteForShell } from '../../../text.ts';
import { count } from '../../../units.ts';
import { choosePlace } from '../../choose.ts';
import { type Output, printJson } from '../../output.ts';
import { defineCommand, inRepository } from '../../run-command.ts';
import { readText } from '../../spec.ts';
import { showTitle } from '../../views/checkpoint-view.ts';
import { checkBudget } from '../../views/recorded-view.ts';
import {
  batchEpicOption,
  printDifferences,
  readTasks,
  showNext,
  showSpec,
  specOption,
  tasksArgument,
  tasksOption,
} from './batch.ts';

export const command = defineCommand({
  description:
    'Complete tasks: update tasks.yaml, write checkpoint.yaml, save a checkpoint. If it was interrupted, run it again: it finishes the rest.',
  argument: tasksArgument,
  options: [
    specOption,
    batchEpicOption,
    tasksOption,
    {
      flags: '--deferred <file>',
      description: 'issues from a review, as a YAML or JSON list: severity, description, location',
    },
    { flags: '--commit', description: 'commit the files of the tasks and what is staged, then the spec' },
    {
      flags: '--anyway',
      description: 'even if the branch or commit is not that of the last batch, or nothing changed',
    },
  ],
  examples: [
    'orch batch complete T003',
    'orch batch complete --tasks T001,T002 --deferred review.yaml --commit',
  ],
  run: inRepository(async (context, orch, call) => {
    const { out, json, cwd } = context;
    const given = readText(call, 'spec');
    const spec = findSpec(orch, given ?? null, cwd);
    const tasks = readTasks(call);
    const review = readText(call, 'deferred');
    const deferred = review === undefined ? [] : readFoundIssues(review, cwd);
    const place = await choosePlace(context, orch, readText(call, 'epic'), spec.name);
    const { completed, recorded } = await completeBatchIn(orch, place, spec, {
      ...(tasks && { tasks }),
      deferred,
      commit: call.options.commit === true,
      anyway: call.options.anyway === true,
    });
    if (!json) {
      out.print(showCompleted(out, completed));
      if (completed.checkpoint) out.print(showTitle(out, completed.checkpoint, '◆ '));
      printDifferences(context, completed.differs);
      printCommit(out, completed, pathToTop(orch, cwd), given);
    }
    if (recorded) checkBudget(context, recorded, json ? { completed } : {});
    if (json) printJson(out, completed);
  }),
});

function showCompleted(out: Output, completed: CompletedBatch): string {
  const { batch, next, deferredIssues, spec } = completed;
  const ids = completed.completed.join(', ');
  const already = completed.alreadyCompleted.join(', ');
  const comes = showNext(out, { total: batch.total, batch: next, spec });
  const lines = [
    ids &&
      `${out.paint('green', '✓')} ${ids} completed (batch ${batch.number} of ${batch.total}): tasks.yaml updated, checkpoint.yaml written`,
    already && `${already}: already completed`,
    deferredIssues.length > 0 && `${count(deferredIssues.length, 'issue')} carried over`,
    next === null ? comes : `Next: ${comes}`,
  ];
  return lines.filter(Boolean).join('\n');
}

/** Prints how to commit the batch, or the commit, and which of the user's changes are not in it. */
function printCommit(
  out: Output,
  { commit, work }: CompletedBatch,
  top: string,
  spec: string | undefined,
): void {
  if (commit === null) return;
  const { oid, leftOut, staged } = commit;
  // Its paths are relative to the top of the working tree.
  const line = top === '' ? commit.line : `(${quoteForShell(['cd', top])} && ${commit.line})`;
  out.print(
    oid === null
      ? `Commit it:  ${line}\n      (or: orch batch complete --commit${showSpec(spec)})`
      : `committed ${[work, oid].flatMap((each) => each?.slice(0, 12) ?? []).join(' (the work), ')}`,
  );
  if (staged.length > 0) out.inform(`Also included, because staged: ${listSome(staged)}`);
  if (leftOut.length > 0)
    out.inform(out.paint('yellow', `Not included (stage what belongs to it): ${listSome(leftOut)}`));
}

function listSome(paths: readonly string[]): string {
  const more = paths.length > 5 ? `, and ${paths.length - 5} more` : '';
  return `${cleanLine(paths.slice(0, 5).join(', '))}${more}`;
}
