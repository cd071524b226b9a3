import { OrchError } from '../../errors.ts';
import { findCheckout, readBranch } from '../../git/worktree/merge-commits.ts';
import type { Orch } from '../../orch.ts';
import type { Oid } from '../../types.ts';

/** The tip of the merged branch, read anew each time. */
export function openTip({ repository }: Orch, branch: string): () => Promise<Oid> {
  let last: Oid | null = null;
  return async () => {
    const found = await readBranch(repository, branch);
    if (found !== null) {
      last = found;
      return found;
    }
    throw new OrchError('GIT_FAILED', `the branch ${branch} is gone`, {
      hint:
        last === null
          ? `Create it at the commit it was at: git branch ${branch} COMMIT`
          : `Bring it back: git branch ${branch} ${last.slice(0, 10)}`,
      data: { branch, last },
    });
  };
}

/** Moving a branch under the files of another worktree would make these look changed. */
export async function refuseCheckedOut({ repository }: Orch, branch: string): Promise<void> {
  const where = await findCheckout(repository, branch);
  if (where === null) return;
  throw new OrchError('GIT_FAILED', `the branch ${branch} is checked out in ${where}`, {
    hint: 'Switch to another branch there, then run the same command again',
    data: { branch, folder: where },
  });
}
