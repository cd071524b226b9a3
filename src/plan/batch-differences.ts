import { quoteForShell } from '../integration/orch-command.ts';
import type { SpecTask } from '../integration/spec.ts';
import { count } from '../units.ts';
import { isOfTasks } from './batch-evidence.ts';
import type { Since } from './batch-since.ts';
import type { Situation } from './batch-situation.ts';
import { completedOf } from './batches.ts';
import { isBatchCommit, readTaskTrailers } from './task-history.ts';

/** Something that is not as it was when the last batch was completed. */
export type Difference = {
  readonly kind: 'base' | 'branch' | 'commit' | 'drift' | 'tasks' | 'order' | 'history' | 'unchanged';
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** Nothing is completed over it unless somebody says so. */
  readonly blocks: boolean;
};

/** What differs between a checkpoint.yaml, its tasks.yaml and the repository. Pure. */
export function findDifferences(situation: Situation, since: Since): Difference[] {
  return [
    ...findBaseDrift(situation, since),
    ...(situation.checkpoint ? compareRepository(situation, since) : []),
    ...compareTasks(situation),
    ...findHistory(situation, since),
  ];
}

/** The branch this one started from has moved: what is done here may not fit what is there. */
function findBaseDrift({ position }: Situation, { behind }: Since): Difference[] {
  if (behind === null) return [];
  return [
    {
      kind: 'base',
      message: `${behind.branch} has ${count(behind.commits, 'commit')} that this branch does not have${sayTouched(position, behind.changed)}`,
      hint: `Bring them in: ${quoteForShell(['git', 'merge', behind.branch])} (or rebase)`,
      blocks: false,
    },
  ];
}

function sayTouched({ batch }: Situation['position'], changed: readonly string[]): string {
  const touched = changed.filter((path) => isOfTasks(batch?.tasks ?? [], path));
  return touched.length > 0 ? `, and ${touched.slice(0, 5).join(', ')} of this batch changed` : '';
}

/** `T003 (src/auth/session.py), T004`: tasks with the files they name. */
export function nameTasks(tasks: readonly SpecTask[]): string {
  return tasks.map(({ id, files }) => `${id}${files.length > 0 ? ` (${files.join(', ')})` : ''}`).join(', ');
}

/** Tasks for which nothing changed, while others of their batch did their part: left open, or completed all the same. */
export function findUnchanged(tasks: readonly SpecTask[], isLeft: boolean): Difference[] {
  if (tasks.length === 0) return [];
  const ids = tasks.map(({ id }) => id).join(' ');
  return [
    {
      kind: 'unchanged',
      message: `nothing changed for ${nameTasks(tasks)}${isLeft ? ', so it is left open' : ''}`,
      hint: isLeft ? `If it is done, name it: orch batch complete ${ids} --anyway` : 'Check that it was done',
      blocks: false,
    },
  ];
}

function compareRepository(
  { checkpoint, head, position }: Situation,
  { commits, base, changed }: Since,
): Difference[] {
  const differences: Difference[] = [];
  const branch = checkpoint?.branch ?? null;
  if (branch !== null && branch !== head.branch)
    differences.push({
      kind: 'branch',
      message: `the last batch was completed on ${branch}; this is ${head.branch ?? 'no branch'}`,
      hint: `Go there with: ${quoteForShell(['git', 'switch', branch])}, or continue here with --anyway`,
      blocks: true,
    });
  const commit = checkpoint?.lastCommit ?? null;
  if (commit !== null && base === null)
    differences.push({
      kind: 'commit',
      message: `commit ${commit}, on which the last batch was completed, is not in the history of HEAD`,
      hint: 'It was rewritten, or is not here. See what the history has: orch batch status --from-git; continue with --anyway',
      blocks: true,
    });
  // What was committed as a batch is the work itself.
  const others = commits.filter(({ message }) => !isBatchCommit(message));
  if (base === null || others.length === 0) return differences;
  return [
    ...differences,
    {
      kind: 'drift',
      message: `${count(others.length, 'commit')} since the last batch${sayTouched(position, changed)}`,
      hint: `Look at them with: git log ${commit}..HEAD`,
      blocks: false,
    },
  ];
}

function compareTasks({ checkpoint, spec }: Situation): Difference[] {
  const done = completedOf(spec.tasks);
  const listed = new Set(checkpoint?.completed ?? []);
  const ahead = checkpoint ? [...done].filter((id) => !listed.has(id)) : [];
  const behind = spec.tasks.filter(({ id }) => listed.has(id) && !done.has(id)).map(({ id }) => id);
  const early = spec.tasks.filter(({ id, needs }) => done.has(id) && needs.some((need) => !done.has(need)));
  const differences: Difference[] = [];
  if (ahead.length > 0)
    differences.push({
      kind: 'tasks',
      message: `completed in tasks.yaml, and not in checkpoint.yaml: ${ahead.join(', ')}`,
      hint: `tasks.yaml counts. Bring the other up to date with: orch batch complete ${ahead.join(' ')}`,
      blocks: false,
    });
  if (behind.length > 0)
    differences.push({
      kind: 'tasks',
      message: `completed in checkpoint.yaml, and not in tasks.yaml: ${behind.join(', ')}`,
      hint: 'tasks.yaml counts: they are to be done (again)',
      blocks: false,
    });
  if (early.length > 0)
    differences.push({
      kind: 'order',
      message: `completed before what they depend on: ${early.map(({ id }) => id).join(', ')}`,
      hint: 'Look whether their status in tasks.yaml is right',
      blocks: false,
    });
  return differences;
}

/** Commits that say they completed tasks which tasks.yaml has as open. */
function findHistory({ spec, checkpoint }: Situation, { commits }: Since): Difference[] {
  const said = new Set(commits.flatMap(({ message }) => readTaskTrailers(message)));
  const open = spec.tasks.filter(({ id, status }) => said.has(id) && status !== 'completed');
  if (open.length === 0 || checkpoint === null) return [];
  return [
    {
      kind: 'history',
      message: `completed by commits, and not in tasks.yaml: ${open.map(({ id }) => id).join(', ')}`,
      hint: 'Take them over with: orch batch status --from-git --write',
      blocks: false,
    },
  ];
}
