import { OrchError } from '../../errors.ts';
import type { Orch } from '../../orch.ts';
import { loadConvoyPlan } from '../../plan/parse-plan.ts';
import type { Environment } from '../../system/process/spawn.ts';
import { inheritedEnvironment } from '../../system/process/spawn.ts';
import { isWorking, joined, pauseWorker, readWorker } from '../worker/worker.ts';
import { raiseFence } from '../worktree/ref-fence.ts';
import type { NamedTask } from './steer-api.ts';

/** What a person runs to join a worker: its agent in the same conversation, or a shell if it has none. */
export type Attachment = {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  /** Does the worker continue when the person leaves? */
  readonly continues: boolean;
};

/** Pauses a worker, so that a person can join its conversation in its worktree. */
export async function attachTask(orch: Orch, { convoy, task }: NamedTask): Promise<Attachment> {
  const name = `${convoy.epic}/${task.id}`;
  if (task.worktree === null || task.sessionId === null)
    throw new OrchError('USAGE', `there is nothing to join: ${task.id} is ${task.status.replace('_', ' ')}`, {
      hint: `See how it is: orch convoy why ${name}`,
      data: { task: task.id, status: task.status },
    });
  if (task.status === 'checking' || task.status === 'merging')
    throw new OrchError('USAGE', `the agent of ${task.id} is done, and its work is being merged`, {
      hint: `See how it is: orch convoy why ${name}`,
      data: { task: task.id, status: task.status },
    });
  if (isWorking(await readWorker(orch, task.epicId))) await pauseWorker(orch, task.epicId, joined);
  const plan = convoy.path === null ? null : loadConvoyPlan(convoy.path);
  const args =
    plan?.tasks.find(({ id }) => id === task.id)?.convoy.worker.args ?? plan?.convoy.worker?.args ?? [];
  return {
    argv: makeCommand(task.agent, task.model, args),
    cwd: task.worktree,
    env: { ...(await raiseFence(orch, task.branch)), ORCH_TASK: task.id },
    continues: task.status !== 'failed' && task.status !== 'cancelled',
  };
}

function makeCommand(agent: string | null, model: string | null, args: readonly string[]): readonly string[] {
  const named = model === null ? [] : ['--model', model];
  if (agent === 'claude' || agent === 'codex') return [agent, ...named, ...args];
  return [inheritedEnvironment().SHELL || 'sh'];
}
