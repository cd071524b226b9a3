import type { Budget } from '../cost/budget.ts';
import { OrchError } from '../errors.ts';
import { readBranch } from '../git/worktree/merge-commits.ts';
import { listOwnWorktrees } from '../git/worktree/own-worktrees.ts';
import { lookUp } from '../keyed.ts';
import type { Orch } from '../orch.ts';
import type { Plan } from '../plan/plan.ts';
import { findRun, isActive, type KnownRun } from '../plan/run/known-runs.ts';
import { readView } from '../record/view.ts';
import { describeMoney } from '../session/epic-status.ts';
import type { TaskRecord } from '../state/runs.ts';
import type { EpicId } from '../types.ts';
import { formatInstant, toUsd } from '../units.ts';
import { mergedBranch, taskBranch, taskEpic, worktreeName } from './names.ts';
import { isWorking, readWorker } from './work/worker.ts';

export type ConvoyTask = {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly status: 'waiting' | 'working' | 'checking' | 'merging' | 'held' | 'done' | 'failed' | 'skipped';
  readonly attempts: number;
  readonly agent: string | null;
  readonly model: string | null;
  readonly worktree: string | null;
  readonly branch: string;
  readonly epicId: EpicId;
  readonly costUsd: number;
  readonly reason: string | null;
  readonly commit: string | null;
};

export type ConvoyInfo = {
  readonly id: string;
  readonly name: string;
  readonly epicId: EpicId;
  readonly status: 'running' | 'paused' | 'succeeded' | 'failed' | 'interrupted';
  readonly merged: string | null;
  readonly budget: Budget;
  readonly startedAt: string;
  readonly tasks: readonly ConvoyTask[];
};

/** Describes the newest convoy of a plan. */
export async function showConvoy(orch: Orch, plan: Plan, epic: EpicId): Promise<ConvoyInfo> {
  const view = await readView(orch, epic);
  const run = await findRun(orch.git, view, plan.name);
  if (run === null)
    throw new OrchError('SESSION_NOT_FOUND', `there is no convoy of ${plan.name} on ${epic}`, {
      hint: 'Start one: orch convoy start PLAN',
      data: { plan: plan.name, epicId: epic },
    });
  const isRunning = isActive(orch, run);
  const idle = new Map<string, string>();
  if (!isRunning)
    for (const [id, record] of Object.entries(run.tasks)) {
      if (stateOf(record) !== 'working' || !record.worker) continue;
      const worker = await readWorker(orch, taskEpic(epic, id));
      if (!isWorking(worker)) idle.set(id, `its worker is ${worker.condition ?? 'not started'}`);
    }
  const worktrees = new Map(listOwnWorktrees(orch, `${epic}/`).map(({ name, path }) => [name, path]));
  return {
    id: run.id,
    name: plan.name,
    epicId: epic,
    status: isRunning ? 'running' : endedStatus(run),
    merged: await readBranch(orch.repository, mergedBranch(epic)),
    budget: describeMoney(view.state),
    startedAt: formatInstant(run.head.startedAt),
    tasks: plan.tasks.map((task): ConvoyTask => {
      const { id, number, name } = task;
      const known = lookUp(run.tasks, id);
      const worker = known?.worker;
      return {
        ...{ id, number, name, attempts: known?.attempts ?? 0 },
        status: idle.has(id) ? 'waiting' : stateOf(known),
        ...{ agent: worker?.agent ?? null, model: worker?.model ?? null },
        worktree: worktrees.get(worktreeName(epic, id)) ?? null,
        ...{ branch: taskBranch(epic, id), epicId: taskEpic(epic, id) },
        costUsd: toUsd(worker?.costMicros ?? 0),
        ...{ reason: idle.get(id) ?? known?.why ?? null, commit: worker?.merged ?? null },
      };
    }),
  };
}

function endedStatus({ head: { status } }: KnownRun): ConvoyInfo['status'] {
  if (status === 'running') return 'interrupted';
  if (status === 'resume_needed') return 'paused';
  return status === 'blocked' ? 'failed' : status;
}

/** The state of a task, from its record. */
function stateOf(record: TaskRecord | undefined): ConvoyTask['status'] {
  switch (record?.status) {
    case 'succeeded':
      return 'done';
    case 'failed':
      return 'failed';
    case 'skipped':
      return 'skipped';
    case 'running':
    case 'pending':
      return record.worker?.step ?? (record.status === 'running' ? 'working' : 'waiting');
    default:
      return 'waiting';
  }
}
