import { join } from 'node:path';
import type { CommandLine } from '../../config/defaults.ts';
import { messageOf, OrchError } from '../../errors.ts';
import { runGit, workFolder } from '../../git/run-git.ts';
import { listFileChanges } from '../../git/worktree/code-changes.ts';
import {
  addWorktree,
  fillWorktree,
  isUsedElsewhere,
  listOwnWorktrees,
  type OwnWorktree,
  openWorktree,
  removeWorktree,
} from '../../git/worktree/own-worktrees.ts';
import { nameFile } from '../../ids.ts';
import type { Orch } from '../../orch.ts';
import { logPath } from '../../session/output-log.ts';
import { makeFolder, readFrom, statIfThere, writeAtomically } from '../../system/disk.ts';
import { formatProcesses } from '../../system/process/process-table.ts';
import type { EpicId, Micros, Millis, Oid } from '../../types.ts';
import { formatAge } from '../../units.ts';
import { mergedName, worktreeName } from '../names.ts';
import { isWorking, pauseWorker, readWorker, startWorker, waitForWorker } from '../worker/worker.ts';
import { raiseFence } from '../worktree/ref-fence.ts';
import { findWorktreesFolder } from '../worktree/task-worktree.ts';
import { parseReview, type Review } from './findings.ts';
import { formatReviewPrompt, type ReviewFacts } from './review-prompt.ts';
import { makeReviewCommand, nameReviewer } from './reviewer.ts';

/* Has several reviewers look at a change, at once, in a worktree of their own. */

export type ReviewRequest = {
  readonly convoy: EpicId;
  /** The task, or what else is reviewed; it names the worktree. */
  readonly name: string;
  /** The epic that records what the n-th reviewer does. */
  readonly epicOf: (place: number) => EpicId;
  readonly by: readonly CommandLine[];
  readonly task: string;
  readonly from: Oid;
  readonly to: Oid;
  readonly open: ReviewFacts['open'];
  /** What each may spend, asked twice or once; null for no limit. */
  readonly allowance: Micros | null;
  readonly env: { readonly [name: string]: string | undefined };
  /** Called now and then while they work, and when they have ended. */
  readonly onLook: () => Promise<void>;
};

/** A reviewer that takes longer gives no review. */
const longestReview: Millis = 20 * 60_000;
/** One that gave no answer that counts is asked once more. */
const mostTries = 2;
/** What a reviewer prints last. */
const tail = 256 * 1024;

/** Runs the reviewers on a change, and returns what came of each; null if it was stopped. */
export async function runReviews(
  orch: Orch,
  request: ReviewRequest,
  signal: AbortSignal,
): Promise<Review[] | null> {
  const { convoy, name, by, from, to } = request;
  const folder = await findWorktreesFolder(orch);
  const place = `${worktreeName(convoy, name)}.review`;
  const known = listOwnWorktrees(orch, place).filter((each) => each.name === place);
  if (known.some(isUsedElsewhere))
    throw new OrchError(
      'SESSION_ACTIVE',
      `${name === mergedName ? convoy : `${convoy}/${name}`} is being reviewed already`,
      {
        hint: `Wait for it to end; see orch convoy show ${convoy}`,
      },
    );
  // Those that a dead scheduler started answer a request that nothing waits for any more.
  for (const index of by.keys())
    await pauseWorker(orch, request.epicOf(index + 1), 'its review is not waited for any more');
  for (const left of known) await removeReviewed(orch, left);
  const reason = `orch convoy ${convoy}: review of ${name}`;
  const own = await addWorktree(orch, { name: place, commit: to, branch: null, reason, folder });
  try {
    const worktree = openWorktree(own);
    await fillWorktree(orch, worktree, to);
    const changed = (await listFileChanges(worktree, from, to, 0)).map(({ path }) => path);
    const diffFile = join(orch.home, 'logs', `${nameFile(place.replace('/', '-'))}.diff`);
    await makeFolder(orch.disk, join(orch.home, 'logs'));
    const diff = await runGit(worktree, [
      'diff',
      '--no-color',
      '--no-ext-diff',
      '--find-renames',
      `${from}..${to}`,
    ]);
    await writeAtomically(orch, diffFile, diff);
    const seat = { ...request, cwd: workFolder(worktree), diffFile, changed };
    const reviews = await Promise.all(
      by.map((each, index) => askReviewer(orch, seat, each, index + 1, signal)),
    );
    return signal.aborted ? null : reviews;
  } finally {
    await removeReviewed(orch, own).catch((error) => orch.report(`${own.path} stays: ${messageOf(error)}`));
  }
}

