import { listChanges } from '../git/changes.ts';
import type { Commit } from '../git/engine.ts';
import { quoteForShell } from '../integration/orch-command.ts';
import type { Oid } from '../types.ts';
import { count } from '../units.ts';
import { isOfTasks } from './batch-evidence.ts';
import type { BatchPorts, Situation } from './batch-situation.ts';
import { completedOf } from './batches.ts';
import { readTaskTrailers } from './task-history.ts';

/** Something that is not as it was when the last batch was completed. */
export type Difference = {
  readonly kind: 'branch' | 'commit' | 'drift' | 'tasks' | 'order' | 'history';
  readonly message: string;
  /** What to do about it. */
  readonly hint: string;
  /** Nothing is completed over it unless somebody says so. */
  readonly blocks: boolean;
};

/** What came after the commit that a checkpoint.yaml names. */
export type Since = {
  /** Newest first; none where the commit was not found. */
  readonly commits: readonly Commit[];
  readonly base: Oid | null;
  /** Files that changed since; none where only git itself could say it. */
  readonly changed: readonly string[];
};

/** The longest history that is looked through for a commit. */
const farthest = 100_000;

/** Looks back from HEAD to the commit the last batch was completed on. */
export async function readSince(
  { git, repository }: BatchPorts,
  { checkpoint, head }: Situation,
): Promise<Since> {
  const sought = checkpoint?.lastCommit ?? null;
  if (sought === null || head.commit === null) return { commits: [], base: null, changed: [] };
  const commits: Commit[] = [];
  for await (const commit of git.walk(head.commit, farthest)) {
    if (commit.oid.startsWith(sought)) {
      const isAsked = git.name === 'native' && commits.length > 0;
      const changes = isAsked ? await listChanges(repository, commit.oid, head.commit) : [];
      return { commits, base: commit.oid, changed: changes.map(({ path }) => path) };
    }
    commits.push(commit);
  }
  return { commits: [], base: null, changed: [] };
}

/** What differs between a checkpoint.yaml, its tasks.yaml and the repository. Pure. */
export function findDifferences(situation: Situation, since: Since): Difference[] {
  return [
    ...(situation.checkpoint ? compareRepository(situation, since) : []),
    ...compareTasks(situation),
    ...findHistory(situation, since),
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
      hint: `Go there with: ${quoteForShell(['git', 'switch', branch])}, or go on here with --anyway`,
      blocks: true,
    });
  const commit = checkpoint?.lastCommit ?? null;
  if (commit !== null && base === null)
    differences.push({
      kind: 'commit',
      message: `commit ${commit}, on which the last batch was completed, is not in the history of HEAD`,
      hint: 'It was rewritten, or is not here. See what the history has: orch batch status --from-git; go on with --anyway',
      blocks: true,
    });
  // What was committed as a batch is the work itself.
  const others = commits.filter(({ message }) => readTaskTrailers(message).length === 0);
  if (base === null || others.length === 0) return differences;
  const touched = changed.filter((path) => isOfTasks(position.batch?.tasks ?? [], path));
  const which = touched.length > 0 ? `, and ${touched.slice(0, 5).join(', ')} of this batch changed` : '';
  return [
    ...differences,
    {
      kind: 'drift',
      message: `${count(others.length, 'commit')} since the last batch${which}`,
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
