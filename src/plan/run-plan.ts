import { relative } from 'node:path';
import { OrchError } from '../errors.ts';
import type { StartRequest } from '../session/lifecycle.ts';
import type { SessionPorts } from '../session/record.ts';
import type { SessionSettings } from '../session/settings.ts';
import { realPath } from '../system/files.ts';
import { type SignalWatch, watchAbort } from '../system/signals.ts';
import { inheritedEnvironment } from '../system/spawn.ts';
import type { Micros } from '../types.ts';
import { type Begun, beginRun } from './begin.ts';
import type { Wish } from './choice.ts';
import { describeRun, figuresOfKnown, type RunInfo } from './describe.ts';
import type { RunEvent, RunResult } from './progress.ts';
import type { EffectChoice } from './replan.ts';
import { runTasks } from './runner.ts';
import type { Plan } from './types.ts';

export type PlanPorts = SessionPorts & {
  readonly repository: { readonly worktree: string | null };
  readonly readConfig: () => Promise<{ readonly budget: Micros | null }>;
  readonly readSettings: () => Promise<SessionSettings>;
};

export type PlanRequest = {
  readonly plan: Plan;
  /** The plan's file, as a whole path; null where it is in none. */
  readonly path: string | null;
  readonly wish: Wish;
  /** What the user says of effects that are not acknowledged, by their ids; of none, where it is left out. */
  readonly choices?: ReadonlyMap<string, EffectChoice>;
  readonly epic: StartRequest['epic'];
  readonly jobs: number;
  readonly budget: string | null;
  readonly takeOver: boolean;
  readonly byAgent: boolean;
  /** What ends it before its time. */
  readonly signals: SignalWatch | AbortSignal;
  readonly onBegin: (begun: Begun) => Promise<void>;
  readonly onEvent: (event: RunEvent) => void;
};

/** What became of a plan's run; `result` is null where there was nothing left to do. */
export type PlanOutcome = { readonly run: RunInfo; readonly result: RunResult | null };

/** Where a plan's tasks run, and where the plan itself is, from there. */
export function placeOf({ repository }: Pick<PlanPorts, 'repository'>, path: string | null) {
  const { worktree } = repository;
  if (worktree === null)
    throw new OrchError('REPOSITORY_UNSUPPORTED', 'a bare repository has no files for tasks to work on', {
      hint: 'Run it in a working tree',
    });
  const file = path === null ? null : relative(realPath(worktree), realPath(path));
  return { worktree, file, env: inheritedEnvironment() };
}

/** Begins a plan's run, or goes on with it, and works until it ends. */
export async function workOnPlan(ports: PlanPorts, request: PlanRequest): Promise<PlanOutcome> {
  const { plan, epic, jobs, onEvent } = request;
  const signals = 'caught' in request.signals ? request.signals : watchAbort(request.signals);
  const at = placeOf(ports, request.path);
  const { worktree, env } = at;
  const begun = await beginRun(ports, {
    plan,
    ...at,
    wish: request.wish,
    choices: request.choices ?? new Map(),
    session: {
      epic,
      budget: request.budget,
      byAgent: request.byAgent,
      kind: 'supervised',
      worktree,
      settings: await ports.readSettings(),
      takeOver: request.takeOver,
    },
  });
  if (begun.kind === 'nothing')
    return { run: describeRun(plan, figuresOfKnown(epic, begun.run)), result: null };
  await request.onBegin(begun);
  const { id, from, startedAt } = begun.run;
  const result = await runTasks(ports, begun.started.target, begun.run, {
    cwd: worktree,
    env,
    signals,
    jobs,
    onEvent,
  });
  return { run: describeRun(plan, { id, epic, from, startedAt, ...result }), result };
}
