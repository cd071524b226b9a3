import { basename } from 'node:path';
import { isRecord } from '../checks.ts';
import { findProtection } from '../config/yaml/user-file.ts';
import { editYamlRows } from '../config/yaml/yaml-edit.ts';
import { hash } from '../digest.ts';
import { OrchError, writeFailed } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import type { Fact } from '../state/facts.ts';
import type { State } from '../state/lists.ts';
import { removeLeftovers, replaceFile } from '../system/disk.ts';
import { listCompleted, type Position } from './batches.ts';
import { type Evidence, type SpecTask, tasksName } from './read-spec.ts';
import type { BatchPorts, Situation } from './situation.ts';
import {
  checkpointName,
  type DeferredIssue,
  formatSpecCheckpoint,
  type SpecProgress,
} from './spec-checkpoint.ts';

/** A task, with what shows that it is done. */
export type TaskEvidence = { readonly task: SpecTask; readonly evidence: Evidence };

/** Updates the status of tasks in tasks.yaml. Returns false, and writes nothing, if another process has written the file. */
export function writeTasks(
  ports: BatchPorts,
  { folder, files }: Situation,
  evidenced: readonly TaskEvidence[],
  status: 'completed' | 'in_progress' = 'completed',
): Promise<boolean> {
  const rows = evidenced.map(({ task, evidence }) => {
    const isNew = (list: keyof Evidence) => (entry: string) => !task.evidence[list].includes(entry);
    const lists = {
      commits: evidence.commits.filter(isNew('commits')),
      files: evidence.files.filter(isNew('files')),
    };
    const filled = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
    const added = Object.keys(filled).length > 0 ? { evidence: filled } : {};
    return { index: task.index, changes: { status, ...added } };
  });
  const { path, bytes } = files.tasks;
  const edited = editYamlRows(bytes.toString('utf8'), 'tasks', rows);
  if ('problem' in edited)
    throw new OrchError('PLAN_INVALID', `${folder}/${tasksName} cannot be updated: ${edited.problem}`, {
      hint: 'Nothing was changed. Set the status in the file yourself, then run the same command again',
      data: { file: `${folder}/${tasksName}` },
    });
  return write(ports, path, bytes, edited.text);
}

/** Writes checkpoint.yaml. Returns false, and writes nothing, if another process has written it. */
export function writeCheckpoint(
  ports: BatchPorts,
  { files }: Situation,
  progress: SpecProgress,
): Promise<boolean> {
  const path = files.checkpoint?.path ?? `${files.tasks.path.slice(0, -tasksName.length)}${checkpointName}`;
  return write(ports, path, files.checkpoint?.bytes ?? null, formatSpecCheckpoint(progress));
}

/** Makes the error for files that another process keeps writing. */
export function conflictError(folder: string): OrchError {
  return new OrchError('REF_CONFLICT', `another process has written the files of ${folder}`, {
    hint: 'Its changes were kept. Run the same command again.',
  });
}

async function write(
  { disk, random, clock }: BatchPorts,
  path: string,
  expected: Buffer | null,
  text: string,
): Promise<boolean> {
  const what = `${basename(path)} could not be written`;
  const protection = expected && findProtection(path);
  if (protection)
    throw new OrchError('WRITE_FAILED', `${what}: ${protection}`, { hint: `chmod u+w ${path}` });
  try {
    removeLeftovers(disk, path, clock.now());
    return await replaceFile(disk, path, { expected, bytes: Buffer.from(text) }, random.id(8));
  } catch (error) {
    throw writeFailed(what, error);
  }
}

/** How far a spec is, as an epic records it. */
type Progress = {
  readonly folder: string;
  readonly tasks: readonly SpecTask[];
  readonly position: Position;
  readonly deferred: readonly DeferredIssue[];
};

function keyOf(folder: string): string {
  return `spec:${folder}`;
}

function digestOf({ tasks, deferred }: Progress): string {
  const issues = deferred.map(({ description, location }) => [description, location]);
  return hash('sha256', JSON.stringify([[...listCompleted(tasks)].sort(), issues])).slice(0, 16);
}

/** Whether a state has recorded this progress. */
export function isRecorded(state: State, progress: Progress): boolean {
  const known = lookUp(state.current, keyOf(progress.folder))?.value;
  return isRecord(known) && known.digest === digestOf(progress);
}

/**
 * Makes the facts about completed tasks and those that come next. The spec's progress is the last fact: facts are written
 * in order, so if it is recorded, so are the others.
 */
export function makeProgressFacts(state: State, progress: Progress, completed: readonly SpecTask[]): Fact[] {
  const { folder, tasks, position } = progress;
  const statusOf = ({ id }: SpecTask) => lookUp(state.issues, id)?.value.status;
  const describe = (task: SpecTask, status: 'done' | 'open'): Fact => {
    const { id, name, files } = task;
    return { kind: 'issue', id, title: name, status, severity: null, location: files[0] ?? null };
  };
  const next = position.batch?.tasks.filter((task) => statusOf(task) === undefined) ?? [];
  return [
    ...completed.filter((task) => statusOf(task) !== 'done').map((task) => describe(task, 'done')),
    ...next.map((task) => describe(task, 'open')),
    {
      kind: 'current_set',
      key: keyOf(folder),
      value: {
        batch: position.lastBatch,
        batches: position.total,
        completed: listCompleted(tasks).size,
        tasks: tasks.length,
        next: position.batch?.tasks.slice(0, 20).map(({ id }) => id) ?? [],
        digest: digestOf(progress),
      },
    },
  ];
}
