import { isUtf8 } from 'node:buffer';
import { safeParse } from 'zod/mini';
import { isRecord } from '../checks.ts';
import { locateIssues, locateMistake, type Mistake } from '../config/yaml/mistakes.ts';
import { planInvalid } from '../config/yaml/yaml-page.ts';
import { readYaml } from '../config/yaml/yaml-text.ts';
import { describeValue } from '../config/yaml/yaml-values.ts';
import { OrchError } from '../errors.ts';
import { readIfThere, statIfThere } from '../system/disk.ts';
import { findNearest } from '../text.ts';
import { listConditionTasks } from './condition.ts';
import { digestOf, shortDigestOf } from './digests.ts';
import { expandItems } from './items.ts';
import type { Action, Command, Effect, Plan, Task, Undo } from './plan.ts';
import {
  type GivenEffect,
  type GivenPart,
  type GivenPlan,
  type GivenTask,
  type GivenUndo,
  planShape,
} from './plan-shape.ts';
import { type Finding, findReferenceMistakes, listRaw, withoutItem } from './references.ts';

const defaultBackoff = 1_000;
const effectAttempts = 3;

/** Far more than ten thousand tasks take. */
const maxFileBytes = 16 * 1024 * 1024;

/** Loads a plan's file; `shown` is its name in messages. */
export function loadPlan(path: string, shown = path): Plan {
  const refuse = (problem: string, hint: string) =>
    new OrchError('PLAN_INVALID', problem, { hint, data: { file: shown } });
  const howToName = "Name the plan's file, such as: orch run release.yaml";
  const found = statIfThere(path);
  if (found === null) throw refuse(`there is no file ${shown}`, howToName);
  if (!found.isFile()) throw refuse(`${shown} is not a file`, howToName);
  if (found.size > maxFileBytes)
    throw refuse(
      `${shown} has ${found.size} bytes; a plan has at most ${maxFileBytes}`,
      'Split it into several plans',
    );
  const bytes = readIfThere(path) ?? Buffer.alloc(0);
  // Decoding it anyway would run something other than what is written there.
  if (!isUtf8(bytes))
    throw refuse(`${shown} is not encoded in UTF-8`, 'Save it as UTF-8, then run the same command again');
  return parsePlan(bytes.toString('utf8'), shown);
}

/** Parses a plan; `file` is its name in messages. `PLAN_INVALID` gives the position of every mistake. */
export function parsePlan(text: string, file: string): Plan {
  const yaml = readYaml(text);
  if ('problem' in yaml) {
    const { message, ...place } = yaml.problem;
    throw planError(file, [{ ...place, key: null, message: `not valid YAML: ${message}` }]);
  }
  if (!isRecord(yaml.value)) {
    const message = `found ${describeValue(yaml.value)}; allowed: a plan, which has "tasks:" with a list of tasks`;
    throw planError(file, [locateMistake(yaml, [], message)]);
  }
  const parsed = safeParse(planShape, yaml.value);
  const mistakes = [
    ...(parsed.success ? [] : locateIssues(yaml, parsed.error.issues)),
    ...findMistakes(yaml.value).map(({ path, message }) => locateMistake(yaml, path, message)),
  ];
  if (!parsed.success || mistakes.length > 0) throw planError(file, mistakes);
  return makePlan(parsed.data, derivePlanName(file));
}

/** Finds mistakes that no single value shows. */
function findMistakes({ tasks, steps }: { readonly [key: string]: unknown }): Finding[] {
  if (tasks !== undefined && steps !== undefined)
    return [{ path: ['steps'], message: 'steps means the same as tasks; allowed: one of them' }];
  const at = steps === undefined ? 'tasks' : 'steps';
  const all = steps ?? tasks;
  if (all === undefined)
    return [{ path: [], message: 'there are no tasks; allowed: "tasks:" with a list of tasks' }];
  if (!Array.isArray(all)) return [];
  if (all.length === 0) return [{ path: [at], message: 'the list is empty; allowed: one task or more' }];
  return [
    ...listRaw(all, [at]).flatMap(({ task, path }) => findTaskMistakes(task, path)),
    ...findReferenceMistakes(all, at),
  ];
}

/** What only a task with a command of its own can have, or with effects. */
const ownKeys = ['run', 'effects', 'foreach', 'files', 'retry', 'timeout', 'env', 'artifacts', 'undo'];

