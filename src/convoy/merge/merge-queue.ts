import type { GateOutcome } from '../../gates/gate.ts';
import {
  countChanges,
  findMergeOf,
  isAncestor,
  readCommit,
  writeMergeCommit,
} from '../../git/worktree/merge-commits.ts';
import { type OwnWorktree, openWorktree } from '../../git/worktree/own-worktrees.ts';
import type { Orch } from '../../orch.ts';
import type { EpicId, Oid } from '../../types.ts';
import { mergedBranch } from '../names.ts';
import { type Cause, causeOfConflict, causeOfRed, describeConflict, describeRed } from './feedback.ts';
import { type GateChoice, type OnGate, openMergeGates } from './merge-gates.ts';
import { openMergedBranch, refuseCheckedOut } from './merged-branch.ts';
import { nextMergeStep, type Verdict } from './next-merge-step.ts';
import { openMergePlace } from './try-merge.ts';

/* Finished work is merged in its order, the oldest first, several at once. The gates run on exactly the tree that is merged. */

export type { GateChoice };

export type MergeRequest = {
  readonly task: string;
  /** What it is about. */
  readonly title: string;
  readonly lease: number;
  readonly commit: Oid;
};

export type MergeResult =
  | { readonly kind: 'merged'; readonly commit: Oid; readonly files: number }
  /** It goes back to the worker, with what is wrong. */
  | { readonly kind: 'sent_back'; readonly feedback: string; readonly cause?: Cause }
  | { readonly kind: 'stopped' };

export type MergeQueue = {
  /** Merges a task's work in its turn; once the signal aborts it leaves the queue, unless the branch has moved. */
  merge(request: MergeRequest, signal: AbortSignal): Promise<MergeResult>;
  /** Runs the gates on a commit that is not to be merged yet: how many there are, and which are red. */
  check(
    commit: Oid,
    signal: AbortSignal,
  ): Promise<{ readonly ran: number; readonly red: readonly GateOutcome[] }>;
  /** Does something else in the files of what is merged, in turn. */
  onMerged<T>(work: () => Promise<T>): Promise<T>;
  tip(): Promise<Oid>;
};

/** A task in the queue. */
type Entry = MergeRequest & {
  readonly signal: AbortSignal;
  readonly settle: (result: MergeResult) => void;
  readonly fail: (error: unknown) => void;
};

/** A candidate: a task merged onto the candidate before, or onto the tip. */
type Link = {
  readonly entry: Entry;
  readonly from: Oid;
  readonly commit: Oid;
  verdict: Verdict;
  red: readonly GateOutcome[];
};

/** How many tasks are tried at once if the plan does not say. */
const defaultBatch = 4;

type QueueOptions = {
  readonly convoy: EpicId;
  readonly worktree: OwnWorktree;
  readonly gates: GateChoice;
  readonly batch?: number | undefined;
  /** Are the tasks those of a spec? Then each merge names its task as a commit of `orch batch` does. */
  readonly isSpec?: boolean;
  readonly onGate?: OnGate;
};

