import { OrchError } from '../../errors.ts';
import { runGit } from '../../git/run-git.ts';
import {
  countChanges,
  currentBranch,
  findCheckout,
  findMergeBase,
  isAncestor,
  moveBranch,
  readBranch,
  readCommit,
} from '../../git/worktree/merge-commits.ts';
import { mergeCommits } from '../../git/worktree/merge-tree.ts';
import { commitForUser, refuseDuringOperation } from '../../git/worktree/user-commit.ts';
import type { Orch } from '../../orch.ts';
import { quoteForShell } from '../../text.ts';
import type { EpicId, Oid } from '../../types.ts';
import { mergedBranch } from '../names.ts';
import { refuseWorkers } from '../steer/refuse-workers.ts';
import { isCutOff, noteLanding, takeBackCutOff } from './cut-off-landing.ts';

export type Landing = {
  readonly from: string;
  readonly into: string;
  readonly commit: Oid;
  readonly files: number;
  readonly added: number;
  readonly removed: number;
  readonly isFastForward: boolean;
  /** Has the branch everything already? */
  readonly isLanded: boolean;
};

/** What merging a convoy's branch into the user's would do. */
export async function previewLanding(orch: Orch, convoy: EpicId, into: string | null): Promise<Landing> {
  const { repository } = orch;
  const from = mergedBranch(convoy);
  const commit = await readBranch(repository, from);
  if (commit === null)
    throw new OrchError('EPIC_NOT_FOUND', `there is no convoy ${convoy}: the branch ${from} does not exist`, {
      hint: 'Start it: orch convoy start PLAN',
    });
  const target = into ?? (await currentBranch(repository));
  const refuse = (why: string) =>
    new OrchError('USAGE', why, { hint: 'Name the branch to merge into: --into main' });
  if (target === null) throw refuse('no branch is checked out here');
  const tip = await readBranch(repository, target);
  if (tip === null) throw refuse(`there is no branch ${target} to merge into`);
  if (target.startsWith(`orch/${convoy}/`)) throw refuse(`${target} is a branch of the convoy itself`);
  return {
    ...{ from, into: target, commit },
    ...(await countChanges(repository, (await findMergeBase(repository, tip, commit)) ?? tip, commit)),
    isFastForward: await isAncestor(repository, tip, commit),
    isLanded: await isAncestor(repository, commit, tip),
  };
}

/** Where the branch is, and the files it gets; no files if the branch is not checked out and just moves. */
type Prepared = { readonly tip: Oid; readonly tree: Oid | null };

/** Refuses what would not land. Changes nothing. */
export async function checkLanding(orch: Orch, { from, into, commit }: Landing): Promise<Prepared> {
  const { repository } = orch;
  const data = { from, into };
  if (into !== (await currentBranch(repository))) {
    const tip = await readBranch(repository, into);
    if (tip === null || !(await isAncestor(repository, tip, commit)))
      throw new OrchError(
        'GIT_FAILED',
        `${into} has commits that ${from} has not, so it is no fast-forward`,
        { hint: `Merge it yourself: git switch ${into} && git merge ${from}`, data },
      );
    const where = await findCheckout(repository, into);
    if (where === null) return { tip, tree: null };
    throw new OrchError('GIT_FAILED', `${into} is checked out in ${where}, whose files would not follow`, {
      hint: `Nothing was changed. Land it there: git -C ${quoteForShell([where])} merge ${from}`,
      data,
    });
  }
  // What is left of a landing that was cut off is taken back first.
  if (!isCutOff(orch)) {
    refuseDuringOperation(repository);
    const dirty = (await runGit(repository, ['status', '--porcelain', '--untracked-files=no'])).trim();
    if (dirty !== '')
      throw new OrchError('GIT_FAILED', `${into} is checked out here with uncommitted changes`, {
        hint: `Nothing was changed. Commit them first, or merge it yourself: git merge ${from}`,
        data,
      });
  }
  const tip = await readCommit(repository);
  const tried = await mergeCommits(repository, tip, commit);
  if (tried.kind === 'merged') return { tip, tree: tried.tree };
  throw new OrchError('GIT_FAILED', `it conflicts with ${into}, in ${tried.files.join(', ')}`, {
    hint: `Nothing was changed. Merge it yourself and resolve the conflicts: git merge ${from}`,
    data,
  });
}

/**
 * Merges a convoy's branch into the user's: the only call of a convoy that touches it. The branch that is checked out is
 * merged only if nothing is uncommitted there.
 */
export async function landConvoy(orch: Orch, convoy: EpicId, landing: Landing): Promise<Oid> {
  refuseWorkers(orch, convoy, 'land what is merged');
  const { repository } = orch;
  const { from, into, commit } = landing;
  const isHere = into === (await currentBranch(repository));
  if (isHere && (await takeBackCutOff(orch)))
    orch.report('an earlier landing was cut off; its changes were taken back first');
  const { tip, tree } = await checkLanding(orch, landing);
  if (tree === null) {
    await moveBranch(repository, into, commit, tip, `convoy: land ${from}`);
    return commit;
  }
  const forget = await noteLanding(orch, { branch: into, tip, tree });
  await commitForUser(
    repository,
    [['merge', '--no-edit', '-m', `Merge branch '${from}'`, commit]],
    'See what it left: git status. Take it back: git merge --abort',
  ).finally(forget);
  return (await readBranch(repository, into)) ?? commit;
}
