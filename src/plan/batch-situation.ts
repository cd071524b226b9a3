import { OrchError } from '../errors.ts';
import type { Head } from '../git/engine.ts';
import { readCommit, readPath } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { isIgnored } from '../git/surroundings.ts';
import {
  dependenciesName,
  parseSpec,
  type ReadSpec,
  type Spec,
  type SpecTask,
  tasksName,
} from '../integration/spec.ts';
import { checkpointName, parseSpecCheckpoint, type SpecCheckpoint } from '../integration/spec-checkpoint.ts';
import { readUserFile, type UserFile } from '../integration/user-file.ts';
import type { SessionPorts } from '../session/record.ts';
import { findPosition, layOutBatches, type Position } from './batches.ts';

export type BatchPorts = SessionPorts & { readonly repository: Repository };

/** A spec as it stands in the working tree. */
export type Situation = {
  /** `specs/active/auth-system` */
  readonly folder: string;
  readonly spec: Spec;
  readonly batches: readonly (readonly SpecTask[])[];
  readonly position: Position;
  /** What was written after the last batch; null before the first. */
  readonly checkpoint: SpecCheckpoint | null;
  readonly files: { readonly tasks: UserFile; readonly checkpoint: UserFile | null };
  readonly head: Head;
};

/** Far more than anybody plans. */
const mostBytes = 4 * 1024 * 1024;

/** Reads a spec, its checkpoint, and where the repository stands. */
export async function readSituation(ports: BatchPorts, folder: string): Promise<Situation> {
  const worktree = requireWorktree(ports);
  const read = (name: string) => readSpecFile(worktree, `${folder}/${name}`);
  const tasks = read(tasksName) ?? missing(`${folder}/${tasksName}`);
  const dependencies = read(dependenciesName) ?? missing(`${folder}/${dependenciesName}`);
  const checkpoint = read(checkpointName);
  const parsed = parseSpec({ folder, tasks: textOf(tasks), dependencies: textOf(dependencies) });
  const batches = layOutBatches(parsed);
  return {
    folder,
    spec: parsed.spec,
    batches,
    position: findPosition(batches),
    checkpoint: checkpoint && parseSpecCheckpoint(`${folder}/${checkpointName}`, textOf(checkpoint)),
    files: { tasks, checkpoint },
    head: await ports.git.readHead(),
  };
}

export function requireWorktree({ repository }: BatchPorts): string {
  if (repository.worktree !== null) return repository.worktree;
  throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no files, and so no spec', {
    hint: 'Run it in a working tree',
  });
}

function textOf({ bytes }: UserFile): string {
  return bytes.toString('utf8');
}

function readSpecFile(worktree: string, path: string): UserFile | null {
  const found = readUserFile(worktree, path, mostBytes);
  if (found === null || !('problem' in found)) return found;
  throw new OrchError('PLAN_INVALID', `${path} cannot be read: ${found.problem}`, {
    hint: 'Make it a readable text file in the repository, then run the same command again',
    data: { file: path },
  });
}

function missing(path: string): never {
  throw new OrchError('PLAN_INVALID', `there is no ${path}`, {
    hint: path.endsWith(tasksName)
      ? 'A spec is a folder with tasks.yaml and dependencies.yaml; name it with --spec DIR'
      : 'Write one; "phases: []" is enough where tasks.yaml says what depends on what',
    data: { file: path },
  });
}

/**
 * The tasks that are completed by the tasks.yaml of HEAD; none where it has no such file, or one nobody can read. Where
 * git ignores the spec, nothing of it waits to be committed: null.
 */
export async function readCommitted(
  ports: BatchPorts,
  { head, folder }: Pick<Situation, 'head' | 'folder'>,
): Promise<ReadonlySet<string> | null> {
  const { git } = ports;
  const tree = head.commit && (await readCommit(git, head.commit)).tree;
  const bytes = tree && (await readPath(git, tree, [...folder.split('/'), tasksName]));
  if (!bytes) return (await isIgnoredSpec(ports, folder)) ? null : new Set();
  const read: ReadSpec = parseSpec({ folder, tasks: bytes.toString('utf8'), dependencies: 'phases: []' });
  return new Set(read.spec.tasks.filter(({ status }) => status === 'completed').map(({ id }) => id));
}

/** Does git take no notice of a spec's files? */
export async function isIgnoredSpec({ git, repository }: BatchPorts, folder: string): Promise<boolean> {
  return git.name === 'native' && isIgnored(repository, `${folder}/${tasksName}`);
}
