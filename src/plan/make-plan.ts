import { listConditionTasks } from './condition.ts';
import { impliesOrder, makeConvoyPlan, makeConvoyTask } from './convoy-plan.ts';
import { digestOf, shortDigestOf } from './digests.ts';
import { expandItems } from './items.ts';
import type { Action, Command, Effect, Plan, Task, Undo } from './plan.ts';
import type { GivenEffect, GivenPart, GivenPlan, GivenTask, GivenUndo } from './plan-shape.ts';
import { withoutItem } from './references.ts';

const defaultBackoff = 1_000;
const effectAttempts = 3;

/** Makes a plan of what is written in it; every task of a group or a list comes before what it is part of. */
export function makePlan(given: GivenPlan, fallbackName: string): Plan {
  const name = given.name ?? fallbackName;
  const all = given.steps ?? given.tasks ?? [];
  const isInOrder = impliesOrder(all);
  const tasks: Task[] = [];
  let number = 0;
  for (const [index, task] of all.entries()) {
    const made = makeTasks(task, number + 1, (isInOrder && all[index - 1]?.id) || null);
    tasks.push(...made);
    number = made.at(-1)?.number ?? number;
  }
  return {
    name,
    tasks,
    length: number,
    onFailure: given.on_failure ?? 'stop',
    convoy: makeConvoyPlan(given),
    digest: digestOf({ name, tasks: all }),
  };
}

/** Makes a task, a group with its tasks, or a task for each item of a list; what belongs to it comes first. */
function makeTasks(given: GivenTask, number: number, before: string | null): Task[] {
  const needs = readNeeds(given, before);
  if (given.tasks !== undefined) return makeGroup(given, given.tasks, number, needs);
  return makeWithItems(makeTask(given, number, needs), given);
}

function makeWithItems(task: Task, { foreach }: GivenPart): Task[] {
  if (foreach === undefined) return [task];
  const template = { ...task, parts: null, when: 'success' } as const;
  const value = 'value' in foreach ? foreach.value : null;
  const whole: Task = {
    ...withoutWork(task),
    parts: { entry: task.needs, each: { value, template } },
    digest: shortDigestOf('foreach'),
  };
  if ('value' in foreach) return [whole];
  const expanded = expandItems(whole, foreach.items);
  return [...expanded.instances, expanded.task];
}

/** What only waits for its parts. */
function withoutWork(task: Task): Task {
  const once = { attempts: 1, backoff: defaultBackoff };
  const nothing = { run: null, files: [], retry: once, repeat: null, undo: null, artifacts: [], effects: [] };
  // What stands for the item in its name means nothing here.
  const name = task.name.includes('${') ? task.id : task.name;
  return { ...task, ...nothing, name, timeout: null };
}

function makeGroup(
  given: GivenTask,
  parts: readonly GivenPart[],
  number: number,
  needs: Task['needs'],
): Task[] {
  const ids = new Set(parts.map(({ id }) => id));
  const until =
    given.repeat && listUntilTasks(given.repeat.until).filter((id) => !ids.has(id) && id !== given.id);
  const entry = [...new Set([...needs, ...(until ?? [])])];
  const isInOrder = impliesOrder(parts);
  const members = parts.flatMap((part, index) => {
    const own = readNeeds(part, (isInOrder && parts[index - 1]?.id) || null);
    // The first ones of a group wait for what the group waits for.
    const all = own.some((id) => ids.has(id)) ? own : [...new Set([...own, ...entry])];
    const made = makeWithItems(makeTask(part, number + index, all), part);
    return made.map((task) => ({ ...task, parent: task.parent ?? given.id }));
  });
  const whole = withoutWork(makeTask({ ...given, needs: undefined }, number + parts.length, entry));
  const group: Task = {
    ...whole,
    needs: [...new Set([...members.map(({ id }) => id), ...entry])],
    repeat: makeRepeat(given),
    parts: { entry, each: null },
    isInOrder: given.needs === undefined && given.depends_on === undefined && needs.length > 0,
    digest: shortDigestOf({ until: given.repeat?.until ?? null, tasks: [...ids] }),
  };
  return [...members, group];
}

/** The tasks it waits for: those it names, or the one before it, and those its conditions are about. */
function readNeeds(given: GivenPart | GivenTask, before: string | null): string[] {
  const named = given.needs ?? given.depends_on ?? (before === null ? [] : [before]);
  const asked = typeof given.when === 'string' ? [] : listConditionTasks(given.when).map(withoutItem);
  const isGroup = 'tasks' in given && given.tasks !== undefined;
  const until = isGroup || !given.repeat ? [] : listUntilTasks(given.repeat.until);
  return [...new Set([...named.map(withoutItem), ...asked, ...until.filter((id) => id !== given.id)])];
}

function listUntilTasks(until: NonNullable<GivenPart['repeat']>['until']): string[] {
  return typeof until === 'string' ? [] : listConditionTasks(until).map(withoutItem);
}

function makeRepeat({ repeat }: GivenPart): Task['repeat'] {
  return repeat ? { ...repeat, backoff: repeat.backoff ?? defaultBackoff } : null;
}

function makeTask(given: GivenPart, number: number, needs: Task['needs']): Task {
  const { id, when, files, env, artifacts, prompt } = given;
  const run = given.run === undefined ? null : makeCommand(given.run);
  const { attempts, backoff = defaultBackoff } = given.retry ?? {};
  const effects = given.effects.map(makeEffect);
  const isNamed = given.needs !== undefined || given.depends_on !== undefined;
  return {
    id,
    number,
    name: given.name ?? id,
    run,
    parts: null,
    parent: null,
    needs,
    isInOrder: !isNamed && needs.length > 0,
    when,
    files,
    retry: { attempts: attempts ?? 1, backoff },
    repeat: makeRepeat(given),
    mayFail: given.may_fail ?? false,
    undo: given.undo === undefined ? null : makeUndo(given.undo),
    effectRetry: { attempts: attempts ?? effectAttempts, backoff },
    timeout: given.timeout ?? null,
    env,
    artifacts: [...new Set(artifacts)],
    effects,
    convoy: makeConvoyTask(given),
    // Only what it does: a changed timeout or retry does not invalidate what was done, and effects have their own digests.
    digest: shortDigestOf({ run, env, artifacts, prompt }),
  };
}

function makeCommand(given: string | readonly string[]): Command {
  if (typeof given === 'string') return { kind: 'shell', line: given };
  const [program = '', ...args] = given;
  return { kind: 'program', argv: [program, ...args] };
}

function makeUndo(given: GivenUndo): Undo {
  if (typeof given === 'string' || isList(given))
    return { action: { kind: 'command', run: makeCommand(given) }, check: null };
  return makeAction(given);
}

const isList = (given: object): given is readonly string[] => Array.isArray(given);

function makeAction(given: Pick<GivenEffect, 'run' | 'request' | 'check'>): Undo {
  const check =
    given.check === undefined ? null : ({ kind: 'command', run: makeCommand(given.check) } as const);
  const action: Action =
    given.request === undefined
      ? { kind: 'command', run: makeCommand(given.run ?? '') }
      : { kind: 'request', request: given.request };
  return { action, check };
}

function makeEffect(given: GivenEffect): Effect {
  const { action, check } = makeAction(given);
  const digest = shortDigestOf(action);
  return { id: given.id, action, check, digest, ...(given.undo && { undo: makeUndo(given.undo) }) };
}
