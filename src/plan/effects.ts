import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import { canonicalJson } from '../state/canonical.ts';
import type { Fact } from '../state/facts.ts';
import type { EffectRecord } from '../state/run.ts';
import { describeDeed } from './deed.ts';
import { findUnsetVariables, type Variables } from './placeholders.ts';
import type { Effect, Task } from './types.ts';

export type EffectFact = Extract<Fact, { kind: 'effect' }>;

/** An effect of a run: what is to be done, under which key, and how far it is. */
export type PlannedEffect = {
  readonly effect: Effect;
  readonly record: EffectFact;
  /** Whether an earlier process may have tried it: none, one of this clone, or one of another. */
  readonly replay: 'none' | 'here' | 'elsewhere';
};

/** What earlier sessions of a run, or the run this one goes on from, knew of their effects; by their ids. */
export type Carried = {
  readonly effects: Keyed<Pick<EffectRecord, 'task' | 'key' | 'status' | 'reason' | 'digest' | 'what'>>;
  /** They were another clone's. */
  readonly isElsewhere: boolean;
};

export const nothingCarried: Carried = { effects: {}, isElsewhere: false };

export type EffectPlan = {
  /** In the order of the plan. */
  readonly planned: readonly PlannedEffect[];
  /** What is different from what was planned before, in sentences for people. */
  readonly changes: readonly string[];
};

/**
 * Plans the effects of a run's tasks. What was acknowledged stays so, whatever became of it in the plan; what was not
 * keeps its key, so that a replay has the same one, unless the effect itself was changed.
 */
export function planEffects(
  tasks: readonly Pick<Task, 'id' | 'effects'>[],
  run: string,
  carried: Carried = nothingCarried,
): EffectPlan {
  refuseSameIds(tasks.flatMap(({ effects }) => effects));
  const changes: string[] = [];
  const planned = tasks.flatMap(({ id: task, effects }) =>
    effects.map((effect): PlannedEffect => {
      const known = lookUp(carried.effects, effect.id);
      const isChanged = known !== undefined && known.digest !== effect.digest;
      if (isChanged) changes.push(sayChanged(effect.id, known.status));
      const base = { kind: 'effect', run, id: effect.id, task, digest: effect.digest } as const;
      const what = describeDeed(effect.deed);
      if (known?.status === 'acknowledged') {
        const { key, status, reason, digest } = known;
        return { effect, record: { ...base, key, status, reason, digest, what: known.what }, replay: 'none' };
      }
      // It goes into an environment and a header, and may come from another clone.
      const isKept = known !== undefined && !isChanged && keyShape.test(known.key);
      const key = isKept ? known.key : makeKey(run, task, effect);
      const record = { ...base, key, status: 'planned', reason: known?.reason ?? null, what } as const;
      const replay = known === undefined ? 'none' : carried.isElsewhere ? 'elsewhere' : 'here';
      return { effect, record, replay };
    }),
  );
  const ids = new Set(planned.map(({ effect }) => effect.id));
  for (const [id, { status }] of Object.entries(carried.effects)) {
    if (!ids.has(id) && status !== 'acknowledged')
      changes.push(`effect ${id} is not in the plan any more; it was planned, and may have been done`);
  }
  return { planned, changes };
}

/** Effects are known by their ids: one of two with the same would count as done when the other is. */
function refuseSameIds(effects: readonly Effect[]): void {
  const ids = effects.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice === undefined) return;
  throw new OrchError('PLAN_INVALID', `there are two effects with the id ${twice}`, {
    hint: 'Give each effect of the plan an id of its own',
    data: { effect: twice },
  });
}

function sayChanged(id: string, status: EffectRecord['status']): string {
  return status === 'acknowledged'
    ? `effect ${id} was changed after it was done: it is not done again`
    : `effect ${id} was changed: it gets a new key; as it was before, it may have been done`;
}

/** The same for the same effect of the same run, and for no other. */
const keyShape = /^orch-[0-9a-f]{32}$/;

function makeKey(run: string, task: string, { id, digest }: Effect): string {
  return `orch-${hash('sha256', canonicalJson([run, task, id, digest])).slice(0, 32)}`;
}

/** What still has to be done, in the order of the plan. */
export function missingEffects(planned: readonly PlannedEffect[]): PlannedEffect[] {
  return planned.filter(({ record }) => record.status !== 'acknowledged');
}

/** The effects of one task, in its order. */
export function effectsOfTask(planned: readonly PlannedEffect[], task: string): PlannedEffect[] {
  return planned.filter(({ record }) => record.task === task);
}

/**
 * Plans a run's effects, all before the first is tried. The caller records the facts, and has them in a checkpoint
 * before it begins. Where something the missing ones need is not there, nothing is planned at all.
 */
export function planRunEffects(
  tasks: readonly Pick<Task, 'id' | 'effects' | 'env'>[],
  run: string,
  carried: Carried,
  env: Variables,
): EffectPlan & { readonly facts: readonly EffectFact[] } {
  const plan = planEffects(tasks, run, carried);
  for (const { effect, record } of missingEffects(plan.planned)) {
    const task = tasks.find(({ id }) => id === record.task);
    const [unset] = findUnsetVariables(effect.deed, { ...env, ...task?.env });
    if (unset !== undefined) throw notSet(unset, effect.id, record.task);
  }
  return { ...plan, facts: plan.planned.map(({ record }) => record) };
}

function notSet(name: string, effect: string, task: string): OrchError {
  return new OrchError(
    'PLAN_INVALID',
    `${name} is not set in the environment; effect ${effect} of ${task} needs it`,
    {
      hint: `Set ${name}, then run the same command again; nothing was begun`,
      data: { variable: name, effect, task },
    },
  );
}
