import { hasCode, OrchError } from '../../errors.ts';
import { isTaskId } from '../../ids.ts';
import { cleanLine } from '../../text.ts';
import type { Json } from '../../types.ts';
import { using, type Where } from '../../where.ts';
import { noPrompt } from '../convoy-plan.ts';
import { digestOf, shortDigestOf } from '../digests.ts';
import type { Effect, Plan, Task } from '../plan.ts';
import type { RunInfo } from '../run/progress.ts';
import { type RunPlanOptions, runPlan } from '../run/run-plan.ts';
import { planEffects } from './plan-effects.ts';

/** Something a program does to the outside world, once. */
export type ProgramEffect = {
  readonly id: string;
  /**
   * What it sends; it is recorded with the plan. With other content it is another effect, with another key. If it is
   * omitted in a later call, the content planned first is sent.
   */
  readonly content?: Json;
  /**
   * Performs it with the planned content, under a key that is the same in every replay. Throwing a network error or
   * `RESUME_NEEDED` asks for another attempt; any other error blocks it.
   */
  readonly perform: (key: string, content: Json) => Promise<void>;
  /** Whether it was already done. Asked before it is repeated. */
  readonly isDone?: (key: string, content: Json) => Promise<boolean>;
};

export type RunEffectsOptions = Pick<
  RunPlanOptions,
  'epicId' | 'fresh' | 'budget' | 'takeOver' | 'replan' | 'asPlanned' | 'done' | 'signal' | 'onEvent'
> & {
  /** How many times each is tried; three by default. */
  readonly attempts?: number;
  /** The first pause between attempts, in milliseconds; a second by default. */
  readonly backoff?: number;
};

/**
 * Performs a program's effects in order, each once: all are planned durably before the first is tried, and each is
 * acknowledged before the next. The name identifies the work: called again after a crash or a failure, it does what is
 * missing, and once all is done, nothing. `fresh` starts over. Failures are in the result, not thrown.
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
      refuseOtherEffects(plan, run, new Set([...(given.asPlanned ?? []), ...(given.done ?? [])]));
      return run;
    } catch (error) {
      if (!hasCode(error, 'SESSION_NOT_FOUND')) throw error;
      return runPlan(plan, given, orch);
    }
  });
}

function makePlan(name: string, given: readonly ProgramEffect[], effectRetry: Task['effectRetry']): Plan {
  if (cleanLine(name, 64) !== name || name === '')
    throw nameError(`${JSON.stringify(name.slice(0, 80))} is not a valid name`);
  const effects = given.map(makeEffect);
  const digest = digestOf([name, effects.map(({ id, digest: own }) => [id, own])]);
  const task: Task = {
    id: 'effects',
    number: 1,
    name,
    run: null,
    parts: null,
    parent: null,
    needs: [],
    isInOrder: false,
    when: 'success',
    files: [],
    retry: { attempts: 1, backoff: 0 },
    repeat: null,
    mayFail: false,
    undo: null,
    effectRetry,
    timeout: null,
    env: {},
    artifacts: [],
    effects,
    convoy: noPrompt,
    digest: shortDigestOf(null),
  };
  return { name, tasks: [task], length: 1, onFailure: 'stop', convoy: {}, digest };
}

function makeEffect({ id, content, perform, isDone }: ProgramEffect): Effect {
  if (!isTaskId(id)) throw nameError(`${JSON.stringify(id.slice(0, 80))} is not a valid effect id`);
  return {
    id,
    action: { kind: 'function', ...(content !== undefined && { content }), perform },
    check: isDone ? { kind: 'function', isDone } : null,
    digest: shortDigestOf(content ?? null),
  };
}

function nameError(problem: string): OrchError {
  return new OrchError('USAGE', problem, {
    hint: 'A name is one line of up to 64 bytes. An id consists of letters, digits, ".", "_" and "-"',
  });
}

/** Refuses a result for other effects that were done under the same name: these are not done. */
function refuseOtherEffects(
  { name, tasks }: Plan,
  { id, status, from, effects }: RunInfo,
  chosen: ReadonlySet<string>,
): void {
  if (status !== 'succeeded' || from !== null) return;
  const done = new Map(effects.map((effect) => [effect.id, effect.key]));
  const { planned } = planEffects(tasks, id);
  // The content matters unless the user chose what counts, or omitted it to mean what was planned.
  const isContentGiven = ({ action, id: effect }: Effect) =>
    action.kind === 'function' && action.content !== undefined && !chosen.has(effect);
  const other = planned.find(({ effect, record }) => {
    return isContentGiven(effect) ? done.get(record.id) !== record.key : !done.has(record.id);
  });
  if (other === undefined) return;
  const how = done.has(other.record.id) ? 'with other content for' : 'without';
  throw new OrchError('USAGE', `${name} was done ${how} effect ${other.record.id}`, {
    hint: 'Give the work another name, or start over with fresh',
    data: { plan: name, run: id, effect: other.record.id },
  });
}
