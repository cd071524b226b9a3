import { resolve } from 'node:path';
import type { Wish } from '../plan/choice.ts';
import type { RunInfo } from '../plan/describe.ts';
import { loadPlan } from '../plan/load.ts';
import type { RunEvent } from '../plan/progress.ts';
import { chooseEffects } from '../plan/replan.ts';
import { workOnPlan } from '../plan/run-plan.ts';
import type { Plan } from '../plan/types.ts';
import { resolveEpic } from '../session/resolve.ts';
import { using, type Where } from './where.ts';

export type RunPlanOptions = {
  /** The plan's own name by default. */
  readonly epicId?: string;
  /** Continue the newest run of the plan. */
  readonly resume?: boolean;
  /** Continue after this task, by its number or id, as a new run. */
  readonly resumeStep?: string | number;
  /** Start over, though a run is unfinished. */
  readonly fresh?: boolean;
  /** How many tasks may run at once; one by default. */
  readonly jobs?: number;
  /** For the whole epic, in dollars; `+5` is five more than is spent now, `none` lifts it. */
  readonly budget?: number | string;
  /** Though the run is another clone's. */
  readonly takeOver?: boolean;
  /** Effects, by their ids, that were tried, not acknowledged and are different now: send them as they are now. */
  readonly replan?: readonly string[];
  /** The same: send them as they were planned. */
  readonly asPlanned?: readonly string[];
  /** Effects that are not acknowledged, and count as done because you say so. */
  readonly done?: readonly string[];
  /** Ends the tasks that run; the run can be resumed. */
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: RunEvent) => void;
};

/** Runs a plan, from its file or made by a program, and says what became of it. What fails is in the answer. */
export async function runPlan(
  plan: string | Plan,
  options: RunPlanOptions = {},
  where: Where = {},
): Promise<RunInfo> {
  const { epicId, resume, resumeStep, fresh, budget } = options;
  const wish: Wish =
    resumeStep !== undefined
      ? { kind: 'step', step: String(resumeStep) }
      : { kind: fresh ? 'fresh' : resume ? 'resume' : 'plain' };
  return using(where, async (orch) => {
    const loaded = typeof plan === 'string' ? loadPlan(plan) : plan;
    const { epic } = await resolveEpic(orch, { given: epicId, name: loaded.name, create: true });
    const outcome = await workOnPlan(orch, {
      plan: loaded,
      path: typeof plan === 'string' ? resolve(plan) : null,
      wish,
      choices: readChoices(options),
      epic,
      jobs: options.jobs ?? 1,
      budget: budget === undefined ? null : String(budget),
      takeOver: options.takeOver ?? false,
      byAgent: false,
      signals: options.signal ?? new AbortController().signal,
      onBegin: async () => {},
      onEvent: options.onEvent ?? (() => {}),
    });
    return outcome.run;
  });
}

function readChoices({ replan = [], asPlanned = [], done = [] }: RunPlanOptions) {
  return chooseEffects({ replan, as_planned: asPlanned, done });
}
