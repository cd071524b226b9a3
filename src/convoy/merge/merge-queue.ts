import { OrchError } from '../../errors.ts';
import type { Gate, GateOutcome } from '../../gates/gate.ts';
import { listGates } from '../../gates/run-baseline.ts';
import { runGates } from '../../gates/run-gates.ts';
import {
  countChanges,
  findCheckout,
  findMergeDrivers,
  findMergeOf,
  isAncestor,
  listChangedByBoth,
  mergeCommits,
  moveBranch,
  readBranch,
  readCommit,
  writeMergeCommit,
} from '../../git/worktree/merge-commits.ts';
import { type OwnWorktree, openWorktree, switchWorktree } from '../../git/worktree/own-worktrees.ts';
import type { Orch } from '../../orch.ts';
import { inheritedEnvironment } from '../../system/process/spawn.ts';
import type { EpicId, Oid } from '../../types.ts';
import { mergedBranch } from '../names.ts';

/* Finished work is merged one after another, the oldest first. The gates run on exactly the tree that is merged. */

/** Which gates have to pass: those of the repository, some of them, or none. */
export type GateChoice = 'auto' | 'none' | readonly string[];

export type MergeRequest = {
  readonly task: string;
  readonly name: string;
  readonly lease: number;
  readonly commit: Oid;
};

export type MergeResult =
  | { readonly kind: 'merged'; readonly commit: Oid; readonly files: number }
  /** It goes back to the worker, with what is wrong. */
  | { readonly kind: 'sent_back'; readonly feedback: string }
  | { readonly kind: 'stopped' };

export type MergeQueue = {
  merge(request: MergeRequest, signal: AbortSignal): Promise<MergeResult>;
  /** Does something else in the files of what is merged, in turn. */
  onMerged<T>(work: () => Promise<T>): Promise<T>;
  tip(): Promise<Oid>;
};

/** Opens the queue of a convoy. Gates that were red at its base are reported and count against no task. */
export async function openMergeQueue(
  orch: Orch,
  {
    convoy,
    worktree: own,
    gates: choice,
  }: { readonly convoy: EpicId; readonly worktree: OwnWorktree; readonly gates: GateChoice },
): Promise<MergeQueue & { readonly redAtBase: readonly string[] }> {
  const worktree = openWorktree(own);
  const branch = mergedBranch(convoy);
  const inTurn = makeTurns();
  const tip = async () => {
    const found = await readBranch(orch.repository, branch);
    if (found === null)
      throw new OrchError('GIT_FAILED', `the branch ${branch} is gone`, {
        hint: `Bring it back with git reflog and: git branch ${branch} COMMIT`,
        data: { branch },
      });
    return found;
  };
  const chooseGates = async () => {
    if (choice === 'none') return [];
    const found = listGates(await orch.readConfig(), own.path);
    return choice === 'auto' ? found : found.filter(({ name }) => choice.includes(name));
  };
  const run = async (gates: readonly Gate[], signal: AbortSignal) =>
    runGates(gates, {
      cwd: own.path,
      env: inheritedEnvironment(),
      clock: orch.clock,
      redact: orch.redact,
      signal,
    });

  await switchWorktree(orch, worktree, await tip());
  const atBase = await run(await chooseGates(), new AbortController().signal);
  const redAtBase = atBase.filter(isRed).map(({ name }) => name);

  async function mergeNow(
    { task, name, lease, commit }: MergeRequest,
    signal: AbortSignal,
  ): Promise<MergeResult> {
    if (signal.aborted) return { kind: 'stopped' };
    const from = await tip();
    // It was merged before a crash kept that from being recorded.
    if (await isAncestor(worktree, commit, from)) {
      const merge = await findMergeOf(worktree, commit, from);
      if (merge !== null) return { kind: 'merged', commit: merge, files: 0 };
      return { kind: 'sent_back', feedback: `Your branch has nothing that is not on ${branch} already.` };
    }
    await refuseCheckedOut(orch, branch);
    await switchWorktree(orch, worktree, from);
    const driven = await findMergeDrivers(worktree, await listChangedByBoth(worktree, from, commit));
    const merged = await mergeCommits(worktree, from, commit);
    if (merged.kind === 'conflict' || driven.length > 0) {
      const files = merged.kind === 'conflict' ? merged.files : driven;
      return {
        kind: 'sent_back',
        feedback: describeConflict(branch, files, merged.kind === 'conflict' ? merged.messages : ''),
      };
    }
    const trailers = `Orch-Convoy: ${convoy}\nOrch-Task: ${task}\nOrch-Lease: ${lease}\n`;
    const candidate = await writeMergeCommit(
      worktree,
      merged.tree,
      [from, commit],
      `${task}: ${name}\n\n${trailers}`,
    );
    await switchWorktree(orch, worktree, candidate);
    const gates = await chooseGates();
    let red = (await run(gates, signal)).filter(isRed).filter((gate) => !redAtBase.includes(gate.name));
    // Once more: a test that fails now and then is no fault of the task.
    if (red.length > 0 && !signal.aborted) red = (await run(gates.filter(named(red)), signal)).filter(isRed);
    if (signal.aborted) return { kind: 'stopped' };
    if (red.length > 0) return { kind: 'sent_back', feedback: describeRed(red) };
    await moveBranch(orch.repository, branch, candidate, from, `convoy: merge ${task}`);
    return {
      kind: 'merged',
      commit: candidate,
      files: (await countChanges(worktree, from, candidate)).files,
    };
  }

  return {
    merge: (request, signal) => inTurn(() => mergeNow(request, signal)),
    onMerged: (work) =>
      inTurn(async () => {
        const now = await tip();
        // What was tried last may have been refused.
        if ((await readCommit(worktree)) !== now) await switchWorktree(orch, worktree, now);
        return work();
      }),
    tip,
    redAtBase,
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

/** Returns a function that does one thing after the other, in the order it is called. */
export function makeTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(() => {}); // whoever called it gets the error
    return mine;
  };
}

function isRed({ status }: GateOutcome): boolean {
  return status === 'failed' || status === 'timed_out';
}

function named(outcomes: readonly GateOutcome[]) {
  const names = outcomes.map(({ name }) => name);
  return ({ name }: Gate) => names.includes(name);
}

function describeConflict(branch: string, files: readonly string[], messages: string): string {
  const more = files.length > 30 ? ` and ${files.length - 30} more` : '';
  return [
    `It conflicts with what others have merged into ${branch} meanwhile, in ${files.slice(0, 30).join(', ')}${more}.`,
    ...(messages === '' ? [] : ['', messages.slice(0, 2_000)]),
    '',
    `Merge that branch into yours (git merge ${branch}), resolve the conflicts so that neither side loses anything, and commit.`,
  ].join('\n');
}

/** How much of a gate's output a worker gets. */
const shownOutput = 3_000;

function describeRed(red: readonly GateOutcome[]): string {
  const parts = red.map(
    ({ name, status, output }) =>
      `The gate "${name}" ${status === 'timed_out' ? 'timed out' : 'fails'} on the merged tree:\n\n${output.slice(-shownOutput)}`,
  );
  return parts.join('\n\n');
}
