import { OrchError } from '../../errors.ts';
import { lookUp } from '../../keyed.ts';
import { findNearest } from '../../text.ts';
import type { EpicId, Millis, WriterId } from '../../types.ts';
import { formatAge } from '../../units.ts';
import { isConvoy } from '../convoy-plan.ts';
import type { Plan, Task } from '../plan.ts';
import { isUnfinished, type KnownRun, listDoneEffects } from './known-runs.ts';

/** How the user wants a plan to be run, or its run to be undone. */
export type RunIntent = StartIntent | { readonly kind: 'rollback' };

export type StartIntent =
  | { readonly kind: 'plain' }
  | { readonly kind: 'resume' }
  /** Continue after this task, given by its number or id. */
  | { readonly kind: 'step'; readonly step: string }
  | { readonly kind: 'fresh' };

export type RunChoice =
  /** `after` is the number of the last task that the user says is done; 0 if none. */
  | { readonly kind: 'new'; readonly from: KnownRun | null; readonly after: number }
  | { readonly kind: 'resume'; readonly run: KnownRun }
  /** The run to resume has succeeded, so nothing is left to do. */
  | { readonly kind: 'finished'; readonly run: KnownRun };

type ChoiceContext = {
  readonly epic: EpicId;
  readonly writer: WriterId;
  readonly takeOver: boolean;
  readonly now: Millis;
  /** The file of another plan with the same name, if the newest run belongs to that one. */
  readonly namesake: string | null;
};

/** Decides between a new run and resuming `last`, the newest run of the plan. */
export function chooseRun(
  plan: Plan,
  last: KnownRun | null,
  intent: StartIntent,
  context: ChoiceContext,
): RunChoice {
  const isResume = intent.kind === 'resume' || intent.kind === 'step';
  const unfinished = last && isUnfinished(last) ? last : null;
  // Tasks and effects with the same ids would count as done, and the other plan's run could no longer be resumed.
  if (context.namesake !== null && (unfinished || isResume)) throw namesakeError(plan, context.namesake);
  const isHalfUndone = last?.head.rollback !== undefined && last.head.rollback !== 'done';
  if (last && isHalfUndone && intent.kind !== 'fresh') throw halfUndoneError(plan, last);
  if (!isResume) {
    if (intent.kind === 'plain' && unfinished) throw unfinishedError(plan, unfinished, context);
    if (intent.kind === 'plain' && last && last.head.status !== 'succeeded') refuseRepeat(plan, last);
    return { kind: 'new', from: null, after: 0 };
  }
  if (last === null) throw noRunError(plan, context);
  if (intent.kind === 'resume' && last.head.status === 'succeeded' && !hasNewTasks(plan, last))
    return { kind: 'finished', run: last };
  if (last.damaged.length > 0) throw damagedError(plan, last);
  if (last.writer !== context.writer && !context.takeOver) throw otherCloneError(plan, last, context);
  if (intent.kind === 'step') return { kind: 'new', from: last, after: findStep(plan, intent.step).number };
  return { kind: 'resume', run: last };
}

function findStep(plan: Plan, step: string): Task {
  const byId = plan.tasks.find(({ id }) => id === step);
  const byNumber = plan.tasks.find(({ number }) => String(number) === step);
  const ids = plan.tasks.map(({ id }) => id);
  if (byId && byNumber && byId !== byNumber)
    throw new OrchError(
      'USAGE',
      `${step} is ambiguous: it is the id of task ${byId.number}, and task number ${step} is ${byNumber.id}`,
      {
        hint: `Pass ${byId.number} for the first, or ${byNumber.id} for the second`,
        data: { step, tasks: ids },
      },
    );
  const found = byId ?? byNumber;
  if (found) return found;
  const meant = /[a-z]/i.test(step) ? findNearest(step, ids) : null;
  throw new OrchError(
    'USAGE',
    `${plan.name} has no task ${JSON.stringify(step.slice(0, 80))}${meant ? `; did you mean ${meant}?` : ''}`,
    { hint: `Pass a task's number, 1 to ${ids.length}, or its id`, data: { step, tasks: ids } },
  );
}

