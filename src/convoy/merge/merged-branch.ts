import { OrchError } from '../../errors.ts';
import { findCheckout, isAncestor, moveBranch, readBranch } from '../../git/worktree/merge-commits.ts';
import type { Orch } from '../../orch.ts';
import type { Oid } from '../../types.ts';

/** A convoy's merged branch. It is read anew each time, because anyone may move or delete it. */
export function openMergedBranch({ repository }: Orch, branch: string) {
  let last: Oid | null = null;
  return {
    read: async (): Promise<Oid> => {
      const found = await readBranch(repository, branch);
      if (found !== null && last !== null && found !== last && !(await isAncestor(repository, last, found)))
        throw new OrchError(
          'GIT_FAILED',
          `${branch} was moved, and not all that is merged is on it; it was at ${last.slice(0, 10)}`,
          {
            hint: `Bring it back: git branch --force ${branch} ${last.slice(0, 10)}`,
            data: { branch, last, found },
          },
        );
      if (found !== null) {
        last = found;
        return found;
      }
      throw new OrchError('GIT_FAILED', `the branch ${branch} is gone`, {
        hint: `Bring it back: git branch ${branch} ${last === null ? 'COMMIT' : last.slice(0, 10)}`,
        data: { branch, last },
      });
    },
    /** Moves it from exactly one commit to another. */
    move: async (from: Oid, to: Oid, why: string): Promise<void> => {
      await moveBranch(repository, branch, to, from, why);
      last = to;
    },
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
