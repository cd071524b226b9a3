import type { Orch } from '../../orch.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Micros } from '../../types.ts';
import { override } from '../work/job.ts';
import { readPrompt } from '../work/task-texts.ts';
import { readHistory } from './read-history.ts';
import { estimateCost, type ModelHistory, route } from './route.ts';
import { describeForRoute } from './routed-task.ts';

/** Which model a task would begin with. */
export type PlannedRoute = {
  readonly task: string;
  readonly agent: string;
  /** Null for the agent's own default. */
  readonly model: string | null;
  readonly why: string;
  /** What it will probably cost, and what that is taken from; null without any experience. */
  readonly estimate: { readonly micros: Micros; readonly from: string } | null;
};

export type PlannedRoutes = {
  readonly routes: readonly PlannedRoute[];
  /** How earlier tasks went, by complexity and model. */
  readonly history: readonly ModelHistory[];
  /** Does the history count? */
  readonly learns: boolean;
};

/** Says which model each task of a plan would begin with, why, and what it will probably cost. Starts nothing. */
export async function previewRoutes(orch: Orch, { tasks, convoy }: Plan): Promise<PlannedRoutes> {
  const { routing } = await orch.readConfig();
  const history = await readHistory(orch);
  const prompts = tasks.filter((task) => task.convoy.prompt !== null);
  const routes = prompts.map((task): PlannedRoute => {
    const worker = override(convoy.worker ?? {}, task.convoy.worker);
    const known = describeForRoute(task, worker, { prompt: readPrompt(orch, task), attempt: 1 });
    const chosen = route(known, routing.learn ? history : [], routing);
    const estimate = estimateCost(known.complexity, chosen.model, history);
    return { task: task.id, agent: known.agent, ...chosen, estimate };
  });
  return { routes, history, learns: routing.learn };
}
