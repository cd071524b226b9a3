import { OrchError } from '../errors.ts';
import {
  type ChangedFile,
  commitCommands,
  commitForUser,
  listUncommitted,
  refuseDuringOperation,
} from '../git/worktree/user-commit.ts';
import { cleanLine, cutColumns, quoteForShell } from '../text.ts';
import type { Oid } from '../types.ts';
import { nameBatches } from './batches.ts';
import type { Completed } from './complete-batch.ts';
import { isFileOfTasks } from './evidence.ts';
import { dependenciesName, type SpecTask, tasksName } from './read-spec.ts';
import { type BatchPorts, isIgnoredSpec, type Situation } from './situation.ts';
import { checkpointName } from './spec-checkpoint.ts';

/** The commit of a batch: its commands, and which of the user's changes it leaves out. */
export type BatchCommit = {
  readonly commands: readonly (readonly string[])[];
  /** The commands as a line for a shell. */
  readonly line: string;
  readonly leftOut: readonly string[];
  /** Files that no task names, and that are in it because they are staged. */
  readonly staged: readonly string[];
};

/**
 * Plans the commit of completed tasks that are not committed yet; null if there are none. It contains the spec's own
 * files, the changed files that its tasks name, and what the user has staged. Nothing else.
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
  const isIn = ({ path }: ChangedFile) => own.includes(path) || isFileOfTasks(uncommitted, path);
  const paths = changed.filter((file) => file.canBeAdded && isIn(file)).map(({ path }) => path);
  const others = changed.filter((file) => !isIn(file));
  const { subject, trailers } = describeTasks(situation, uncommitted);
  // If the work has its own commit, that one names the tasks.
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

export type CommittedWork = {
  readonly oid: Oid;
  /** Files that no task names, and that are in it because they were staged. */
  readonly staged: readonly string[];
};

/**
 * Commits the uncommitted work on tasks: the files they name, and what is staged; returns null if there is none. It comes
 * before the commit of the spec's own files, because those name the commit that did a task.
 */
export async function commitWork(
  { git, repository }: BatchPorts,
  situation: Situation,
  tasks: readonly SpecTask[],
): Promise<CommittedWork | null> {
  if (git.name !== 'native') return null;
  const isSpec = ({ path }: ChangedFile) => path.startsWith(`${situation.folder}/`);
  const changed = (await listUncommitted(repository)).filter((file) => !isSpec(file));
  const isNamed = ({ path }: ChangedFile) => isFileOfTasks(tasks, path);
  const work = changed.filter((file) => file.isStaged || isNamed(file));
  if (work.length === 0) return null;
  const paths = work.filter((file) => file.canBeAdded && isNamed(file)).map(({ path }) => path);
  const { subject, trailers } = describeTasks(situation, tasks);
  const oid = await commitForUser(repository, commitCommands(paths, subject, trailers));
  return { oid, staged: work.filter((file) => !isNamed(file)).map(({ path }) => path) };
}

/** Refuses, before anything is changed, a batch that could not be committed afterwards. */
export async function checkCommit(ports: BatchPorts, folder: string): Promise<void> {
  refuseDuringOperation(ports.repository);
  if (!(await isIgnoredSpec(ports, folder))) return;
  throw new OrchError('GIT_FAILED', `git ignores ${folder}, so it cannot be committed`, {
    hint: 'Nothing was changed. Complete it without --commit, or remove the folder from .gitignore',
    data: { folder },
  });
}