async function removeReviewed(orch: Orch, own: OwnWorktree): Promise<void> {
  const working = await removeWorktree(orch, own);
  if (working.length === 0) return;
  throw new OrchError(
    'SESSION_ACTIVE',
    `a reviewer has left something running in ${own.path}: ${formatProcesses(working)}`,
    {
      hint: 'End it, then run the same command again.',
    },
  );
}

type Seat = ReviewRequest & {
  readonly cwd: string;
  readonly diffFile: string;
  readonly changed: readonly string[];
};

async function askReviewer(
  orch: Orch,
  seat: Seat,
  by: CommandLine,
  place: number,
  signal: AbortSignal,
): Promise<Review> {
  let review: Review = { kind: 'none', by: nameReviewer(by), why: 'it was not asked' };
  const epic = seat.epicOf(place);
  const { spent } = await readWorker(orch, epic);
  for (let attempt = 1; attempt <= mostTries && review.kind === 'none' && !signal.aborted; attempt++) {
    review = await askOnce(orch, seat, { by, epic, before: spent }, signal).catch((error) => {
      return { kind: 'none', by: nameReviewer(by), why: messageOf(error) };
    });
  }
  return review;
}

async function askOnce(
  orch: Orch,
  seat: Seat,
  { by, epic, before }: { readonly by: CommandLine; readonly epic: EpicId; readonly before: Micros },
  signal: AbortSignal,
): Promise<Review> {
  const { diffFile, changed, cwd, env, onLook } = seat;
  const name = nameReviewer(by);
  const none = (why: string): Review => ({ kind: 'none', by: name, why });
  const { spent } = await readWorker(orch, epic);
  const allowance = seat.allowance === null ? null : Math.max(0, seat.allowance - (spent - before));
  if (allowance === 0) return none('nothing of the budget is left for it');
  const code = `r-${orch.random.id(8)}`;
  const prompt = formatReviewPrompt({ ...seat, code });
  const promptFile = join(orch.home, 'logs', nameFile(epic, '.review.md'));
  await writeAtomically(orch, promptFile, prompt);
  await startWorker(orch, {
    ...{ epic, argv: makeReviewCommand(by, prompt), cwd, allowance, spent, resumes: false },
    env: {
      ...env,
      ...(await raiseFence(orch, `orch/reviews/${epic}`)),
      ...{ ORCH_PROMPT_FILE: promptFile, ORCH_DIFF_FILE: diffFile, ORCH_REVIEW: code },
      // It is no worker: it gets no messages, and does no task.
      ...{ ORCH_MESSAGES: undefined, ORCH_TASK: undefined },
    },
  });
  const ended = await waitForWorker(orch, epic, signal, { onLook, limit: longestReview });
  await onLook();
  if (isWorking(ended)) {
    await pauseWorker(orch, epic, signal.aborted ? 'the review was stopped' : 'the review took too long');
    return none(`it took longer than ${formatAge(longestReview)}`);
  }
  const printed = ended.session === null ? '' : readEnd(logPath(orch.home, ended.session));
  const review = parseReview(printed, { by: name, code, changed });
  if (review.kind === 'review' || ended.condition === 'completed') return review;
  return none(ended.reason ?? `it ended ${ended.condition}`);
}

function readEnd(path: string): string {
  const size = statIfThere(path)?.size ?? 0;
  return readFrom(path, Math.max(0, size - tail), tail)?.bytes.toString('utf8') ?? '';
}
