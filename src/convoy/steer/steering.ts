import type { Orch } from '../../orch.ts';
import { loadConvoyPlan } from '../../plan/parse-plan.ts';
import type { Plan } from '../../plan/plan.ts';
import type { RunControls, RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import { sleepUnlessAborted } from '../../system/clock.ts';
import type { Millis } from '../../types.ts';
import { reopenFreed } from '../work/collisions.ts';
import { recordCancelled } from '../work/do-prompt.ts';
import { type Convoy, openJob, retryJob } from '../work/job.ts';
import { finishClaim, giveOut } from './claims.ts';
import { listOrders, type PlacedOrder, removeOrder } from './orders.ts';

/* Carries out what people order while a convoy runs. */

/** How often the scheduler looks for orders: a list of a folder that is nearly always empty. */
const lookEvery: Millis = 250;

type Steered = {
  readonly orch: Orch;
  readonly convoy: Convoy;
  readonly ports: TaskPorts;
  readonly progress: RunProgress;
  readonly controls: RunControls;
  /** The plan's file. */
  readonly path: string;
};

/** Carries out the orders that are there. */
export async function carryOutOrders(steered: Steered): Promise<void> {
  const { orch, convoy } = steered;
  for (const placed of listOrders(orch.home, convoy.epic)) {
    await carryOut(steered, placed);
    removeOrder(orch, convoy.epic, placed.id);
  }
}

/** Carries out orders as they come, until `over` is aborted. */
export async function steer(steered: Steered, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await sleepUnlessAborted(lookEvery, over);
    reopenFreed(steered.convoy, steered.progress, steered.controls);
    await carryOutOrders(steered);
  }
}

async function carryOut(steered: Steered, placed: PlacedOrder): Promise<void> {
  const { orch, convoy, progress, controls } = steered;
  const { order } = placed;
  switch (order.kind) {
    case 'resume':
      controls.reopen(order.task);
      return;
    case 'retry': {
      const task = findTask(steered, order.task);
      if (task === null || convoy.active.has(order.task)) return;
      convoy.wishes.set(order.task, order);
      if (controls.reopen(order.task)) return;
      // It waits for its turn; what is wanted counts from then on.
      convoy.wishes.delete(order.task);
      retryJob(await openJob(orch, convoy, progress, task), order);
      return;
    }
    case 'cancel':
      for (const task of order.tasks) await cancelTask(steered, task, order.goesOn);
      return;
    case 'money':
      for (const task of convoy.unpaid) controls.reopen(task);
      return;
    case 'reload':
      return addNew(steered);
    case 'claim':
      return giveOut(steered, placed.id, order);
    case 'done':
      return finishClaim(steered, placed.id, order);
  }
}

function findTask({ convoy: { tasks } }: Pick<Steered, 'convoy'>, id: string) {
  return tasks.get(id) ?? null;
}

/** Ends what is done for a task, or sees to it that nothing will be. */
async function cancelTask(steered: Steered, id: string, goesOn: boolean): Promise<void> {
  const { orch, convoy, ports, progress, controls } = steered;
  const task = findTask(steered, id);
  if (task === null || task.convoy.prompt === null || progress.tasks.get(id)?.status === 'succeeded') return;
  convoy.wishes.set(id, { kind: 'cancel', goesOn });
  const job = await openJob(orch, convoy, progress, task);
  if (convoy.active.has(id)) job.stop.abort({ kind: 'cancelled' });
  else if (!controls.reopen(id)) await recordCancelled(ports, progress, job, goesOn);
}

/** Adds what is new in the plan. What has changed in it counts when the convoy is resumed. */
async function addNew({ orch, convoy, ports, progress, controls, path }: Steered): Promise<void> {
  let plan: Plan;
  try {
    plan = loadConvoyPlan(path);
  } catch (error) {
    orch.report(
      `the plan has changed, and cannot be read: ${error instanceof Error ? error.message : error}`,
    );
    return;
  }
  const added = plan.tasks.filter(({ id }) => !convoy.tasks.has(id) && !progress.tasks.has(id));
  const plain = added.filter(({ parent, parts }) => parent === null && parts === null);
  if (plain.length < added.length)
    orch.report('new groups and lists in the plan are done when the convoy is resumed');
  for (const task of plain) convoy.tasks.set(task.id, task);
  controls.add(plain);
  for (const task of plain) ports.onEvent({ kind: 'said', task, text: `${task.id}: added` });
}
