import { hash } from '../digest.ts';
import { OrchError } from '../errors.ts';
import { type Keyed, lookUp } from '../keyed.ts';
import { canonicalJson } from '../state/canonical.ts';
import type { Fact } from '../state/facts.ts';
import { describeDeed } from './deed.ts';
import { keepPayloads, writePayload } from './payload.ts';
import { findUnsetVariables, type Variables } from './placeholders.ts';
import { type EffectChoice, type KnownEffect, planAgain } from './replan.ts';
import type { Effect, Task } from './types.ts';

export type EffectFact = Extract<Fact, { kind: 'effect' }>;

/** An effect of a run: what is to be done, under which key, and how far it is. */
export type PlannedEffect = {
  readonly effect: Effect;
  readonly record: EffectFact;
  /** Why it is not tried before the user has chosen; null where nothing stands in its way. */
  readonly hold: string | null;
};

/** What earlier sessions of a run, or the run this one goes on from, knew of their effects; by their ids. */
export type Carried = {
  readonly effects: Keyed<KnownEffect>;
  /** They were another clone's. */
  readonly isElsewhere: boolean;
  readonly choices?: ReadonlyMap<string, EffectChoice>;
  /** Did this clone plan it? */
  readonly isOwn?: (content: string) => boolean;
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
      return known === undefined
        ? planNew(run, task, effect, 'no')
        : planKnown({ run, task, effect, known }, carried, (change) => changes.push(change));
    }),
  );
  const ids = new Set(planned.map(({ effect }) => effect.id));
  for (const [id, { status }] of Object.entries(carried.effects)) {
    if (!ids.has(id) && status !== 'acknowledged')
      changes.push(`effect ${id} is no longer in the plan; it was planned, and may have been done`);
  }
  return { planned, changes };
}

function planNew(run: string, task: string, effect: Effect, tried: EffectFact['tried']): PlannedEffect {
  const { id, digest, deed } = effect;
  const about = { what: describeDeed(deed), content: writePayload(deed) };
  const key = makeKey(run, task, effect);
  const now = { status: 'planned', reason: null, tried } as const;
  return { effect, record: { kind: 'effect', run, id, task, key, digest, ...about, ...now }, hold: null };
}

function planKnown(
  given: {
    readonly run: string;
    readonly task: string;
    readonly effect: Effect;
    readonly known: KnownEffect;
  },
  { isElsewhere, choices, isOwn = () => false }: Carried,
  tell: (change: string) => void,
): PlannedEffect {
  const { run, task, effect, known } = given;
  const { id } = effect;
  const again = planAgain(effect, known, { choice: choices?.get(id) ?? null, isElsewhere, isOwn });
  if ('change' in again && again.change !== null) tell(again.change);
  if (again.kind === 'new') return planNew(run, task, effect, again.tried);
  const { reason, digest, what } = known;
  // It goes into an environment and a header, and may come from another clone.
  const key = keyShape.test(known.key) ? known.key : makeKey(run, task, effect);
  const content = digest === effect.digest ? writePayload(effect.deed) : known.content;
  const kept = {
    kind: 'effect',
    run,
    id,
    task,
    key,
    digest,
    what,
    ...(content !== undefined && { content }),
  } as const;
  if (again.kind === 'done')
    return { effect, record: { ...kept, key: known.key, status: 'acknowledged', reason: null }, hold: null };
  const hold = again.kind === 'hold' ? again.why : null;
  const record = { ...kept, status: 'planned', reason, tried: again.tried } as const;
  return { effect: again.kind === 'same' ? again.effect : effect, record, hold };
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
 * before it begins. Where something the missing ones need is not there, nothing is planned at all. `room` is how many
 * bytes what they send may take there.
 */
export function planRunEffects(
  tasks: readonly Pick<Task, 'id' | 'effects' | 'env'>[],
  run: string,
  carried: Carried,
  env: Variables,
  room = Number.POSITIVE_INFINITY,
): EffectPlan & { readonly facts: readonly EffectFact[] } {
  const plan = planEffects(tasks, run, carried);
  for (const { effect, record, hold } of missingEffects(plan.planned)) {
    if (hold !== null) continue;
    const task = tasks.find(({ id }) => id === record.task);
    const [unset] = findUnsetVariables(effect.deed, { ...env, ...task?.env });
    if (unset !== undefined) throw notSet(unset, effect.id, record.task);
  }
  return {
    ...plan,
    facts: keepPayloads(
      plan.planned.map(({ record }) => record),
      room,
    ),
  };
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
