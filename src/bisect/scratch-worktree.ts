import { join } from 'node:path';
import { explainWrites, messageOf } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import {
  addWorktree,
  isLeftBehind,
  listOwnWorktrees,
  type OwnWorktree,
  openWorktree,
  removeWorktree,
  switchWorktree,
} from '../git/worktree/own-worktrees.ts';
import { chooseWorktreesFolder } from '../git/worktree/worktrees-folder.ts';
import type { Orch } from '../orch.ts';
import { copyFiles } from '../system/copy-files.ts';
import { statIfThere } from '../system/disk.ts';
import { formatProcesses } from '../system/process/process-table.ts';
import type { Oid } from '../types.ts';
import { endLeftovers } from './try-command.ts';

/** A worktree beside the user's, in which one version of the code after another is tried. */
export type ScratchWorktree = {
  readonly path: string;
  /** The environment entry of everything that runs in it. */
  readonly marker: string;
  /** Brings its files to a commit. */
  show(commit: Oid): Promise<void>;
  /** A folder below its top; the top if there is none. */
  findFolder(folder: string): string;
  /** Removes it. Reports what keeps it from being removed. */
  close(): Promise<void>;
};

type ScratchRequest = {
  readonly commit: Oid;
  readonly reason: string;
  /** Paths below the top of the user's worktree that are copied into it. */
  readonly copy: readonly string[];
  readonly top: string;
  readonly signal: AbortSignal | undefined;
};

const prefix = 'bisect-';

function markerOf({ name }: Pick<OwnWorktree, 'name'>): string {
  return `ORCH_BISECT=${name}`;
}

export async function openScratchWorktree(orch: Orch, request: ScratchRequest): Promise<ScratchWorktree> {
  const { commit, reason, copy, top, signal } = request;
  const name = `${prefix}${orch.random.id(6)}`;
  const folder = await chooseWorktreesFolder(orch.repository, (await orch.readConfig()).worktrees);
  const own = await addWorktree(orch, { name, commit, branch: null, reason, folder });
  try {
    const worktree: Repository = openWorktree(own);
    await explainWrites(`files could not be copied into ${own.path}`, async () => {
      for (const path of copy) await copyFiles(join(top, path), join(own.path, path), signal);
    });
    return {
      path: own.path,
      marker: markerOf(own),
      show: (next) => switchWorktree(orch, worktree, next, copy),
      findFolder: (folder) => {
        const inner = join(own.path, folder);
        return statIfThere(inner)?.isDirectory() ? inner : own.path;
      },
      close: () => remove(orch, own),
    };
  } catch (error) {
    await remove(orch, own);
    throw error;
  }
}

/** Removes what killed searches left: their processes, then their worktrees. Leaves those of living processes alone. */
export async function removeLeftBehind(orch: Orch): Promise<void> {
  for (const own of listOwnWorktrees(orch, prefix)) if (isLeftBehind(own)) await remove(orch, own);
}

/** A search that is done must not fail because of what is left: the next one tries again to remove it. */
async function remove(orch: Orch, own: OwnWorktree): Promise<void> {
  try {
    await endLeftovers(markerOf(own));
    const working = await removeWorktree(orch, own);
    if (working.length > 0)
      orch.report(
        `${own.path} is still in use by ${formatProcesses(working)}; the next orch bisect removes it`,
      );
  } catch (error) {
    orch.report(`${own.path} could not be removed: ${messageOf(error)}; the next orch bisect tries again`);
  }
}
