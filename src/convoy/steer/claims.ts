import type { Orch } from '../../orch.ts';
import type { RunControls } from '../../plan/task/do-task.ts';
import type { Convoy } from '../work/job.ts';
import { type Order, replyTo } from './orders.ts';

/* Tasks for which no agent is started: a person, or an agent that works already, claims them. */

type Steered = {
  readonly orch: Orch;
  readonly convoy: Convoy;
  readonly controls: RunControls;
};

/** Gives out a task that waits to be claimed; the reply comes once its worktree is there. */
export async function giveOut(
  { orch, convoy, controls }: Steered,
  id: string,
  { task, by }: Extract<Order, { kind: 'claim' }>,
): Promise<void> {
  const [chosen] = task === null ? convoy.unclaimed : convoy.unclaimed.has(task) ? [task] : [];
  const job = chosen === undefined ? undefined : convoy.jobs.get(chosen);
  if (chosen === undefined || job === undefined) {
    const waiting = [...convoy.unclaimed];
    await replyTo(orch, convoy.epic, id, { refused: explainNone(convoy, task), waiting });
    return;
  }
  convoy.unclaimed.delete(chosen);
  job.claim = { by, order: id, end: null };
  controls.reopen(chosen);
}

function explainNone({ jobs, active }: Convoy, task: string | null): string {
  if (task === null) return 'no task waits to be claimed';
  const claim = jobs.get(task)?.claim;
  if (claim) return `${task} is claimed by ${claim.by}`;
  return active.has(task) ? `an agent works on ${task}` : `${task} does not wait to be claimed`;
}

/** Takes what was done for a claimed task; the reply says what came of it. */
export async function finishClaim(
  { orch, convoy }: Steered,
  id: string,
  { task, lease, problem }: Extract<Order, { kind: 'done' }>,
): Promise<void> {
  const job = convoy.jobs.get(task);
  const claim = job?.claim;
  if (job === undefined || !claim?.end || job.record.lease !== lease) {
    const refused =
      claim?.end && job !== undefined
        ? `${task} was claimed again meanwhile; what you did stays on its branch`
        : `${task} is not claimed`;
    await replyTo(orch, convoy.epic, id, { refused });
    return;
  }
  claim.order = id;
  claim.end({ problem });
}
