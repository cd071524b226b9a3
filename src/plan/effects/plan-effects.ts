import { hash } from '../../digest.ts';
import { OrchError } from '../../errors.ts';
import { type Keyed, lookUp } from '../../keyed.ts';
import { canonicalJson } from '../../state/canonical.ts';
import type { Fact } from '../../state/facts.ts';
import { describeAction, findUnsetVariables, type Variables } from '../action-text.ts';
import type { Effect, Task } from '../plan.ts';
import { dropLongPayloads, formatPayload } from './payload.ts';
import { decideReplan, type EffectChoice, type KnownEffect } from './replan.ts';

export type EffectFact = Extract<Fact, { kind: 'effect' }>;

/** An effect of a run: what to do, under which key, and how far it is. */
export type PlannedEffect = {
  readonly effect: Effect;
  readonly record: EffectFact;
  /** Why it is not tried before the user makes a choice; null if it can be tried. */
  readonly blocked: string | null;
};

/** The effects known from earlier sessions of a run, or from the run it continues. */
export type EarlierEffects = {
  readonly effects: Keyed<KnownEffect>;
  /** Whether another clone was working on them. */
  readonly isElsewhere: boolean;
  readonly choices?: ReadonlyMap<string, EffectChoice>;
  /** Whether this clone planned such a payload. */
  readonly isOwn?: (content: string) => boolean;
};

export const noEarlierEffects: EarlierEffects = { effects: {}, isElsewhere: false };

export type EffectPlan = {
  /** In plan order. */
  readonly planned: readonly PlannedEffect[];
  /** What has changed since it was planned, in sentences for people. */
  readonly changes: readonly string[];
};

/**
 * Plans the effects of a run's tasks. An acknowledged effect stays acknowledged, even if the plan has changed it. An open
 * effect keeps its key, so that a replay uses the same one, unless the effect itself has changed.
 */
export function planEffects(
  tasks: readonly Pick<Task, 'id' | 'effects'>[],
  run: string,
  earlier: EarlierEffects = noEarlierEffects,
): EffectPlan {
  refuseSameIds(tasks.flatMap(({ effects }) => effects));
  const changes: string[] = [];
  const planned = tasks.flatMap(({ id: task, effects }) =>
    effects.map((effect): PlannedEffect => {
      const known = lookUp(earlier.effects, effect.id);
      return known === undefined
        ? planNew(run, task, effect, 'no')
        : planKnown({ run, task, effect, known }, earlier, changes);
    }),
  );
  const ids = new Set(planned.map(({ effect }) => effect.id));
  for (const [id, { status }] of Object.entries(earlier.effects)) {
    if (!ids.has(id) && status !== 'acknowledged')
      changes.push(`effect ${id} is no longer in the plan; it was planned and may have been done`);
  }
  return { planned, changes };
}

function planNew(
  run: string,
  task: string,
  effect: Effect,
  tried: EffectFact['tried'],
  turn = 0,
): PlannedEffect {
  const { id, digest, action } = effect;
  const about = { what: describeAction(action), content: formatPayload(action) };
  const key = makeKey(run, task, effect, turn);
  const now = { status: 'planned', reason: null, tried, ...(turn > 0 && { turn }) } as const;
  return { effect, record: { kind: 'effect', run, id, task, key, digest, ...about, ...now }, blocked: null };
}

function planKnown(
  given: {
    readonly run: string;
    readonly task: string;
    readonly effect: Effect;
    readonly known: KnownEffect;
  },
  { isElsewhere, choices, isOwn = () => false }: EarlierEffects,
  changes: string[],
): PlannedEffect {
  const { run, task, effect, known } = given;
  const { id } = effect;
  const decision = decideReplan(effect, known, { choice: choices?.get(id) ?? null, isElsewhere, isOwn });
  if ('change' in decision && decision.change !== null) changes.push(decision.change);
  const { turn = 0 } = known;
  if (decision.kind === 'again') return planNew(run, task, effect, 'no', turn + 1);
  if (decision.kind === 'new') return planNew(run, task, effect, decision.tried, turn);
  const { reason, digest, what } = known;
  const content = digest === effect.digest ? formatPayload(effect.action) : known.content;
  const kept = {
    kind: 'effect',
    run,
    id,
    task,
    digest,
    what,
    ...(content !== undefined && { content }),
    ...(turn > 0 && { turn }),
  } as const;
  if (decision.kind === 'done')
    return {
      effect,
      record: { ...kept, key: known.key, status: 'acknowledged', reason: null },
      blocked: null,
    };
  // The key is passed on in an environment variable and a header, and may come from another clone.
  const key = keyShape.test(known.key) ? known.key : makeKey(run, task, effect, turn);
  return {
    effect: decision.kind === 'same' ? decision.effect : effect,
    record: { ...kept, key, status: 'planned', reason, tried: decision.tried },
    blocked: decision.kind === 'blocked' ? decision.why : null,
  };
}

/** Effects are known by their ids: if two shared one, both would count as done when either is. */
function refuseSameIds(effects: readonly Effect[]): void {
  const ids = effects.map(({ id }) => id);
  const seen = new Set<string>();
  const twice = ids.find((id) => seen.size === seen.add(id).size);
  if (twice === undefined) return;
  throw new OrchError('PLAN_INVALID', `two effects have the id ${twice}`, {
    hint: 'Give each effect of the plan its own id',
    data: { effect: twice },
  });
}

const keyShape = /^orch-[0-9a-f]{32}$/;

/** Makes a key that is the same for the same effect of the same run, and for no other; once undone, it is another. */
function makeKey(run: string, task: string, { id, digest }: Effect, turn: number): string {
  const about = [run, task, id, digest, ...(turn > 0 ? [turn] : [])];
  return `orch-${hash('sha256', canonicalJson(about)).slice(0, 32)}`;
}

/** Lists the effects still to be done, in plan order. */
export function listOpenEffects(planned: readonly PlannedEffect[]): PlannedEffect[] {
  return planned.filter(({ record }) => record.status !== 'acknowledged');
}

/**
 * Plans all effects of a run before the first is tried. The caller records the facts, and has them in a checkpoint before
 * it starts. If a variable that an open effect needs is unset, nothing is planned.
 */
export function planRunEffects(
  tasks: readonly Pick<Task, 'id' | 'effects' | 'env'>[],
  run: string,
  earlier: EarlierEffects,
  env: Variables,
): EffectPlan & { readonly facts: readonly EffectFact[] } {
  const plan = planEffects(tasks, run, earlier);
  const byId = new Map(tasks.map((task) => [task.id, task]));
  for (const { effect, record, blocked } of listOpenEffects(plan.planned)) {
    if (blocked !== null) continue;
    const task = byId.get(record.task);
    const [unset] = findUnsetVariables(effect.action, { ...env, ...task?.env });
    if (unset !== undefined) throw unsetError(unset, effect.id, record.task);
  }
  const records = plan.planned.map(({ record }) => record);
  return { ...plan, facts: dropLongPayloads(records) };
}

function unsetError(name: string, effect: string, task: string): OrchError {
  return new OrchError(
    'PLAN_INVALID',
    `${name} is not set in the environment; effect ${effect} of ${task} needs it`,
    {
      hint: `Nothing was started. Set ${name}, then run the same command again`,
      data: { variable: name, effect, task },
    },
  );
}
