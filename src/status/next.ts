import { join, relative } from 'node:path';
import { readInnerPath } from '../ids.ts';
import { isUnfinished, listNewestRuns } from '../plan/run/known-runs.ts';
import type { EpicView } from '../record/view.ts';
import type { EpicStatus } from '../session/epic-status.ts';
import { readCurrent } from '../state/current.ts';
import { realPath } from '../system/disk.ts';
import { quoteForShell } from '../text.ts';

/** Suggests the command that continues an epic; null if it needs none. File names in it are relative to `cwd`. */
export function suggestNext(
  { epic, state }: EpicView,
  { session, agents }: EpicStatus,
  { cwd, worktree }: { readonly cwd: string; readonly worktree: string | null },
): string | null {
  const isLeft = agents.some((agent) => agent.status === 'interrupted');
  const status = isLeft && session?.status !== 'budget_exceeded' ? 'interrupted' : session?.status;
  const isRunning = agents.some((agent) => agent.status !== 'interrupted');
  if (status === undefined || isRunning || status === 'running' || status === 'initializing') return null;
  const more = status === 'budget_exceeded' ? ' --budget +10' : '';
  const run = listNewestRuns(state).find(isUnfinished);
  if (run && readCurrent(state, 'convoy') !== null) return `orch convoy resume ${epic}${more}`;
  if (run) {
    // A program that made its own plan resumes it when it is called again.
    const file = readInnerPath(run.head.file);
    if (file === null) return `orch run --list -e ${epic}`;
    const path = worktree === null ? file : relative(realPath(cwd), join(realPath(worktree), file));
    const option = run.head.rollback === undefined ? '--resume' : '--rollback';
    return `${formatResumeCommand(path, epic, option)}${more}`;
  }
  return status === 'interrupted' || more !== '' ? `orch resume -e ${epic}${more}` : null;
}

/** Formats the command that resumes the run of the plan in a file, or its rollback. */
export function formatResumeCommand(
  file: string,
  epic: string | null,
  option: '--resume' | '--rollback' = '--resume',
): string {
  const named = epic === null ? [] : ['-e', epic];
  return quoteForShell(['orch', 'run', file, option, ...named]);
}
