import { type Difference, findDifferences } from './differences.ts';
import { markTasks, readTaskHistory, shortenCommit } from './evidence.ts';
import { conflictError, writeTasks } from './progress-files.ts';
import type { SpecTask, TaskStatus } from './read-spec.ts';
import { type BatchPorts, readSince, readSituation, type Situation, withSpecLock } from './situation.ts';
import { type DeferredIssue, fileOf } from './spec-checkpoint.ts';

/* How far a spec is, as scripts read it. */

export type TaskView = {
  readonly id: string;
  readonly name: string;
  readonly file: string | readonly string[] | null;
  readonly status: TaskStatus;
};

export type NextBatch = {
  readonly spec: { readonly name: string; readonly path: string };
  /** The number of batches. */
  readonly total: number;
  /** The current batch; null if all are completed. */
  readonly batch: {
    readonly number: number;
    readonly tasks: readonly TaskView[];
    readonly parallel: boolean;
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

/** Describes the current batch and what waits for it. */
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

function describeStatus(situation: Situation, differs: readonly Difference[]): BatchStatus {
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

/** Reads how far a spec is, and what has changed since its last batch. */
export async function readStatus(ports: BatchPorts, folder: string): Promise<BatchStatus> {
  const situation = await readSituation(ports, folder);
  return describeStatus(situation, findDifferences(situation, await readSince(ports, situation)));
}

/** Finds tasks that commits of this branch completed but that are open in tasks.yaml; `write` marks them there. */
export function recoverFromGit(
  ports: BatchPorts,
  folder: string,
  write: boolean,
): Promise<{ readonly fromGit: readonly TaskFromGit[]; readonly status: BatchStatus }> {
  return withSpecLock(ports, folder, async () => {
    const situation = await readSituation(ports, folder);
    const { commit } = situation.head;
    const history = commit ? await readTaskHistory(ports.git, commit, folder) : new Map();
    const evidenced = situation.spec.tasks.flatMap((task) => {
      const by = history.get(task.id);
      if (by === undefined || task.status === 'completed') return [];
      return [{ task, evidence: { commits: [shortenCommit(by)], files: [] } }];
    });
    if (write && evidenced.length > 0 && !(await writeTasks(ports, situation, evidenced)))
      throw conflictError(folder);
    const tasks = evidenced.map(({ task }) => task);
    const after = write ? markTasks(situation, tasks, 'completed') : situation;
    const differs = findDifferences(after, await readSince(ports, after));
    const fromGit = evidenced.map(({ task, evidence }) => ({
      id: task.id,
      commit: evidence.commits[0] ?? '',
    }));
    return { fromGit, status: describeStatus(after, differs) };
  });
}
