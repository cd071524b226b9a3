import type { Config, Tier } from '../../config/defaults.ts';
import { lookUp } from '../../keyed.ts';
import type { Complexity, Worker } from '../../plan/convoy-shape.ts';
import { mayOverlap } from '../../plan/schedule/claims.ts';
import type { Micros } from '../../types.ts';

/*
 * Which model does a task. Decided from what the plan says of the task, the table in the config, and, if the user wants it,
 * from how earlier tasks went; each choice says why.
 */

export type RoutingTable = Config['routing'];

/** What is known of a task. */
export type RoutedTask = {
  readonly agent: string;
  /** As the plan has it. */
  readonly model: Worker['model'];
  readonly complexity: Complexity | null;
  readonly labels: readonly string[];
  readonly files: readonly string[];
  readonly promptBytes: number;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** The model that a person asked for. */
  readonly wanted?: string | undefined;
};

/** How earlier tasks of a complexity went that began with a model. */
export type ModelHistory = {
  readonly complexity: Complexity | null;
  readonly model: string;
  /** How many began with it, and how many of them were done with it. */
  readonly begun: number;
  readonly done: number;
  /** What each has cost, all attempts together. */
  readonly costs: readonly Micros[];
};

export type Route = {
  /** Null for the agent's own default. */
  readonly model: string | null;
  readonly why: string;
};

/** Chooses the model of a task's next attempt. */
export function route(task: RoutedTask, history: readonly ModelHistory[], table: RoutingTable): Route {
  const { agent, model = 'auto', attempt, wanted } = task;
  if (wanted !== undefined) return { model: wanted, why: 'a person asked for it' };
  if (typeof model !== 'string') {
    const named = model[Math.min(attempt, model.length) - 1] ?? null;
    return { model: named, why: `the plan lists it for attempt ${Math.min(attempt, model.length)}` };
  }
  if (model !== 'auto') return { model, why: 'the plan names it' };
  const models = lookUp(table.models, agent) ?? [];
  if (models.length === 0) return { model: null, why: `the config lists no models for ${agent}` };
  const { tier, why } = chooseTier(task, table.rules);
  const first = placeOf(tier, models.length);
  const learnt = table.learn ? learn(task, history, models, first) : null;
  const begin = learnt?.place ?? first;
  const place = Math.min(models.length - 1, begin + attempt - 1);
  const failed =
    attempt === 1 ? '' : `, and ${attempt === 2 ? 'an attempt' : `${attempt - 1} attempts`} failed`;
  return { model: models[place] ?? null, why: `${learnt?.why ?? why}${failed}` };
}

const tierOfComplexity: { readonly [C in Complexity]: Tier } = {
  trivial: 'small',
  simple: 'small',
  standard: 'medium',
  complex: 'large',
};

/** A prompt this long describes more than one thing. */
const longPrompt = 6_000;

function chooseTier(
  { complexity, labels, files, promptBytes }: RoutedTask,
  rules: RoutingTable['rules'],
): { readonly tier: Tier; readonly why: string } {
  for (const rule of rules) {
    const label = rule.labels?.find((each) => labels.includes(each));
    const glob = rule.files?.find((each) => files.some((file) => mayOverlap(file, each)));
    const isMet =
      (rule.labels === undefined || label !== undefined) && (rule.files === undefined || glob !== undefined);
    if (isMet)
      return {
        tier: rule.tier,
        why: [label && `it has the label ${label}`, glob && `its files match ${glob}`]
          .filter(Boolean)
          .join(', and '),
      };
  }
  if (complexity !== null) return { tier: tierOfComplexity[complexity], why: `it is a ${complexity} task` };
  return promptBytes > longPrompt
    ? { tier: 'large', why: 'its prompt is long' }
    : { tier: 'medium', why: 'nothing says how hard it is' };
}

/** Where a tier is in a list of models, the smallest first. */
function placeOf(tier: Tier, length: number): number {
  if (tier === 'small') return 0;
  return tier === 'large' ? length - 1 : Math.ceil((length - 1) / 2);
}

/** So many tasks are an experience. */
const enough = 5;
const good = 0.8;
const bad = 0.5;

/** Begins a tier higher where the usual one mostly failed, and a tier lower where the lower one mostly did it. */
function learn(
  { complexity }: RoutedTask,
  history: readonly ModelHistory[],
  models: readonly string[],
  usual: number,
): { readonly place: number; readonly why: string } | null {
  const of = (place: number) => {
    const found = history.find((each) => each.complexity === complexity && each.model === models[place]);
    return found && found.begun >= enough ? found : null;
  };
  const kind = complexity === null ? 'tasks like it' : `${complexity} tasks`;
  const [own, lower] = [of(usual), usual > 0 ? of(usual - 1) : null];
  if (own && own.done / own.begun < bad && usual + 1 < models.length)
    return { place: usual + 1, why: `${models[usual]} did only ${own.done} of ${own.begun} ${kind}` };
  if (lower && lower.done / lower.begun >= good)
    return { place: usual - 1, why: `${models[usual - 1]} did ${lower.done} of ${lower.begun} ${kind}` };
  return null;
}

/** What a task will probably cost: the median of those like it, else of all; null without any. */
export function estimateCost(
  complexity: Complexity | null,
  model: string | null,
  history: readonly ModelHistory[],
): { readonly micros: Micros; readonly from: string } | null {
  const like = history.filter((each) => each.complexity === complexity && each.model === model);
  for (const [known, what] of [
    [like, 'like it'],
    [history, 'of this repository'],
  ] as const) {
    const costs = known.flatMap((each) => each.costs).sort((a, b) => a - b);
    const middle = costs[Math.floor((costs.length - 1) / 2)];
    if (middle !== undefined)
      return { micros: middle, from: `${costs.length} ${costs.length === 1 ? 'task' : 'tasks'} ${what}` };
  }
  return null;
}