/** Tasks are added to a convoy after it has ended, too. A task in a group is recorded only if its group was begun. */
function hasNewTasks(plan: Plan, { tasks }: KnownRun): boolean {
  return isConvoy(plan) && plan.tasks.some(({ id, parent }) => parent === null && !lookUp(tasks, id));
}

function unfinishedError(plan: Plan, run: KnownRun, { now }: ChoiceContext): OrchError {
  const place = describeStopped(plan, run);
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

/** What was done and what was undone would be mixed. */
function halfUndoneError({ name }: Plan, run: KnownRun): OrchError {
  return new OrchError('RESUME_NEEDED', `${name}: the rollback of ${run.id} is not complete`, {
    hint: 'Continue it: --rollback. Start over: --fresh.',
    data: { plan: name, run: run.id, isEarlier: true },
  });
}

/** `task 3 (build)`: where a run stopped. */
function describeStopped(plan: Plan, run: KnownRun): string | null {
  const open = Object.values(run.effects).filter(({ status }) => status !== 'acknowledged');
  const at = plan.tasks.find(({ id }) => {
    const status = lookUp(run.tasks, id)?.status;
    const hasOpenEffects = status === 'succeeded' && open.some(({ task }) => task === id);
    return status === undefined || status === 'pending' || status === 'running' || hasOpenEffects;
  });
  return at ? `task ${at.number} (${at.id})` : null;
}

/** Starting over would repeat the effects of a failed run. */
function refuseRepeat({ name }: Plan, run: KnownRun): void {
  const ids = listDoneEffects(run);
  if (ids.length === 0) return;
  const status = run.head.status === 'blocked' ? 'is blocked' : 'failed';
  const listed = `${ids.slice(0, 8).join(', ')}${ids.length > 8 ? ` and ${ids.length - 8} more` : ''}`;
  throw new OrchError('RESUME_NEEDED', `${name}: ${run.id} ${status} after it had done ${listed}`, {
    hint: 'Continue it: --resume. Start over and repeat these effects: --fresh.',
    data: { plan: name, run: run.id, effects: ids, isEarlier: true },
  });
}

/** What is unknown may have been done: running it again could repeat an effect. */
function damagedError({ name }: Plan, { id, damaged }: KnownRun): OrchError {
  const more = damaged.length > 1 ? `, and ${damaged.length - 1} more` : '';
  return new OrchError('INTEGRITY', `some records of ${id} cannot be read: ${damaged[0]}${more}`, {
    hint: 'Get them back from a remote: orch doctor --fix. Start over, and repeat everything: --fresh.',
    data: { plan: name, run: id, damaged },
  });
}

function noRunError({ name }: Plan, { epic }: ChoiceContext): OrchError {
  return new OrchError('SESSION_NOT_FOUND', `there is no run of ${name} on ${epic} to resume`, {
    hint: 'Start one: the same command without --resume',
    data: { plan: name, epicId: epic },
  });
}

function namesakeError({ name }: Plan, file: string): OrchError {
  return new OrchError(
    'USAGE',
    `the newest run of ${name} belongs to ${file}, another plan with the same name`,
    {
      hint: 'Nothing was started. Give this plan its own name with "name:" at the top, then run it again',
      data: { plan: name, file },
    },
  );
}

function otherCloneError({ name }: Plan, run: KnownRun, { epic }: ChoiceContext): OrchError {
  return new OrchError('SESSION_ACTIVE', `the run ${run.id} of ${name} on ${epic} belongs to another clone`, {
    hint: 'If it is no longer running there, add --take-over. Effects without a check then wait for your --done ID or --replan ID',
    data: { plan: name, run: run.id, epicId: epic, reason: 'elsewhere' },
  });
}
