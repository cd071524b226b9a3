import { relative, resolve } from 'node:path';
import { OrchError } from '../errors.ts';
import { quoteForShell } from '../integration/orch-command.ts';
import { type FoundIssue, parseFoundIssues } from '../integration/spec-checkpoint.ts';
import {
  batchStatus,
  type CompletedBatch,
  completeIn,
  findSpec,
  nameOfSpec,
  startIn,
} from '../library/batches.ts';
import { recoverFromGit } from '../plan/batch.ts';
import { readIfThere, realPath } from '../system/files.ts';
import { cleanLine } from '../text.ts';
import {
  showCompleted,
  showFromGit,
  showNext,
  showStarted,
  showStatus,
  tellDifferences,
} from './batch-view.ts';
import { showTitle } from './checkpoint-view.ts';
import { choosePlace, rememberEpic } from './choose.ts';
import { refuseOverBudget, showWarning } from './outcome.ts';
import type { Context } from './run.ts';
import { type Call, textOf } from './spec.ts';

/** Shows what is to be done next. */
export function showNextBatch(context: Context, given: string | null): Promise<number> {
  return context.withOrch(async (orch) => {
    const { out, json } = context;
    const { spec, total, batch, blocked, differs } = await batchStatus(
      { spec: findSpec(orch, given, context.cwd) },
      orch,
    );
    const next = { spec, total, batch, blocked, differs };
    if (json) out.print(JSON.stringify(next));
    else {
      out.print(showNext(out, next));
      tellDifferences(context, differs);
      if (batch)
        out.tell(out.paint('dim', `When done: orch batch complete${showIds(batch)}${showSpec(given)}`));
    }
    return 0;
  });
}

/** Shows where a spec stands; with --from-git also what the commits say of it. */
export function showBatchStatus(context: Context, call: Call): Promise<number> {
  const { out, json } = context;
  const isFromGit = call.options['from-git'] === true;
  const isWritten = call.options.write === true;
  if (isWritten && !isFromGit)
    throw new OrchError('USAGE', '--write goes with --from-git', {
      hint: 'Try: orch batch status --from-git --write',
    });
  return context.withOrch(async (orch) => {
    const spec = findSpec(orch, textOf(call, 'spec') ?? null, context.cwd);
    const recovered = isFromGit ? await recoverFromGit(orch, spec, isWritten) : null;
    const status = recovered?.status ?? (await batchStatus({ spec }, orch));
    if (json) {
      out.print(JSON.stringify({ ...status, ...(recovered && { fromGit: recovered.fromGit }) }));
      return 0;
    }
    out.print(showStatus(out, status));
    tellDifferences(context, status.differs);
    if (recovered) out.print(showFromGit(recovered.fromGit, isWritten));
    return 0;
  });
}

/** Begins tasks, and says what came of it. */
export function begin(context: Context, call: Call): Promise<number> {
  const { out, json } = context;
  return context.withOrch(async (orch) => {
    const given = textOf(call, 'spec') ?? null;
    const folder = findSpec(orch, given, context.cwd);
    const place = await choosePlace(context, orch, textOf(call, 'epic'), nameOfSpec(folder));
    const { started, outcome } = await startIn(orch, place, folder, namedTasks(call));
    if (!json) {
      out.print(showStarted(out, started));
      tellDifferences(context, started.differs);
      const ids = [...started.started, ...started.alreadyStarted].map((id) => ({ id }));
      if (ids.length > 0)
        out.tell(
          out.paint('dim', `When done: orch batch complete${showIds({ tasks: ids })}${showSpec(given)}`),
        );
    }
    if (outcome) {
      if (place.kind === 'opened') await rememberEpic(orch, place.epic);
      showWarning(context, outcome);
      refuseOverBudget(place.epic, outcome, json ? { started } : {});
    }
    if (json) out.print(JSON.stringify(started));
    return 0;
  });
}

/** Completes tasks, and says what came of it. */
export function complete(context: Context, call: Call): Promise<number> {
  const { out, json } = context;
  return context.withOrch(async (orch) => {
    const folder = findSpec(orch, textOf(call, 'spec') ?? null, context.cwd);
    const tasks = namedTasks(call);
    const deferred = readDeferred(textOf(call, 'deferred'), context.cwd);
    const place = await choosePlace(context, orch, textOf(call, 'epic'), nameOfSpec(folder));
    const { completed, outcome } = await completeIn(orch, place, folder, {
      ...(tasks && { tasks }),
      deferred,
      commit: call.options.commit === true,
      anyway: call.options.anyway === true,
    });
    if (!json) {
      out.print(showCompleted(out, completed));
      if (completed.checkpoint) out.print(showTitle(out, completed.checkpoint, '◆ '));
      tellDifferences(context, completed.differs);
      const top = relative(realPath(context.cwd), orch.repository.worktree ?? '');
      tellCommit(context, completed, top, textOf(call, 'spec') ?? null);
    }
    if (outcome) {
      if (place.kind === 'opened') await rememberEpic(orch, place.epic);
      showWarning(context, outcome);
      refuseOverBudget(place.epic, outcome, json ? { completed } : {});
    }
    if (json) out.print(JSON.stringify(completed));
    return 0;
  });
}

/** The ids of a batch, behind the command that completes it: of a large one, none means the same. */
function showIds({ tasks }: { readonly tasks: readonly { readonly id: string }[] }): string {
  return tasks.length > 8 ? '' : tasks.map(({ id }) => ` ${id}`).join('');
}

/** How a spec has to be named once more. */
function showSpec(given: string | null): string {
  return given === null ? '' : ` --spec ${quoteForShell([given])}`;
}

/** What is to be committed, or was, and what of the user's changes is not in it. */
function tellCommit(
  { out }: Context,
  { commit, work }: CompletedBatch,
  top: string,
  spec: string | null,
): void {
  if (commit === null) return;
  const { oid, leftOut, staged } = commit;
  // Its paths are those from the top of the working tree.
  const line = top === '' ? commit.line : `(${quoteForShell(['cd', top])} && ${commit.line})`;
  out.print(
    oid === null
      ? `Commit it:  ${line}\n      (or: orch batch complete --commit${showSpec(spec)})`
      : `committed ${[work, oid].flatMap((each) => each?.slice(0, 12) ?? []).join(' (the work), ')}`,
  );
  if (staged.length > 0) out.tell(`Also in it, because it is staged: ${listSome(staged)}`);
  if (leftOut.length > 0)
    out.tell(out.paint('yellow', `Not in it (stage what belongs to it): ${listSome(leftOut)}`));
}

function listSome(paths: readonly string[]): string {
  const more = paths.length > 5 ? `, and ${paths.length - 5} more` : '';
  return `${cleanLine(paths.slice(0, 5).join(', '))}${more}`;
}

function namedTasks(call: Call): string[] | null {
  const listed = textOf(call, 'tasks');
  const named = [...call.rest, ...(listed?.split(',') ?? [])].map((word) => word.trim());
  if (named.some((word) => word === ''))
    throw new OrchError('USAGE', '--tasks takes ids with commas between them', {
      hint: 'Try: --tasks T001,T002',
    });
  return named.length > 0 ? named : null;
}

function readDeferred(given: string | undefined, cwd: string): FoundIssue[] {
  if (given === undefined) return [];
  const bytes = readIfThere(resolve(cwd, given));
  if (bytes === null)
    throw new OrchError('USAGE', `there is no file ${JSON.stringify(given.slice(0, 200))}`, {
      hint: 'It is a list: - {severity: medium, description: "…", location: "src/a.py:45"}',
    });
  return parseFoundIssues(given, bytes.toString('utf8'));
}
