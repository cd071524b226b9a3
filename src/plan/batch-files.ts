import { basename } from 'node:path';
import { OrchError, writeFailed } from '../errors.ts';
import { type Evidence, type SpecTask, tasksName } from '../integration/spec.ts';
import { checkpointName, formatSpecCheckpoint, type SpecProgress } from '../integration/spec-checkpoint.ts';
import { findProtection } from '../integration/user-file.ts';
import { editYamlRows } from '../integration/yaml-edit-rows.ts';
import { removeLeftovers, replaceFile } from '../system/replace-file.ts';
import type { BatchPorts, Situation } from './batch-situation.ts';

/** A task, with what shows that it is done. */
export type Proof = { readonly task: SpecTask; readonly evidence: Evidence };

/** Gives tasks another status in tasks.yaml. False where another process wrote the file meanwhile: it stays as that left it. */
export function writeTasks(
  ports: BatchPorts,
  { folder, files }: Situation,
  proofs: readonly Proof[],
  status: 'completed' | 'in_progress' = 'completed',
): Promise<boolean> {
  const rows = proofs.map(({ task, evidence }) => {
    const isNew = (list: keyof Evidence) => (entry: string) => !task.evidence[list].includes(entry);
    const lists = {
      commits: evidence.commits.filter(isNew('commits')),
      files: evidence.files.filter(isNew('files')),
    };
    const filled = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
    const added = Object.keys(filled).length > 0 ? { evidence: filled } : {};
    return { index: task.index, values: { status }, added };
  });
  const { path, bytes } = files.tasks;
  const edited = editYamlRows(bytes.toString('utf8'), 'tasks', rows);
  if ('problem' in edited)
    throw new OrchError('PLAN_INVALID', `${folder}/${tasksName} cannot be updated: ${edited.problem}`, {
      hint: 'Nothing was changed. Set the status by hand, then run the same command again',
      data: { file: `${folder}/${tasksName}` },
    });
  return write(ports, path, bytes, edited.text);
}

/** Writes checkpoint.yaml anew. False where somebody else did meanwhile. */
export function writeCheckpoint(
  ports: BatchPorts,
  { files }: Situation,
  progress: SpecProgress,
): Promise<boolean> {
  const path = files.checkpoint?.path ?? `${files.tasks.path.slice(0, -tasksName.length)}${checkpointName}`;
  return write(ports, path, files.checkpoint?.bytes ?? null, formatSpecCheckpoint(progress));
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
