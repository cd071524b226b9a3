import { messageOf, OrchError } from '../../errors.ts';
import { listOwnWorktrees, type OwnWorktree, removeWorktree } from '../../git/worktree/own-worktrees.ts';
import type { Orch } from '../../orch.ts';
import { formatProcesses } from '../../system/process/process-table.ts';
import type { EpicId } from '../../types.ts';
import type { KnownConvoy } from '../find-convoy.ts';
import { mergedName, worktreeName } from '../names.ts';
import { refuseWorkers } from '../steer/refuse-workers.ts';
import { removeTaskWorktree } from './free-worktrees.ts';

/** A worktree of a convoy, and why it stays; null if it is gone. */
export type CleanedWorktree = { readonly path: string; readonly kept: string | null };

/** Lists the worktrees that a convoy has left, without those of a convoy at work. */
export function listLeftWorktrees(orch: Orch, { epic, isActive }: KnownConvoy): OwnWorktree[] {
  if (isActive)
    throw new OrchError('SESSION_ACTIVE', `${epic} is at work, and needs its worktrees`, {
      hint: `Pause it first: orch convoy pause ${epic}`,
    });
  return listOwnWorktrees(orch, `${epic}/`);
}

/**
 * Removes the worktrees of a convoy that does not work: what is uncommitted there is committed on the task's branch first.
 * A task that continues later gets a new one.
 */
export async function cleanConvoy(orch: Orch, convoy: KnownConvoy): Promise<CleanedWorktree[]> {
  refuseWorkers(orch, convoy.epic, 'remove worktrees');
  const cleaned: CleanedWorktree[] = [];
  for (const own of listLeftWorktrees(orch, convoy))
    cleaned.push({ path: own.path, kept: await remove(orch, convoy.epic, own).catch(messageOf) });
  return cleaned;
}

async function remove(orch: Orch, epic: EpicId, own: OwnWorktree): Promise<string | null> {
  if (own.name !== worktreeName(epic, mergedName)) return removeTaskWorktree(orch, own);
  const working = await removeWorktree(orch, own);
  return working.length > 0 ? `it is in use by ${formatProcesses(working)}` : null;
}
