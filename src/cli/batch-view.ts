import type { CompletedBatch, StartedBatch } from '../library/batches.ts';
import type { BatchStatus, NextBatch, TaskFromGit, TaskView } from '../plan/batch.ts';
import { cleanLine } from '../text.ts';
import { count } from '../units.ts';
import type { Output } from './output.ts';
import type { Context } from './run.ts';

/** `T003 Add session management (src/auth/session.py)` */
function showTask({ id, name, file, status }: TaskView): string {
  const files = cleanLine([file ?? []].flat().join(', '));
  return `${id} ${name}${files && ` (${files})`}${status === 'in_progress' ? ', in progress' : ''}`;
}

/** `batch 3 of 5: T003 …`; several tasks below one another. */
export function showNext(
  { paint }: Output,
  { total, batch, spec }: Pick<NextBatch, 'total' | 'batch' | 'spec'>,
): string {
  if (batch === null)
    return total === 0 ? `${spec.name} has no tasks` : `${spec.name} is completed: all of ${total} batches`;
  const { number, tasks, completed, parallel } = batch;
  const partly =
    completed.length > 0 ? `, ${completed.length} of ${completed.length + tasks.length} done` : '';
  const title = paint('bold', `batch ${number} of ${total}`) + partly;
  const [only] = tasks;
  if (only && tasks.length === 1) return `${title}: ${showTask(only)}`;
  const how = parallel ? 'side by side' : 'one after the other';
  return [`${title}: ${tasks.length} tasks, ${how}`, ...tasks.map((task) => `  ${showTask(task)}`)].join(
    '\n',
  );
}

/** Where a spec stands, a line a task that is not done. */
export function showStatus(out: Output, status: BatchStatus): string {
  const { spec, tasks, blocked, deferredIssues, lastBatch, total } = status;
  const all = tasks.completed.length + tasks.in_progress.length + tasks.pending.length;
  const waits = blocked.map(({ id, name, waitsFor }) => `  ${id} ${name}, waits for ${waitsFor.join(', ')}`);
  const issues = deferredIssues.map(({ batch, severity, description, location }) => {
    return cleanLine(
      `${severity}: ${description}${location === null ? '' : ` (${location})`}, from batch ${batch}`,
    );
  });
  return [
    `${out.paint('bold', spec.name)}: ${tasks.completed.length} of ${all} tasks completed, ${lastBatch} of ${total} batches`,
    showNext(out, status),
    ...(waits.length > 0 ? ['blocked', ...waits] : []),
    ...(issues.length > 0 ? ['left for later', ...issues.map((issue) => `  ${issue}`)] : []),
  ].join('\n');
}

/** What is in progress now. */
export function showStarted(
  out: Output,
  { spec, batch, total, started, alreadyStarted }: StartedBatch,
): string {
  const ids = started.join(', ');
  const lines = [
    ids && `${out.paint('green', '●')} ${ids} in progress: tasks.yaml updated`,
    alreadyStarted.length > 0 && `${alreadyStarted.join(', ')}: in progress before`,
    showNext(out, { total, batch, spec }),
  ];
  return lines.filter((line) => line !== false && line !== '').join('\n');
}

/** What was completed, and what comes next. */
export function showCompleted(out: Output, completed: CompletedBatch): string {
  const { batch, next, deferredIssues, spec } = completed;
  const ids = completed.completed.join(', ');
  const already = completed.alreadyCompleted.join(', ');
  const comes = showNext(out, { total: batch.total, batch: next, spec });
  const lines = [
    ids &&
      `${out.paint('green', '✓')} ${ids} completed (batch ${batch.number} of ${batch.total}): tasks.yaml updated, checkpoint.yaml written`,
    already && `${already}: completed before`,
    deferredIssues.length > 0 && `${count(deferredIssues.length, 'issue')} carried along`,
    next === null ? comes : `Next: ${comes}`,
  ];
  return lines.filter((line) => line !== false && line !== '').join('\n');
}

/** Which tasks commits completed, and whether tasks.yaml says so now. */
export function showFromGit(fromGit: readonly TaskFromGit[], isWritten: boolean): string {
  if (fromGit.length === 0) return 'tasks.yaml has all that the commits of this branch completed';
  const lines = fromGit.map(({ id, commit }) => `  ${id}  ${commit}`);
  const title = isWritten
    ? 'marked as completed in tasks.yaml'
    : 'completed by commits, and not in tasks.yaml (--write marks them)';
  return [title, ...lines].join('\n');
}

/** Says what is not as it was, and what to do about it. */
export function tellDifferences({ out }: Context, differs: NextBatch['differs']): void {
  for (const { message, hint } of differs) {
    out.tell(out.paint('yellow', `▲ ${cleanLine(message)}`));
    out.tell(`  ${cleanLine(hint)}`);
  }
}
