import type { SessionCondition } from '../../record/sessions.ts';
import type { Cause } from '../merge/feedback.ts';
import type { TaskWorktree } from '../worktree/task-worktree.ts';

/* What follows when a worker has ended, and when an attempt has: decided from what is recorded, and from nothing else. */

/** How a worker ended. */
export type WorkerEnd = {
  readonly condition: SessionCondition | null;
  readonly reason: string | null;
  /** Did a person say something that it has not heard? */
  readonly hasUnheard: boolean;
  /** Its first open question. */
  readonly question: string | null;
  /** Is the task's own budget used up, rather than what the convoy had left for it? */
  readonly isOwnBudget: boolean;
};

export type AfterWorker =
  /** Its work is committed, merged and checked. */
  | { readonly kind: 'merge' }
  | { readonly kind: 'again' }
  | { readonly kind: 'told' }
  | { readonly kind: 'asks'; readonly question: string }
  | { readonly kind: 'sent_back'; readonly feedback: string }
  | { readonly kind: 'held'; readonly reason: string }
  | { readonly kind: 'used_up'; readonly isOwnBudget: boolean };

/** Decides what follows from how a worker ended. Only a session that was completed is work to merge. */
export function decideAfterWorker(end: WorkerEnd): AfterWorker {
  const { condition, reason, hasUnheard, question, isOwnBudget } = end;
  switch (condition) {
    case 'completed':
      if (hasUnheard) return { kind: 'told' };
      return question === null ? { kind: 'merge' } : { kind: 'asks', question };
    case 'budget_exceeded':
      return { kind: 'used_up', isOwnBudget };
    case 'failed':
      return { kind: 'sent_back', feedback: `The agent failed: ${reason ?? 'no reason was given'}` };
    case 'paused':
      return { kind: 'held', reason: reason ?? 'its worker was paused' };
    case 'interrupted':
      return { kind: 'again' };
    default:
      return { kind: 'held', reason: `its worker cannot be seen from here (${condition})` };
  }
}

/** A worker is needed for a new attempt, for one whose worker died or was paused, and to hear what was said. */
export function needsWorker({
  isNew,
  condition,
  hasUnheard,
}: Pick<WorkerEnd, 'condition' | 'hasUnheard'> & { readonly isNew: boolean }): boolean {
  const isOpen = condition === 'interrupted' || condition === 'paused' || condition === 'budget_exceeded';
  return isNew || condition === null || isOpen || hasUnheard;
}

export type AttemptResult =
  /** Its worker died; it continues, and that is no failed attempt. */
  | { readonly kind: 'again' }
  /** It ended before it heard what a person said, or a person was in its conversation: it continues. */
  | { readonly kind: 'told' }
  /** Its allowance is used up; it continues if there is more. */
  | { readonly kind: 'unpaid'; readonly reason: string }
  | { readonly kind: 'merged'; readonly worktree: TaskWorktree }
  | { readonly kind: 'sent_back'; readonly feedback: string; readonly cause?: Cause | undefined }
  | { readonly kind: 'held'; readonly reason: string }
  /** It has a question, and ended its turn. */
  | { readonly kind: 'asks'; readonly question: string }
  | { readonly kind: 'stopped' };

/** What counts besides how an attempt ended. */
export type AttemptFacts = {
  readonly attempt: number;
  readonly mostAttempts: number;
  /** How often a worker of the task has died before. */
  readonly deaths: number;
  /** Was it cancelled meanwhile? */
  readonly isCancelled: boolean;
  /** Does its next attempt wait to be claimed? */
  readonly isClaimable: boolean;
};

/** Why work is not accepted: as its worker is told, and as it is recorded. */
export type Refused = Pick<Extract<AttemptResult, { kind: 'sent_back' }>, 'feedback' | 'cause'>;

export type Next =
  /** The same attempt continues. */
  | { readonly kind: 'continue'; readonly event: 'died' | 'told' }
  | ({ readonly kind: 'try again'; readonly waitsForClaim: boolean } & Refused)
  | { readonly kind: 'finish'; readonly worktree: TaskWorktree }
  | ({ readonly kind: 'fail' } & Refused)
  /** The same attempt continues with what others have not been promised, or give back; else it is held. */
  | { readonly kind: 'wait for money'; readonly reason: string }
  | { readonly kind: 'hold'; readonly reason: string }
  | { readonly kind: 'ask'; readonly question: string }
  | { readonly kind: 'cancel' }
  /** Its scheduler stops. */
  | { readonly kind: 'leave' };

/** How often a dead worker is started again: something kills it. */
const mostDeaths = 5;

/** Decides what follows from how an attempt ended. What is merged stays merged, whatever was ordered meanwhile. */
export function decideAfterAttempt(
  result: AttemptResult,
  { attempt, mostAttempts, deaths, isCancelled, isClaimable }: AttemptFacts,
): Next {
  if (result.kind !== 'merged' && isCancelled) return { kind: 'cancel' };
  switch (result.kind) {
    case 'stopped':
      return { kind: 'leave' };
    case 'again':
      return deaths < mostDeaths
        ? { kind: 'continue', event: 'died' }
        : { kind: 'hold', reason: `its worker died ${deaths + 1} times` };
    case 'told':
      return { kind: 'continue', event: 'told' };
    case 'unpaid':
      return { kind: 'wait for money', reason: result.reason };
    case 'held':
      return { kind: 'hold', reason: result.reason };
    case 'asks':
      return { kind: 'ask', question: result.question };
    case 'merged':
      return { kind: 'finish', worktree: result.worktree };
    case 'sent_back': {
      const { kind: _, ...refused } = result;
      return attempt < mostAttempts
        ? { kind: 'try again', ...refused, waitsForClaim: isClaimable }
        : { kind: 'fail', ...refused };
    }
  }
}
