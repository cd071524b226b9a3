import { join } from 'node:path';
import { nameFile } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import { nameTaskFile } from '../../plan/items.ts';
import type { RunProgress } from '../../plan/task/do-task.ts';
import { readView } from '../../record/view.ts';
import { handOver } from '../../session/handover.ts';
import { makeFolder, writeAtomically } from '../../system/disk.ts';
import type { EpicId } from '../../types.ts';
import { taskEpic } from '../names.ts';

/** Writes what is needed for a claimed task into files: the prompt, and the brief of what was done before. */
export async function writeClaimFiles(
  orch: Orch,
  { convoy, progress }: { readonly convoy: { readonly epic: EpicId }; readonly progress: RunProgress },
  task: string,
  prompt: string,
): Promise<{ readonly promptFile: string; readonly briefFile: string }> {
  const folder = join(orch.home, 'logs', nameFile(progress.run.id));
  const promptFile = join(folder, nameTaskFile(task, '.prompt.md'));
  const briefFile = join(folder, nameTaskFile(task, '.brief.md'));
  const view = await readView(orch, taskEpic(convoy.epic, task));
  const brief =
    Object.keys(view.state.sessions).length === 0 ? '' : (await handOver(orch, view, null)).quoted;
  await makeFolder(orch.disk, folder);
  await writeAtomically(orch, promptFile, prompt);
  await writeAtomically(orch, briefFile, brief);
  return { promptFile, briefFile };
}
