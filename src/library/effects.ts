import { hasCode, OrchError } from '../errors.ts';
import { isTaskId } from '../ids.ts';
import type { RunInfo } from '../plan/describe.ts';
import { planEffects } from '../plan/effects.ts';
import { digestOf, shortDigestOf } from '../plan/parse.ts';
import type { Effect, Plan, Task } from '../plan/types.ts';
import { cleanLine } from '../text.ts';
import type { Json } from '../types.ts';
import { type RunPlanOptions, runPlan } from './plans.ts';
import { using, type Where } from './where.ts';

/** Something a program does to the outside world, once. */
export type ProgramEffect = {
  readonly id: string;
  /**
   * What it sends; it is kept with the plan. With other content it is another effect, and gets another key. Left out
   * when called again, what was planned the first time is meant.
   */
  readonly content?: Json;
  /**
   * Does it, with what was planned, under a key that is the same in every replay. Throwing a network's error or
   * `RESUME_NEEDED` asks for another attempt, any other error blocks it.
   */
  readonly perform: (key: string, content: Json) => Promise<void>;
  /** Was it done already? Asked before it is repeated. */
  readonly isDone?: (key: string, content: Json) => Promise<boolean>;
};

export type RunEffectsOptions = Pick<
  RunPlanOptions,
  'epicId' | 'fresh' | 'budget' | 'takeOver' | 'replan' | 'asPlanned' | 'done' | 'signal' | 'onEvent'
> & {
  /** How often each is tried: three times by default. */
  readonly attempts?: number;
  /** The first pause between attempts, in milliseconds; a second by default. */
  readonly backoff?: number;
};

/**
 * Does a program's effects in their order, each once: all are planned durably before the first is tried, and each is
 * acknowledged before the next. The name stands for the work. Called again after a crash or a failure it does what is
 * missing, and once all is done, nothing; with `fresh` it is begun anew. What fails is in the answer.
 */
export async function runEffects(
  name: string,
  effects: readonly ProgramEffect[],
  options: RunEffectsOptions = {},
  where: Where = {},
): Promise<RunInfo> {
  const { attempts = 3, backoff = 1_000, ...given } = options;
  const plan = makePlan(name, effects, { attempts, backoff });
  return using(where, async (orch) => {
    if (given.fresh) return runPlan(plan, given, orch);
    try {
      const run = await runPlan(plan, { ...given, resume: true }, orch);
      refuseOthers(plan, run, new Set([...(given.asPlanned ?? []), ...(given.done ?? [])]));
      return run;
    } catch (error) {
      if (!hasCode(error, 'SESSION_NOT_FOUND')) throw error;
      return runPlan(plan, given, orch);
    }
  });
}

const taskId = 'effects';

function makePlan(name: string, given: readonly ProgramEffect[], effectRetry: Task['effectRetry']): Plan {
  if (cleanLine(name, 64) !== name || name === '')
    throw wrong(`${JSON.stringify(name.slice(0, 80))} is no name`);
  const effects = given.map(makeEffect);
  const digest = digestOf([name, effects.map(({ id, digest: own }) => [id, own])]);
  const task: Task = {
    id: taskId,
    number: 1,
    name,
    run: null,
    needs: [],
    isInOrder: false,
    when: 'success',
    files: [],
    retry: { attempts: 1, backoff: 0 },
    effectRetry,
    timeout: null,
    env: {},
    artifacts: [],
    effects,
    digest: shortDigestOf(null),
  };
  return { name, tasks: [task], digest };
}

function makeEffect({ id, content, perform, isDone }: ProgramEffect): Effect {
  if (!isTaskId(id)) throw wrong(`${JSON.stringify(id.slice(0, 80))} is no id for an effect`);
  return {
    id,
    deed: { kind: 'function', ...(content !== undefined && { content }), perform },
    check: isDone ? { kind: 'function', isDone } : null,
    digest: shortDigestOf(content ?? null),
  };
}

function wrong(problem: string): OrchError {
  return new OrchError('USAGE', problem, {
    hint: 'A name is one line of up to 64 bytes; an id is made of letters, digits, ".", "_" and "-"',
  });
}

/** What was done under this name were other effects: to say that these are done would be wrong. */
function refuseOthers(
  { name, tasks }: Plan,
  { id, status, from, effects }: RunInfo,
  chosen: ReadonlySet<string>,
): void {
  if (status !== 'succeeded' || from !== null) return;
  const done = new Map(effects.map((effect) => [effect.id, effect.key]));
  const { planned } = planEffects(tasks, id);
  // By their own word, or because what was planned is meant.
  const isOther = ({ deed, id: effect }: Effect) =>
    deed.kind === 'function' && deed.content !== undefined && !chosen.has(effect);
  const other = planned.find(({ effect, record }) => {
    return isOther(effect) ? done.get(record.id) !== record.key : !done.has(record.id);
  });
  if (other === undefined) return;
  const what = done.has(other.record.id) ? 'with other content' : 'without it';
  throw new OrchError('USAGE', `${name} was done ${what}: effect ${other.record.id} was not`, {
    hint: 'Give the work another name, or begin it anew with fresh',
    data: { plan: name, run: id, effect: other.record.id },
  });
}
