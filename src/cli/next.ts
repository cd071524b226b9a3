import { join, relative } from 'node:path';
import { readInnerPath } from '../ids.ts';
import { quoteForShell } from '../integration/orch-command.ts';
import { isUnfinished, listNewestRuns } from '../plan/runs.ts';
import type { EpicView } from '../session/context.ts';
import type { EpicStatus } from '../session/status.ts';
import { realPath } from '../system/files.ts';

/** Where the user stands: the folder they type in, and the top of the working tree, where there is one. */
export type Standpoint = { readonly cwd: string; readonly worktree: string | null };

/** The command that goes on with an epic that waits for somebody; null where none does. */
export function suggestNext(
  { epic, state }: EpicView,
  { session, agents }: EpicStatus,
  standpoint: Standpoint,
): string | null {
  const isLeft = agents.some((agent) => agent.status === 'interrupted');
  const status = isLeft && session?.status !== 'budget_exceeded' ? 'interrupted' : session?.status;
  const isRunning = agents.some((agent) => agent.status !== 'interrupted');
  if (status === undefined || isRunning || status === 'running' || status === 'initializing') return null;
  const more = status === 'budget_exceeded' ? ' --budget +10' : '';
  const run = listNewestRuns(state).find(isUnfinished);
  if (run) {
    // A program that made its plan itself goes on with it when it is called again.
    const file = readInnerPath(run.head.file);
    if (file === null) return `orch run --list -e ${epic}`;
    return `${formatRunAgain(placeFrom(file, standpoint), epic)}${more}`;
  }
  return status === 'interrupted' || more !== '' ? `orch resume -e ${epic}${more}` : null;
}

/** What goes on with a run of the plan in this file. */
export function formatRunAgain(file: string, epic: string | null): string {
  const named = epic === null ? [] : ['-e', epic];
  return quoteForShell(['orch', 'run', file, '--resume', ...named]);
}

function placeFrom(file: string, { cwd, worktree }: Standpoint): string {
  return worktree === null ? file : relative(realPath(cwd), join(realPath(worktree), file));
}
