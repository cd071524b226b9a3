import { isRecord } from '../checks.ts';
import { OrchError } from '../errors.ts';
import type { Complexity, GivenConvoyPlan, GivenConvoyTask, GivenPrompt, Worker } from './convoy-shape.ts';
import type { Plan } from './plan.ts';
import type { Finding } from './references.ts';

/* What a plan says about prompts and the agents that do them. */

/** What a task says about the agent that does it. */
export type ConvoyTask = {
  /** Null for a task that runs a command, or only has effects. */
  readonly prompt: GivenPrompt | null;
  readonly labels: readonly string[];
  readonly complexity: Complexity | null;
  /** Overrides the plan's worker, key by key. */
  readonly worker: Worker;
};

/** How often a prompt is tried if the plan does not say. */
export const defaultWorkerAttempts = 3;

/** A task without anything for an agent. */
export const noPrompt: ConvoyTask = { prompt: null, labels: [], complexity: null, worker: {} };

/** What a plan says about its workers, as written. */
export type ConvoyPlan = GivenConvoyPlan;

export function makeConvoyTask({ prompt, labels, complexity, worker }: GivenConvoyTask): ConvoyTask {
  return {
    prompt: prompt ?? null,
    labels: [...new Set(labels)],
    complexity: complexity ?? null,
    worker: worker ?? {},
  };
}

export function makeConvoyPlan({
  workers,
  budget,
  worker,
  merge,
  review,
  collisions,
  spec,
}: GivenConvoyPlan): ConvoyPlan {
  return { workers, budget, worker, merge, review, collisions, spec };
}

/**
 * Do tasks without needs wait for the one before? Agents are given as much as possible at once, so in a plan with a
 * prompt, only what is written counts. Reads raw values, as a plan with mistakes has them.
 */
export function impliesOrder(tasks: readonly unknown[]): boolean {
  const hasPrompt = (task: unknown): boolean =>
    isRecord(task) &&
    (task.prompt !== undefined || (Array.isArray(task.tasks) && task.tasks.some(hasPrompt)));
  return !tasks.some(hasPrompt);
}

/** Finds tasks that are to be done in two ways, and keys that mean nothing without a prompt, or with one. */
export function findPromptMistakes(
  task: { readonly [key: string]: unknown },
  path: Finding['path'],
): Finding[] {
  const at = (key: string, message: string): Finding => ({ path: [...path, key], message });
  if (task.prompt === undefined)
    return ['worker', 'complexity']
      .filter((key) => task[key] !== undefined)
      .map((key) => at(key, `${key} is about a prompt, and this task has none; allowed with prompt`));
  return [
    ...(task.run === undefined
      ? []
      : [at('run', 'a task with a prompt is done by an agent; allowed: either prompt or run')]),
    ...(task.timeout === undefined
      ? []
      : [at('timeout', 'timeout is for run; allowed with a prompt: worker: { timeout: 2h }')]),
  ];
}

/** Refuses a plan with prompts where no agents are started; a budget that was ignored would be no budget. */
export function refuseConvoy(plan: Plan, file: string): Plan {
  const prompts = plan.tasks.filter(({ convoy }) => convoy.prompt !== null).map(({ id }) => id);
  const keys = Object.entries(plan.convoy).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  if (prompts.length === 0 && keys.length === 0) return plan;
  const names = prompts.length > 5 ? `${prompts.slice(0, 5).join(', ')}, …` : prompts.join(', ');
  const refuse = (problem: string, hint: string) =>
    new OrchError('PLAN_INVALID', problem, { hint, data: { file, prompts, keys } });
  const what =
    prompts.length > 0 ? `has tasks for agents: ${names}` : `is for agents, as ${keys.join(', ')} says`;
  throw refuse(`${file} ${what}`, `Start it as a convoy: orch convoy start ${file}`);
}

/** Has the plan anything that only a convoy does? */
export function isConvoy({ tasks, convoy }: Pick<Plan, 'tasks' | 'convoy'>): boolean {
  return (
    tasks.some((task) => task.convoy.prompt !== null) ||
    Object.values(convoy).some((value) => value !== undefined)
  );
}