/** Finds tasks and effects that do nothing or two things at once, and keys that contradict each other. */
function findTaskMistakes(task: Raw, path: Finding['path']): Finding[] {
  const effects: readonly unknown[] = Array.isArray(task.effects) ? task.effects : [];
  const find = (isWrong: boolean, key: string, message: string): Finding[] =>
    isWrong ? [{ path: key === '' ? path : [...path, key], message }] : [];
  const has = (key: string) => task[key] !== undefined;
  // A misspelt key is reported as such.
  const isMisspelt = Object.keys(task).some((key) => findNearest(key, ['run', 'effects', 'tasks']) !== null);
  const doesNothing = !has('run') && effects.length === 0 && !has('tasks') && !isMisspelt;
  const wrongInGroup = has('tasks') ? ownKeys.find(has) : undefined;
  return [
    ...find(
      has('needs') && has('depends_on'),
      'depends_on',
      'depends_on means the same as needs; allowed: one of them',
    ),
    ...find(doesNothing, '', 'it does nothing; allowed: run, effects, or both; or tasks, for a group'),
    ...find(
      wrongInGroup !== undefined,
      wrongInGroup ?? '',
      `a group has no ${wrongInGroup} of its own; give it to the tasks in the group`,
    ),
    ...find(
      Array.isArray(task.tasks) && task.tasks.length === 0,
      'tasks',
      'the group is empty; allowed: one task or more',
    ),
    ...find(has('repeat') && has('retry'), 'retry', 'repeat has its own attempts; allowed: one of the two'),
    ...find(
      has('repeat') && !has('run') && !has('tasks'),
      'repeat',
      'there is no command to repeat; allowed: with run, or for a group',
    ),
    ...findEffectMistakes(task, effects, path),
    ...findUndoMistakes(task.undo, [...path, 'undo']),
  ];
}

type Raw = { readonly [key: string]: unknown };

function findEffectMistakes(task: Raw, effects: readonly unknown[], path: Finding['path']): Finding[] {
  const isListLater = typeof task.foreach === 'string' && effects.length > 0;
  const late = 'effects are planned before the run starts; allowed: with a list that is in the plan';
  const isInLoop = isRecord(task.repeat) && Array.isArray(task.tasks);
  const repeated = isInLoop
    ? listRaw(Array.isArray(task.tasks) ? task.tasks : [], [...path, 'tasks'])
        .filter((inside) => Array.isArray(inside.task.effects) && inside.task.effects.length > 0)
        .map((inside) => ({
          path: [...inside.path, 'effects'],
          message: 'an effect is done once, and this group repeats; move it to a task after the group',
        }))
    : [];
  return [
    ...(isListLater ? [{ path: [...path, 'effects'], message: late }] : []),
    ...repeated,
    ...effects.flatMap((effect, index): Finding[] => {
      if (!isRecord(effect)) return [];
      const here = [...path, 'effects', index];
      return [...findActionMistakes(effect, here), ...findUndoMistakes(effect.undo, [...here, 'undo'])];
    }),
  ];
}

function findActionMistakes(action: Raw, path: Finding['path']): Finding[] {
  if ((action.run === undefined) !== (action.request === undefined)) return [];
  const found = action.run === undefined ? 'it does nothing' : 'it does two things';
  return [{ path, message: `${found}; allowed: either run or request` }];
}

function findUndoMistakes(undo: unknown, path: Finding['path']): Finding[] {
  return isRecord(undo) ? findActionMistakes(undo, path) : [];
}

function planError(file: string, mistakes: readonly Mistake[]): OrchError {
  return planInvalid(mistakes.map((mistake) => ({ file, ...mistake })));
}

/** `plans/release.yaml` → `release`. */
function derivePlanName(file: string): string {
  const name = (file.split(/[/\\]/).at(-1) ?? '').replace(/(?<=.)\.[^.]*$/, '');
  return name.slice(0, 64) || 'plan';
}

function makePlan(given: GivenPlan, fallbackName: string): Plan {
  const name = given.name ?? fallbackName;
  const all = given.steps ?? given.tasks ?? [];
  const tasks: Task[] = [];
  let number = 0;
  for (const [index, task] of all.entries()) {
    const made = makeTasks(task, number + 1, all[index - 1]?.id ?? null);
    tasks.push(...made);
    number = made.at(-1)?.number ?? number;
  }
  return {
    name,
    tasks,
    length: number,
    onFailure: given.on_failure ?? 'stop',
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
  const members = parts.flatMap((part, index) => {
    const own = readNeeds(part, parts[index - 1]?.id ?? null);
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
  const { id, when, files, env, artifacts } = given;
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
    // Only what it does: a changed timeout or retry does not invalidate what was done, and effects have their own digests.
    digest: shortDigestOf({ run, env, artifacts }),
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
