import { chargeTask } from '../../cost/charge.ts';
import { spentIn } from '../../cost/money.ts';
import { lookUp } from '../../keyed.ts';
import type { Orch } from '../../orch.ts';
import type { Task } from '../../plan/plan.ts';
import type { RunProgress, TaskPorts } from '../../plan/task/do-task.ts';
import { record } from '../../record/record.ts';
import { readView } from '../../record/view.ts';
import { budgetOf } from '../../state/current.ts';
import type { Fact } from '../../state/facts.ts';
import { sleepUnlessAborted } from '../../system/clock.ts';
import type { EpicId, Micros, Millis } from '../../types.ts';
import { taskEpic } from '../names.ts';
import { type Allowance, decideAllowance, describeShortage } from '../work/allowance.ts';
import type { Convoy, Job } from '../work/job.ts';
import { isWorking, readWorker, type WorkerState } from './worker.ts';

/* What workers may spend, and what they have spent, on one budget. */

/**
 * Counts what the workers that still run may spend, before any other is started. Returns how many there are, and how many
 * died.
 */
export async function adoptAllowances(
  orch: Orch,
  { epic, active }: Convoy,
  { plan, recorded }: RunProgress['run'],
): Promise<{ readonly working: number; readonly died: number }> {
  let died = 0;
  for (const task of plan.tasks) {
    if (lookUp(recorded, task.id)?.status !== 'running') continue;
    const own = taskEpic(epic, task.id);
    const worker = await readWorker(orch, own);
    if (worker.condition === 'interrupted') died++;
    if (!isWorking(worker)) continue;
    const limit = budgetOf((await readView(orch, own)).state);
    active.set(task.id, { task, allowance: limit === null ? null : Math.max(0, limit - worker.spent) });
  }
  return { working: active.size, died };
}

/** What a worker did not spend may pay for others. */
export function release({ active }: Convoy, { id }: Task): void {
  const own = active.get(id);
  if (own) own.allowance = null;
}

/** Decides what a worker may spend. As long as others are at work, what they do not spend may still pay for it. */
export async function waitForMoney(
  orch: Orch,
  convoy: Convoy,
  { signal, onEvent }: TaskPorts,
  { task, worker, record }: Job,
  { spent }: WorkerState,
): Promise<
  | Extract<Allowance, { kind: 'granted' }>
  | { readonly kind: 'held'; readonly reason: string; readonly isConvoys: boolean }
  | null
> {
  for (let isTold = false; !signal.aborted; ) {
    const { state } = await readView(orch, convoy.epic);
    const limit = budgetOf(state);
    const others = [...convoy.active].filter(([id, { allowance }]) => id !== task.id && allowance !== null);
    const allowance: Allowance = decideAllowance({
      left: limit === null ? null : limit - spentIn(state.ledger),
      outstanding: others.map(([, { allowance: amount }]) => amount),
      taskLeft: worker.budget === undefined ? null : worker.budget - spent - (record.reviewMicros ?? 0),
      finished: convoy.finished,
      spent,
      waiting: listWaiting(convoy, task.id),
    });
    // Promised at once: another task may decide before this one is returned.
    const own = convoy.active.get(task.id);
    if (own && allowance.kind === 'granted') own.allowance = allowance.amount;
    if (allowance.kind === 'granted') return allowance;
    const promised = others.reduce((sum, [, other]) => sum + (other.allowance ?? 0), 0);
    const reason = describeShortage(allowance, (limit ?? 0) - spentIn(state.ledger) - promised);
    const isConvoys = allowance.why === 'convoy';
    if (!isConvoys || others.length === 0) return { kind: 'held', reason, isConvoys };
    if (!isTold)
      onEvent({
        ...{ kind: 'said', task },
        text: `${task.id} waits: ${reason}; workers that cost less than they may leave it more`,
      });
    isTold = true;
    await sleepUnlessAborted(moneyLook, signal);
  }
  return null;
}

const moneyLook: Millis = 500;

/** The budgets left of tasks whose workers have no allowance yet; one whose work is being merged needs none. */
function listWaiting({ active, jobs }: Convoy, own: string): (Micros | null)[] {
  return [...active].flatMap(([id, { allowance }]) => {
    const job = jobs.get(id);
    const step = job?.record.step;
    const isWaiting = job?.claim === null && (step === 'working' || step === 'held');
    if (id === own || allowance !== null || !isWaiting) return [];
    const { worker, record } = job;
    return [worker.budget === undefined ? null : Math.max(0, worker.budget - record.costMicros)];
  });
}

/** Makes what a worker has used the cost of the convoy. */
export async function chargeWorker(
  orch: Orch,
  convoy: Convoy,
  { target }: RunProgress,
  ports: TaskPorts,
  job: Job,
  epic: EpicId,
): Promise<void> {
  const before = job.record.costMicros;
  const spent = (await chargeEpic(orch, convoy, { target }, ports, epic)) + (job.record.reviewMicros ?? 0);
  job.record = { ...job.record, costMicros: spent };
  // Only now, or what was spent would for a moment be neither spent nor promised.
  const own = convoy.active.get(job.task.id);
  if (own && own.allowance !== null) own.allowance = Math.max(0, own.allowance - (spent - before));
}

/** Makes what was used in an epic of a task the cost of the convoy, and returns how much that is. */
export async function chargeEpic(
  orch: Orch,
  convoy: Convoy,
  { target }: Pick<RunProgress, 'target'>,
  ports: TaskPorts,
  epic: EpicId,
): Promise<Micros> {
  const { state } = await readView(orch, epic);
  const { ledger } = (await readView(orch, convoy.epic)).state;
  const charges = chargeTask(epic, state.ledger, { convoy: ledger, payer: target.session });
  const facts = charges.map((charge): Fact => ({ kind: 'meter', ...charge }));
  if (facts.length > 0) await record(ports, target, facts);
  return spentIn(state.ledger);
}
