import { join } from 'node:path';
import { OrchError } from '../../errors.ts';
import { nameFile } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import { nameTaskFile } from '../../plan/items.ts';
import type { Task } from '../../plan/plan.ts';
import type { RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import { readTextIfThere, writeAtomically } from '../../system/disk.ts';
import { cleanLine, cutColumns } from '../../text.ts';

/* What a task's worker is told, in files that survive the scheduler. */

/** Reads what a task asks for. */
export function readPrompt(orch: Orch, { convoy: { prompt } }: Task): string {
  if (prompt === null || typeof prompt === 'string') return prompt ?? '';
  const path = join(orch.repository.worktree ?? '.', prompt.file);
  const text = readTextIfThere(path);
  if (text !== null) return text;
  throw new OrchError('PLAN_INVALID', `its prompt is in ${prompt.file}, and there is no such file`, {
    hint: `Write ${prompt.file}, then continue: orch convoy resume`,
  });
}

const longestTitle = 60;

/** What a task is about, in a line: its name, or the beginning of its prompt. */
export function titleOf({ id, name, convoy: { prompt } }: Task): string {
  if (name !== id || typeof prompt !== 'string') return name;
  const [line = ''] = prompt.trim().split('\n');
  return cutColumns(cleanLine(line).replace(/\.$/, ''), longestTitle) || name;
}

/** The file in which any agent finds its prompt. */
export function promptFile({ home }: TaskPorts, { run }: RunProgress, { id }: Task): string {
  return join(home, 'logs', nameFile(run.id), nameTaskFile(id, '.prompt.md'));
}

function feedbackFile({ home }: Pick<TaskPorts, 'home'>, { run }: RunProgress, { id }: Task): string {
  return join(home, 'logs', nameFile(run.id), nameTaskFile(id, '.feedback.md'));
}

/** Keeps why work was sent back, for a scheduler that continues after a crash. */
export async function keepFeedback(
  ports: TaskPorts,
  progress: RunProgress,
  task: Task,
  feedback: string,
): Promise<string> {
  const kept = await ports.redact(feedback);
  await writeAtomically(ports, feedbackFile(ports, progress, task), kept);
  return kept;
}

/** Reads why work was sent back the last time; null if it was not. */
export function readFeedback(orch: Orch, progress: RunProgress, task: Task): string | null {
  return readTextIfThere(feedbackFile(orch, progress, task));
}
