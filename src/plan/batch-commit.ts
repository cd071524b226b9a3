import { OrchError } from '../errors.ts';
import {
  type ChangedFile,
  commitCommands,
  commitForUser,
  listUncommitted,
  refuseUnderway,
} from '../git/user-commit.ts';
import { quoteForShell } from '../integration/orch-command.ts';
import { dependenciesName, type SpecTask, tasksName } from '../integration/spec.ts';
import { checkpointName } from '../integration/spec-checkpoint.ts';
import { cleanLine, cutColumns } from '../text.ts';
import type { Oid } from '../types.ts';
import { isOfTasks } from './batch-evidence.ts';
import { type BatchPorts, isIgnoredSpec, type Situation } from './batch-situation.ts';
import { nameBatches } from './batches.ts';
import type { CommittedWork, Completed } from './complete-batch.ts';

/** The commit of a batch: what is run for it, and what of the user's changes is not in it. */
export type BatchCommit = {
  readonly commands: readonly (readonly string[])[];
  /** The same for a shell. */
  readonly line: string;
  readonly leftOut: readonly string[];
  /** What nobody named, and is in it because it is staged. */
  readonly staged: readonly string[];
};

/**
 * The commit that belongs to what is completed and not committed; null where nothing is. It takes the spec's own files,
 * the changed files that its tasks name as theirs, and what the user has staged: nothing that nobody named.
 */
export async function planCommit(ports: BatchPorts, completed: Completed): Promise<BatchCommit | null> {
  const { uncommitted, situation, work } = completed;
  if (uncommitted.length === 0) return null;
  const { folder } = situation;
  const own = ownFiles(folder);
  const changed: readonly ChangedFile[] =
    ports.git.name === 'native'
      ? await listUncommitted(ports.repository)
      : own.slice(0, 2).map((path) => ({ path, isStaged: false, canBeAdded: true }));
  const isIn = ({ path }: ChangedFile) => own.includes(path) || isOfTasks(uncommitted, path);
  const paths = changed.filter((file) => file.canBeAdded && isIn(file)).map(({ path }) => path);
  const others = changed.filter((file) => !isIn(file));
  const { subject, trailers } = describeTasks(situation, uncommitted);
  // Where the work has a commit of its own, that is the one that says which tasks it did.
  const [, batch = ''] = trailers;
  const ids = uncommitted.map(({ id }) => id).join(', ');
  const commands = work
    ? commitCommands(paths, cutColumns(`${batch.replace(':', '')}: ${ids}`, 72), [batch])
    : commitCommands(paths, subject, trailers);
  return {
    commands,
    line: commands.map((args) => quoteForShell(['git', ...args])).join(' && '),
    leftOut: others.filter(({ isStaged }) => !isStaged).map(({ path }) => path),
    staged: [...(work?.staged ?? []), ...others.filter(({ isStaged }) => isStaged).map(({ path }) => path)],
  };
}

function ownFiles(folder: string): string[] {
  return [tasksName, checkpointName, dependenciesName].map((name) => `${folder}/${name}`);
}

function describeTasks({ batches }: Situation, tasks: readonly SpecTask[]) {
  const ids = tasks.map(({ id }) => id).join(', ');
  const subject = cutColumns(cleanLine(`${ids}: ${tasks.map(({ name }) => name).join('; ')}`), 72);
  return { subject, trailers: [`Tasks: ${ids}`, `Batch: ${nameBatches(batches, tasks)}`] };
}

/**
 * Commits the work on tasks that is not committed: the files they name, and what is staged. It comes before the spec's
 * own files, because these name the commit that did a task. Null where there is no such work.
 */
export async function commitWork(
  { git, repository }: BatchPorts,
  situation: Situation,
  tasks: readonly SpecTask[],
): Promise<CommittedWork | null> {
  if (git.name !== 'native') return null;
  const isSpec = ({ path }: ChangedFile) => path.startsWith(`${situation.folder}/`);
  const changed = (await listUncommitted(repository)).filter((file) => !isSpec(file));
  const isNamed = ({ path }: ChangedFile) => isOfTasks(tasks, path);
  const work = changed.filter((file) => file.isStaged || isNamed(file));
  if (work.length === 0) return null;
  const paths = work.filter((file) => file.canBeAdded && isNamed(file)).map(({ path }) => path);
  const { subject, trailers } = describeTasks(situation, tasks);
  const oid = await commitForUser(repository, commitCommands(paths, subject, trailers));
  return { oid, staged: work.filter((file) => !isNamed(file)).map(({ path }) => path) };
}

/** Refuses, before anything is changed, what could not be committed afterwards. */
export async function checkCommit(ports: BatchPorts, folder: string): Promise<void> {
  refuseUnderway(ports.repository);
  if (!(await isIgnoredSpec(ports, folder))) return;
  throw new OrchError('GIT_FAILED', `git ignores ${folder}, so it cannot be committed`, {
    hint: 'Nothing was changed. Complete it without --commit, or take the folder out of .gitignore',
    data: { folder },
  });
}

/** Commits a batch on the user's branch. */
export function runCommit({ repository }: BatchPorts, { commands }: BatchCommit): Promise<Oid> {
  return commitForUser(repository, commands);
}
