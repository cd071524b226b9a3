import { OrchError } from '../errors.ts';
import { lookUp } from '../keyed.ts';
import { findNearest } from '../spelling.ts';
import type { EpicId, Millis, WriterId } from '../types.ts';
import { formatAge } from '../units.ts';
import { isUnfinished, type KnownRun } from './runs.ts';
import type { Plan, Task } from './types.ts';

/** What the user wants of a plan. */
export type Wish =
  | { readonly kind: 'plain' }
  | { readonly kind: 'resume' }
  /** Go on behind this task, given by its number or its id. */
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'fresh' };

export type Choice =
  /** `after` is the number of the last task that counts as done, because the user says so. */
  | { readonly kind: 'new'; readonly from: KnownRun | null; readonly after: number }
  | { readonly kind: 'again'; readonly run: KnownRun }
  /** It has succeeded: there is nothing to go on with. */
  | { readonly kind: 'nothing'; readonly run: KnownRun };

export type Around = {
  readonly epic: EpicId;
  readonly writer: WriterId;
  readonly takeOver: boolean;
  readonly now: Millis;
  /** Another file, whose plan has the same name, where the newest run is of that one. */
  readonly namesake: string | null;
};

/** Decides between a new run and going on with the newest one of the plan; `last` is that one. */
export function chooseRun(plan: Plan, last: KnownRun | null, wish: Wish, around: Around): Choice {
  const begin: Choice = { kind: 'new', from: null, after: 0 };
  const isGivenUp = last !== null && isUnfinished(last);
  const isGoneOnWith = wish.kind === 'resume' || wish.kind === 'step';
  // Tasks and effects of the same ids would count as done, and its own run could not be gone on with any more.
  if (around.namesake !== null && (isGivenUp || isGoneOnWith)) throw isNamesakes(plan, around.namesake);
  if (wish.kind === 'fresh') return begin;
  if (wish.kind === 'plain') {
    if (last && isUnfinished(last)) throw stopped(plan, last, around);
    if (last && last.head.status !== 'succeeded') refuseRepeat(plan, last);
    return begin;
  }
  if (last === null) throw nothingToResume(plan, around);
  if (last.writer !== around.writer && !around.takeOver) throw isOthers(plan, last, around);
  if (wish.kind === 'step') return { kind: 'new', from: last, after: findStep(plan, wish.step).number };
  return last.head.status === 'succeeded' ? { kind: 'nothing', run: last } : { kind: 'again', run: last };
}

function findStep(plan: Plan, step: string): Task {
  const byId = plan.tasks.find(({ id }) => id === step);
  const byNumber = plan.tasks.find(({ number }) => String(number) === step);
  const ids = plan.tasks.map(({ id }) => id);
  if (byId && byNumber && byId !== byNumber)
    throw new OrchError(
      'USAGE',
      `${step} is the id of task ${byId.number}, and task ${step} is ${byNumber.id}: which is meant?`,
      {
        hint: `Name task ${byId.number} by its number, or ${byNumber.id} by its id`,
        data: { step, tasks: ids },
      },
    );
  const found = byId ?? byNumber;
  if (found) return found;
  const meant = /[a-z]/i.test(step) ? findNearest(step, ids) : null;
  throw new OrchError(
    'USAGE',
    `${plan.name} has no task ${JSON.stringify(step.slice(0, 80))}${meant ? `; did you mean ${meant}?` : ''}`,
    { hint: `Name one by its number, 1 to ${ids.length}, or by its id`, data: { step, tasks: ids } },
  );
}

/** `task 3 (build)`: where a run was when it stopped. */
export function describePlace(plan: Plan, run: KnownRun): string | null {
  const open = Object.values(run.effects).filter(({ status }) => status !== 'acknowledged');
  const at = plan.tasks.find(({ id }) => {
    const status = lookUp(run.tasks, id)?.status;
    const isLeft = status === 'succeeded' && open.some(({ task }) => task === id);
    return status === undefined || status === 'running' || isLeft;
  });
  return at ? `task ${at.number} (${at.id})` : null;
}

function stopped(plan: Plan, run: KnownRun, { now }: Around): OrchError {
  const place = describePlace(plan, run);
  const age = formatAge(Math.max(0, now - run.head.at));
  const when = age === 'now' ? 'just now' : `${age} ago`;
  return new OrchError(
    'RESUME_NEEDED',
    `${plan.name}: a run stopped${place ? ` in ${place}` : ''}, ${when}`,
    {
      hint: 'Continue it: --resume. Start over: --fresh.',
      data: { plan: plan.name, run: run.id, task: place, isEarlier: true },
    },
  );
}

/** The effects of a run that were acknowledged, by their ids. */
export function listDoneEffects({ effects }: KnownRun): string[] {
  return Object.entries(effects).flatMap(([id, { status }]) => (status === 'acknowledged' ? [id] : []));
}

/** To start over would do once more what a failed run has done to the world. */
function refuseRepeat({ name }: Plan, run: KnownRun): void {
  const ids = listDoneEffects(run);
  if (ids.length === 0) return;
  throw new OrchError(
    'RESUME_NEEDED',
    `${name}: ${run.id} ${run.head.status === 'blocked' ? 'is blocked' : 'failed'}, and had done ${ids.slice(0, 8).join(', ')}${ids.length > 8 ? ` and ${ids.length - 8} more` : ''} by then`,
    {
      hint: 'Continue it: --resume. Start over, and do that again: --fresh.',
      data: { plan: name, run: run.id, effects: ids, isEarlier: true },
    },
  );
}

function nothingToResume({ name }: Plan, { epic }: Around): OrchError {
  return new OrchError('SESSION_NOT_FOUND', `there is no run of ${name} on ${epic} to resume`, {
    hint: 'Start one: the same command without --resume',
    data: { plan: name, epicId: epic },
  });
}

function isNamesakes({ name }: Plan, file: string): OrchError {
  return new OrchError('USAGE', `the newest run of ${name} is one of ${file}, a plan of the same name`, {
    hint: 'Nothing was begun. Give this plan a name of its own, with "name:" at its top, and run it by that',
    data: { plan: name, file },
  });
}

function isOthers({ name }: Plan, run: KnownRun, { epic }: Around): OrchError {
  return new OrchError('SESSION_ACTIVE', `the run ${run.id} of ${name} on ${epic} belongs to another clone`, {
    hint: 'If it no longer runs there, add --take-over. An effect without a check then waits until you say --done ID or --replan ID',
    data: { plan: name, run: run.id, epicId: epic, reason: 'elsewhere' },
  });
}
