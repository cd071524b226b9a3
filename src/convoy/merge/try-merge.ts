import type { Repository } from '../../git/repository.ts';
import { askGit, gitFailed } from '../../git/run-git.ts';
import {
  findCaseClashes,
  findMergeDrivers,
  ignoresCase,
  mergeCommits,
} from '../../git/worktree/merge-tree.ts';
import { switchWorktree } from '../../git/worktree/own-worktrees.ts';
import type { Orch } from '../../orch.ts';
import type { Oid } from '../../types.ts';
import type { Refusal } from './feedback.ts';

/* The worktree in which candidates are merged and tried. */

export type Tried =
  | { readonly kind: 'merged'; readonly tree: Oid }
  | ({ readonly kind: 'refused' } & Refusal);

export type MergePlace = {
  readonly worktree: Repository;
  /** Merges one commit onto another, without its files. */
  tryMerge(ours: Oid, theirs: Oid): Promise<Tried>;
  /** Brings the files to a commit, exactly. */
  show(commit: Oid): Promise<void>;
  /** What runs there now may change files. */
  disturb(): void;
};

/** Opens the worktree for merging. Files are written only where they matter: for gates, and if attributes change. */
export async function openMergePlace(orch: Orch, worktree: Repository): Promise<MergePlace> {
  const isCaseBlind = await ignoresCase(worktree);
  let shown: Oid | null = null;
  const show = async (commit: Oid) => {
    shown = null;
    await switchWorktree(orch, worktree, commit);
    shown = commit;
  };
  return {
    worktree,
    show,
    disturb: () => {
      shown = null;
    },
    tryMerge: async (ours, theirs) => {
      // Git reads attributes from the files: they have to be those of the side that is merged onto.
      if (shown === null || !(await haveSameAttributes(worktree, shown, ours))) await show(ours);
      const merged = await mergeCommits(worktree, ours, theirs);
      if (merged.kind === 'conflict') {
        const messages = merged.messages.replaceAll(ours, 'what is merged').replaceAll(theirs, 'yours');
        return { kind: 'refused', why: 'conflict', files: merged.files, messages };
      }
      const driven = await findMergeDrivers(worktree, merged.combined);
      if (driven.length > 0) return { kind: 'refused', why: 'driver', files: driven, messages: '' };
      const clashes = isCaseBlind ? await findCaseClashes(worktree, merged.tree, ours) : [];
      if (clashes.length > 0) return { kind: 'refused', why: 'case', files: clashes, messages: '' };
      return { kind: 'merged', tree: merged.tree };
    },
  };
}

async function haveSameAttributes(worktree: Repository, one: Oid, other: Oid): Promise<boolean> {
  if (one === other) return true;
  const args = ['diff-tree', '-r', '--quiet', one, other, '--', ':(glob)**/.gitattributes'];
  const result = await askGit(worktree, args);
  if (result.status !== 0 && result.status !== 1) throw gitFailed(args, result);
  return result.status === 0;
}