/** Opens the queue of a convoy. Gates that were red at its base are reported and count against no task. */
export async function openMergeQueue(
  orch: Orch,
  { convoy, worktree: own, gates: choice, batch = defaultBatch, isSpec = false, onGate }: QueueOptions,
): Promise<MergeQueue & { readonly redAtBase: readonly string[] }> {
  const worktree = openWorktree(own);
  const branch = mergedBranch(convoy);
  const inTurn = makeTurns();
  const { read: tip, move } = openMergedBranch(orch, branch);
  const place = await openMergePlace(orch, worktree);
  const gates = await openMergeGates(orch, place, choice, await tip(), onGate);

  /** Oldest first; the chain is those at the front, one merged onto another. */
  const waiting: Entry[] = [];
  let chain: Link[] = [];
  let from = await tip();
  let isBlocked = false;
  /** What went wrong with several at once is tried with one. */
  let isAlone = false;
  let landing = 0;
  /** Did gates run in the files since they were last those of the tip? */
  let wasTested = true;
  let testing: {
    readonly count: number;
    readonly stop: AbortController;
    readonly end: Promise<void>;
  } | null = null;

  const settle = (index: number, result: MergeResult) => {
    const [entry] = waiting.splice(index, 1);
    if (index < chain.length) cutChain(index);
    entry?.settle(result);
  };
  const cutChain = (length: number) => {
    chain = chain.slice(0, length);
    isBlocked = false;
    if (testing !== null && length < testing.count) testing.stop.abort();
  };
  /** A task leaves at once; only what runs on a candidate with its work is waited for. */
  const leave = (entry: Entry) => {
    const index = waiting.indexOf(entry);
    if (index < 0 || index < landing) return;
    const isTested = testing !== null && index < testing.count ? testing.end : Promise.resolve();
    waiting.splice(index, 1);
    if (index <= chain.length) cutChain(index);
    void isTested.then(() => entry.settle({ kind: 'stopped' }));
  };

  const leaveAll = (signal: AbortSignal) => {
    for (const entry of waiting.filter((each) => each.signal === signal)) leave(entry);
  };
  const followed = new WeakSet<AbortSignal>();

  /** Merges the next task onto the end of the chain. */
  const add = async (): Promise<void> => {
    const index = chain.length;
    const entry = waiting[index];
    if (entry === undefined) return;
    if (index === 0) {
      from = await tip();
      await refuseCheckedOut(orch, branch);
    }
    const onto = chain.at(-1)?.commit ?? from;
    const isStillNext = () => waiting[index] === entry && chain.length === index;
    if (await isAncestor(worktree, entry.commit, onto)) {
      const isOnBranch = onto === from || (await isAncestor(worktree, entry.commit, from));
      // It was merged before a crash kept that from being recorded.
      const merge = isOnBranch ? await findMergeOf(worktree, entry.commit, from) : null;
      if (!isStillNext()) return;
      if (!isOnBranch) isBlocked = true;
      else if (merge !== null) settle(index, { kind: 'merged', commit: merge, files: 0 });
      else
        settle(index, {
          kind: 'sent_back',
          feedback: `Your branch has nothing that is not on ${branch} already.`,
        });
      return;
    }
    let tried = await place.tryMerge(onto, entry.commit);
    // A conflict with work that may not land is none yet.
    const isWithChain = tried.kind === 'refused' && onto !== from;
    if (isWithChain) tried = await place.tryMerge(from, entry.commit);
    if (!isStillNext()) return;
    if (tried.kind === 'refused') {
      const feedback = describeConflict(branch, tried);
      settle(index, { kind: 'sent_back', feedback, cause: causeOfConflict(tried) });
      return;
    }
    if (isWithChain) {
      isBlocked = true;
      return;
    }
    const { task, title, lease } = entry;
    const spec = isSpec ? `Tasks: ${task}\n` : '';
    const trailers = `${spec}Orch-Convoy: ${convoy}\nOrch-Task: ${task}\nOrch-Lease: ${lease}\n`;
    const parents = [onto, entry.commit];
    const commit = await writeMergeCommit(worktree, tried.tree, parents, `${task}: ${title}\n\n${trailers}`);
    if (isStillNext()) chain.push({ entry, from: onto, commit, verdict: 'unknown', red: [] });
  };

  const test = async (count: number, isAgain: boolean): Promise<void> => {
    const link = chain[count - 1];
    if (link === undefined) return;
    const stop = new AbortController();
    wasTested = true;
    const run = gates.run(link.commit, isAgain ? link.red : null, stop.signal);
    testing = { count, stop, end: run.then(nothing, nothing) };
    try {
      const red = await run;
      if (stop.signal.aborted) return;
      link.red = red;
      link.verdict = red.length === 0 ? 'green' : isAgain ? 'red' : 'red once';
    } finally {
      testing = null;
    }
  };

  const land = async (count: number): Promise<void> => {
    const links = chain.slice(0, count);
    const last = links.at(-1);
    if (last === undefined) return;
    const counts = await Promise.all(links.map((link) => countChanges(worktree, link.from, link.commit)));
    await refuseCheckedOut(orch, branch);
    // One of them may have been cancelled meanwhile.
    if (links.some((link, index) => chain[index] !== link)) return;
    landing = count;
    try {
      const tasks = links.map(({ entry }) => entry.task).join(', ');
      await move(from, last.commit, `convoy: merge ${tasks}`);
    } finally {
      landing = 0;
    }
    from = last.commit;
    chain = chain.slice(count);
    for (const [index, { entry, commit }] of links.entries())
      entry.settle({ kind: 'merged', commit, files: counts[index]?.files ?? 0 });
    waiting.splice(0, count);
    isBlocked = false;
  };

  /** Takes steps until the fate of all that are tried together is known. */
  const takeSteps = async (): Promise<void> => {
    do {
      const step = nextMergeStep({
        waiting: waiting.length,
        chain: chain.map(({ verdict }) => verdict),
        isBlocked,
        batch: isAlone ? 1 : batch,
      });
      try {
        if (step.kind === 'idle') return;
        if (step.kind === 'add') await add();
        if (step.kind === 'test') await test(step.count, step.isAgain);
        if (step.kind === 'land') await land(step.count);
        if (step.kind === 'send back') {
          const red = chain[0]?.red ?? [];
          settle(0, { kind: 'sent_back', feedback: describeRed(red), cause: causeOfRed(red) });
        }
        if (step.kind === 'land' || step.kind === 'send back') isAlone = false;
      } catch (error) {
        const isOne = chain.length + (step.kind === 'add' ? 1 : 0) <= 1;
        cutChain(0);
        for (const entry of waiting.filter(({ signal }) => signal.aborted)) leave(entry);
        if (isOne) waiting.shift()?.fail(error);
        isAlone = !isOne;
      }
    } while (chain.length > 0);
  };

  let isWorking = false;
  const work = () => {
    if (isWorking || waiting.length === 0) return;
    isWorking = true;
    // Between two batches it is the turn of others.
    void inTurn(takeSteps).then(() => {
      isWorking = false;
      work();
    });
  };

  return {
    merge: (request, signal) =>
      new Promise((settle, fail) => {
        if (signal.aborted) {
          settle({ kind: 'stopped' });
          return;
        }
        // Tasks share signals, and node warns of more than ten listeners.
        if (!followed.has(signal)) {
          followed.add(signal);
          signal.addEventListener('abort', () => leaveAll(signal));
        }
        waiting.push({ ...request, signal, settle, fail });
        work();
      }),
    onMerged: (task) =>
      inTurn(async () => {
        const now = await tip();
        // What was tried last may have been refused, and what gates changed is not merged.
        if (wasTested || (await readCommit(worktree)) !== now) await place.show(now);
        wasTested = false;
        place.disturb();
        return task();
      }),
    check: (commit, signal) =>
      inTurn(async () => {
        wasTested = true;
        return { ran: await gates.count(), red: await gates.run(commit, null, signal) };
      }),
    tip,
    redAtBase: gates.redAtBase,
  };
}

/** Returns a function that does one thing after the other, in the order it is called. */
export function makeTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work, work);
    last = mine.catch(nothing); // whoever called it gets the error
    return mine;
  };
}

function nothing(): void {}
