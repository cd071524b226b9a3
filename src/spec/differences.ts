import { quoteForShell } from '../text.ts';
import { count } from '../units.ts';
import { listCompleted } from './batches.ts';
import { isBatchCommit, isFileOfTasks, nameTasks, readTaskTrailers } from './evidence.ts';
import type { SpecTask } from './read-spec.ts';
import type { SinceLastBatch, Situation } from './situation.ts';

/** Something that has changed since the last batch was completed. */
export type Difference = {
  readonly kind: 'base' | 'branch' | 'commit' | 'drift' | 'tasks' | 'order' | 'history' | 'unchanged';
  readonly message: string;
  readonly hint: string;
  /** Whether it must be confirmed (`--anyway`) before a batch is completed. */
  readonly blocks: boolean;
};

/** Compares checkpoint.yaml, tasks.yaml and the repository. Pure. */
export function findDifferences(situation: Situation, since: SinceLastBatch): Difference[] {
  return [
    ...findBaseDrift(situation, since),
    ...(situation.checkpoint ? compareRepository(situation, since) : []),
    ...compareTasks(situation),
    ...compareHistory(situation, since),
  ];
}

/** The base branch has moved, so this work may not fit it. */
function findBaseDrift({ position }: Situation, { behind }: SinceLastBatch): Difference[] {
  if (behind === null) return [];
  return [
    {
      kind: 'base',
      message: `${behind.branch} has ${count(behind.commits, 'commit')} that this branch does not have${describeTouched(position, behind.changed)}`,
      hint: `Bring them in: ${quoteForShell(['git', 'merge', behind.branch])} (or rebase)`,
      blocks: false,
    },
  ];
}

function describeTouched({ batch }: Situation['position'], changed: readonly string[]): string {
  const touched = changed.filter((path) => isFileOfTasks(batch?.tasks ?? [], path));
  return touched.length > 0 ? `, and ${touched.slice(0, 5).join(', ')} of this batch changed` : '';
}

/** Reports tasks without changes in a batch that has some: they are left open, or completed anyway. */
export function reportUnchanged(tasks: readonly SpecTask[], isLeft: boolean): Difference[] {
  if (tasks.length === 0) return [];
  const ids = tasks.map(({ id }) => id).join(' ');
  return [
    {
      kind: 'unchanged',
      message: `nothing changed for ${nameTasks(tasks)}${isLeft ? '; left open' : ''}`,
      hint: isLeft
        ? `If it is done, name it: orch batch complete ${ids} --anyway`
        : 'Check that the work was done',
      blocks: false,
    },
  ];
}

function compareRepository(
  { checkpoint, head, position }: Situation,
  { commits, base, changed }: SinceLastBatch,
): Difference[] {
  const differences: Difference[] = [];
  const branch = checkpoint?.branch ?? null;
  if (branch !== null && branch !== head.branch)
    differences.push({
      kind: 'branch',
      message: `the last batch was completed on ${branch}; this is ${head.branch ?? 'no branch'}`,
      hint: `Switch back: ${quoteForShell(['git', 'switch', branch])}. To continue here, add --anyway`,
      blocks: true,
    });
  const commit = checkpoint?.lastCommit ?? null;
  if (commit !== null && base === null)
    differences.push({
      kind: 'commit',
      message: `the last batch was completed on commit ${commit}, which is not in the history of HEAD`,
      hint: 'It was rewritten, or was never fetched. See which tasks the history completed: orch batch status --from-git. To continue, add --anyway',
      blocks: true,
    });
  // Commits of a batch are the work itself.
  const others = commits.filter(({ message }) => !isBatchCommit(message));
  if (base === null || others.length === 0) return differences;
  return [
    ...differences,
    {
      kind: 'drift',
      message: `${count(others.length, 'commit')} since the last batch${describeTouched(position, changed)}`,
      hint: `See them: git log ${commit}..HEAD`,
      blocks: false,
    },
  ];
}

function compareTasks({ checkpoint, spec }: Situation): Difference[] {
  const done = listCompleted(spec.tasks);
  const listed = new Set(checkpoint?.completed ?? []);
  const ahead = checkpoint ? [...done].filter((id) => !listed.has(id)) : [];
  const behind = spec.tasks.filter(({ id }) => listed.has(id) && !done.has(id)).map(({ id }) => id);
  const early = spec.tasks.filter(({ id, needs }) => done.has(id) && needs.some((need) => !done.has(need)));
  const differences: Difference[] = [];
  if (ahead.length > 0)
    differences.push({
      kind: 'tasks',
      message: `completed in tasks.yaml but not in checkpoint.yaml: ${ahead.join(', ')}`,
      hint: `tasks.yaml counts. Update checkpoint.yaml: orch batch complete ${ahead.join(' ')}`,
      blocks: false,
    });
  if (behind.length > 0)
    differences.push({
      kind: 'tasks',
      message: `completed in checkpoint.yaml but not in tasks.yaml: ${behind.join(', ')}`,
      hint: 'tasks.yaml counts, so these tasks are still to do',
      blocks: false,
    });
  if (early.length > 0)
    differences.push({
      kind: 'order',
      message: `completed before their dependencies: ${early.map(({ id }) => id).join(', ')}`,
      hint: 'Check their status in tasks.yaml',
      blocks: false,
    });
  return differences;
}

/** Finds tasks that commits say they completed but that are open in tasks.yaml. */
function compareHistory({ spec, checkpoint }: Situation, { commits }: SinceLastBatch): Difference[] {
  const named = new Set(commits.flatMap(({ message }) => readTaskTrailers(message)));
  const open = spec.tasks.filter(({ id, status }) => named.has(id) && status !== 'completed');
  if (open.length === 0 || checkpoint === null) return [];
  return [
    {
      kind: 'history',
      message: `completed by commits but not in tasks.yaml: ${open.map(({ id }) => id).join(', ')}`,
      hint: 'Mark them as completed: orch batch status --from-git --write',
      blocks: false,
    },
  ];
}
