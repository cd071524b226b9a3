import { join } from 'node:path';
import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { nameFile } from '../ids.ts';
import type { SpecTask, TaskStatus } from '../integration/spec.ts';
import { type DeferredIssue, fileOf } from '../integration/spec-checkpoint.ts';
import { withLock } from '../system/lock.ts';
import { type Difference, findDifferences } from './batch-differences.ts';
import { markTasks, shortenCommit } from './batch-evidence.ts';
import { writeTasks } from './batch-files.ts';
import { readSince } from './batch-since.ts';
import { type BatchPorts, readSituation, type Situation } from './batch-situation.ts';
import { readTaskHistory } from './task-history.ts';

/* Where a spec stands, in the words that scripts read. */

export type TaskView = {
  readonly id: string;
  readonly name: string;
  readonly file: string | readonly string[] | null;
  readonly status: TaskStatus;
};

export type NextBatch = {
  readonly spec: { readonly name: string; readonly path: string };
  /** How many batches there are. */
  readonly total: number;
  /** What is left of the current one; null when all is done. */
  readonly batch: {
    readonly number: number;
    readonly tasks: readonly TaskView[];
    readonly parallel: boolean;
    /** What of it is done already. */
    readonly completed: readonly TaskView[];
  } | null;
  readonly blocked: readonly {
    readonly id: string;
    readonly name: string;
    readonly waitsFor: readonly string[];
  }[];
  readonly differs: readonly Difference[];
};

export type BatchStatus = NextBatch & {
  readonly lastBatch: number;
  readonly tasks: { readonly [S in TaskStatus]: readonly TaskView[] };
  readonly deferredIssues: readonly DeferredIssue[];
};

export type TaskFromGit = { readonly id: string; readonly commit: string };

function viewTask({ id, name, files, status }: SpecTask): TaskView {
  return { id, name, file: fileOf(files), status };
}

/** What is to be done next, and what waits for it. */
export function describeNext(situation: Situation, differs: readonly Difference[]): NextBatch {
  const { spec, folder, position } = situation;
  const { batch, total, blocked } = position;
  return {
    spec: { name: spec.name, path: folder },
    total,
    batch: batch && {
      number: batch.number,
      tasks: batch.tasks.map(viewTask),
      parallel: batch.parallel,
      completed: batch.completed.map(viewTask),
    },
    blocked: blocked.map(({ task, waitsFor }) => ({ id: task.id, name: task.name, waitsFor })),
    differs,
  };
}

export function describeStatus(situation: Situation, differs: readonly Difference[]): BatchStatus {
  const { spec, position, checkpoint } = situation;
  const listed = (status: TaskStatus) => spec.tasks.filter((task) => task.status === status).map(viewTask);
  return {
    ...describeNext(situation, differs),
    lastBatch: position.lastBatch,
    tasks: {
      completed: listed('completed'),
      in_progress: listed('in_progress'),
      pending: listed('pending'),
    },
    deferredIssues: checkpoint?.deferred ?? [],
  };
}

/** Reads where a spec stands, and what is not as it was after its last batch. */
export async function readStatus(ports: BatchPorts, folder: string): Promise<BatchStatus> {
  const situation = await readSituation(ports, folder);
  return describeStatus(situation, findDifferences(situation, await readSince(ports, situation)));
}

/** One call at a time works on a spec's files. */
export function withSpec<T>(ports: BatchPorts, folder: string, work: () => Promise<T>): Promise<T> {
  const name = hash('sha256', folder).slice(0, 16);
  return withLock(ports, join(ports.home, 'locks', nameFile(`spec-${name}`, '.lock')), work);
}

/** The tasks that commits of this branch completed, and tasks.yaml has as open; with `write` they are marked there. */
export function recoverFromGit(
  ports: BatchPorts,
  folder: string,
  write: boolean,
): Promise<{ readonly fromGit: readonly TaskFromGit[]; readonly status: BatchStatus }> {
  return withSpec(ports, folder, async () => {
    const situation = await readSituation(ports, folder);
    const { commit } = situation.head;
    const history = commit ? await readTaskHistory(ports.git, commit, folder) : new Map();
    const proofs = situation.spec.tasks.flatMap((task) => {
      const by = history.get(task.id);
      if (by === undefined || task.status === 'completed') return [];
      return [{ task, evidence: { commits: [shortenCommit(by)], files: [] } }];
    });
    if (write && proofs.length > 0 && !(await writeTasks(ports, situation, proofs)))
      throw new OrchError('REF_CONFLICT', `${folder}/tasks.yaml was written by another process meanwhile`, {
        hint: 'Nothing was overwritten. Run the same command again.',
      });
    const tasks = proofs.map(({ task }) => task);
    const after = write ? markTasks(situation, tasks, 'completed') : situation;
    const differs = findDifferences(after, await readSince(ports, after));
    const fromGit = proofs.map(({ task, evidence }) => ({
      id: task.id,
      commit: evidence.commits[0] ?? '',
    }));
    return { fromGit, status: describeStatus(after, differs) };
  });
}
