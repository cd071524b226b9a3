import { OrchError } from '../../errors.ts';
import { checkLive, readLive } from '../../journal/live.ts';
import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import { sleep } from '../../system/clock.ts';
import type { EpicId } from '../../types.ts';
import type { KnownConvoy } from '../find-convoy.ts';
import { type Order, placeOrder, type Reply, removeOrder, takeReply } from './orders.ts';

/* Tasks done by people, or by agents that work already: they claim one, do it in its worktree, and say when it is done. */

export type Claimed = {
  readonly task: string;
  readonly worktree: string;
  readonly branch: string;
  /** Names this claim; a later one has a higher number. */
  readonly lease: number;
  readonly promptFile: string;
  readonly briefFile: string;
  /** Why earlier work was not accepted; null in the first attempt. */
  readonly feedback: string | null;
};

/** Claims a task, or the first one that waits to be claimed; null if none does. */
export async function claimTask(
  orch: Orch,
  convoy: KnownConvoy,
  task: string | null,
  by: string,
): Promise<Claimed | null> {
  const reply = await order(orch, convoy, { kind: 'claim', task, by });
  if (reply.refused === undefined) return reply as Claimed; // written by the scheduler
  if (task === null) return null;
  const waiting = Array.isArray(reply.waiting) ? reply.waiting : [];
  throw new OrchError('SESSION_ACTIVE', String(reply.refused), {
    hint:
      waiting.length === 0
        ? 'No other task waits to be claimed'
        : `Others wait: ${waiting.slice(0, 10).join(', ')}`,
    data: { task, waiting },
  });
}

/** What came of a claimed task that was said to be done. */
export type ClaimEnd =
  | { readonly kind: 'merged'; readonly commit: string }
  /** It was not accepted; the claim stays, with what is wrong. */
  | { readonly kind: 'sent_back'; readonly again: Claimed }
  | { readonly kind: 'failed'; readonly feedback: string }
  | { readonly kind: 'given_back' };

/** Says that a claimed task is done, or cannot be done; its work is merged, and the gates decide. */
export async function finishTask(
  orch: Orch,
  convoy: KnownConvoy,
  {
    task,
    lease,
    problem,
  }: { readonly task: string; readonly lease: number | null; readonly problem: string | null },
): Promise<ClaimEnd> {
  const known = lookUp(convoy.run.inDocument.tasks, task)?.worker?.lease ?? 0;
  const reply = await order(orch, convoy, { kind: 'done', task, lease: lease ?? known, problem });
  if (reply.refused !== undefined)
    throw new OrchError('SESSION_ACTIVE', String(reply.refused), {
      hint: `See how it is: orch convoy why ${convoy.epic}/${task}`,
      data: { task },
    });
  if (typeof reply.merged === 'string') return { kind: 'merged', commit: reply.merged };
  if (reply.givenBack === true) return { kind: 'given_back' };
  if (typeof reply.failed === 'string') return { kind: 'failed', feedback: reply.failed };
  return { kind: 'sent_back', again: reply as Claimed }; // written by the scheduler
}

/** Gives the scheduler an order, and waits for the reply. */
async function order(orch: Orch, { epic, run, isActive }: KnownConvoy, wanted: Order): Promise<Reply> {
  if (!isActive) throw noScheduler(epic);
  const id = await placeOrder(orch, epic, wanted);
  for (;;) {
    const reply = takeReply(orch, epic, id);
    if (reply !== null) return reply;
    const live = readLive(orch.home, run.head.session);
    if (live === null || checkLive(live) !== 'alive') {
      const late = takeReply(orch, epic, id);
      if (late !== null) return late;
      // A claim whose reply is not waited for would keep the task from others.
      if (wanted.kind === 'claim') removeOrder(orch, epic, id);
      throw noScheduler(epic);
    }
    await sleep(50);
  }
}

function noScheduler(epic: EpicId): OrchError {
  return new OrchError('RESUME_NEEDED', `${epic} is not running, and its scheduler merges what is done`, {
    hint: `Start it, then run the same command again: orch convoy resume ${epic} --background`,
    data: { epicId: epic },
  });
}
