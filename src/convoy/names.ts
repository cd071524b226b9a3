import { hash } from '../digest.ts';
import { keptOfLongEpic, parseEpicId } from '../ids.ts';
import type { EpicId } from '../types.ts';

/* What belongs to a convoy is named after it, so that people find it with git. */

const longestId = 64;

/** A task's id as a part of names: `deploy[eu]` → `deploy.eu`. Ids that would become alike get a digest. */
function plainTask(task: string): string {
  const plain = task
    .replace(/[[#]/g, '.')
    .replace(/\]/g, '')
    .replace(/\.lock$/, '.lck');
  return plain === task && !plain.endsWith('.') && !plain.includes('..')
    ? task
    : `${plain.replace(/\.+/g, '.')}-${hash('sha256', task).slice(0, 6)}`;
}

/** The epic that records one task: `auth--login`. */
export function taskEpic(convoy: EpicId, task: string): EpicId {
  const whole = `${convoy}--${plainTask(task)}`;
  if (whole.length <= longestId) return parseEpicId(whole);
  return parseEpicId(`${whole.slice(0, keptOfLongEpic)}-${hash('sha256', whole).slice(0, 8)}`);
}

/** What the worker of a task does is on this branch. */
export function taskBranch(convoy: EpicId, task: string): string {
  return `orch/${convoy}/${plainTask(task)}`;
}

/** What is merged so far is on this branch; no task can have its name. */
export function mergedBranch(convoy: EpicId): string {
  return `orch/${convoy}/${mergedName}`;
}

export const mergedName = 'merged';

/** The worktree of a task, or with `merged` that of the merged branch, below the folder for orch's worktrees. */
export function worktreeName(convoy: EpicId, task: string): string {
  return `${convoy}/${plainTask(task)}`;
}
